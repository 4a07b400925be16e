/* The top-down tree LSTM, level by level from the roots to the leaves, and its gradients.

   The equations stand in ops/reference.py and the order of the gates, f, i, g, o, in ops/weights.py. Rows are in the down
   order of TreeLayout: after the roots, left and right children alternate, so that two rows are those of one parent. The
   state of a node is h beside c. Level d, from 0, holds the places from depth_offset[d] to depth_offset[d + 1], and
   row_of[place] is the row of x of the node there. Each function returns 0, NO_MEMORY or WRONG_INDICES. */
#include "cells.h"
#include "products.h"

typedef struct {
    long hidden, word, sides; /* with one side, both children share the weights of x */
    long num_rows, num_nodes, num_roots, num_levels;
    const int64_t *depth_offset, *row_of;
} Trees;

/* The places whose nodes take the weights of x of one side: roots count as left. */
INLINE long first_place(Trees trees, long side) { return side ? trees.num_roots + 1 : 0; }
INLINE long next_place(Trees trees, long place) {
    return place + (trees.sides == 1 || place < trees.num_roots ? 1 : 2);
}

/* The weights as they are packed. f and i see all of the parent's state, g and o its h. */
typedef struct {
    Factor word[2], state[2], h[2], new_c[2];
    real *bias;
} Weights;

/* Where the packed weights lie in memory that has room for `weights_size`. */
static Weights lay_out(long hidden, long word, long sides, real *memory) {
    const long state = 2 * hidden, size = 4 * hidden;
    Weights weights;
    for (long side = 0; side < sides; side++, memory += packed_size(word, size))
        weights.word[side] = packed_factor(memory, word, size);
    for (long side = 0; side < 2; side++) {
        weights.state[side] = packed_factor(memory, state, state);
        weights.h[side] = packed_factor(memory += packed_size(state, state), hidden, state);
        weights.new_c[side] = packed_factor(memory += packed_size(hidden, state), hidden, hidden);
        memory += packed_size(hidden, hidden);
    }
    weights.bias = memory;
    return weights;
}

static long weights_size(long hidden, long word, long sides) {
    const long of_side = packed_size(2 * hidden, 2 * hidden) + packed_size(hidden, 2 * hidden) + packed_size(hidden, hidden);
    return sides * (packed_size(word, 4 * hidden) + 4 * hidden) + 2 * of_side;
}

static void pack(Weights weights, long hidden, long word, long sides, const real *weight_x, const real *weight_h,
                 const real *weight_c, const real *peephole, const real *bias) {
    const long state = 2 * hidden, size = 4 * hidden;
    for (long side = 0; side < sides; side++)
        pack_transposed(weights.word[side], 0, weight_x + side * size * word, word, word);
    for (long side = 0; side < 2; side++) {
        const real *of_side = weight_h + side * size * hidden;
        pack_transposed(weights.state[side], 0, of_side, hidden, hidden);
        pack_transposed(weights.state[side], hidden, weight_c + side * state * hidden, hidden, hidden);
        pack_transposed(weights.h[side], 0, of_side + state * hidden, hidden, hidden);
        pack_transposed(weights.new_c[side], 0, peephole + side * hidden * hidden, hidden, hidden);
    }
    copy_row(weights.bias, bias, sides * size);
}

/* What biases and words give to the gates of the places from `first` to `end`, all of them roots or none. `rows` has room for
   their rows of x. */
static void start_some_gates(Trees trees, Weights weights, const real *x, long first, long end, real *gates, real *rows) {
    const long size = 4 * trees.hidden, word = trees.word;
    for (long place = first; place < end; place++)
        copy_row(rows + (place - first) * word, x + trees.row_of[place] * word, word);
    if (trees.sides == 1 || first < trees.num_roots) {
        multiply(rows, word, end - first, weights.word[0], weights.bias, 0, gates, size);
        return;
    }
    for (long side = 0; side < 2; side++)
        multiply(rows + side * word, 2 * word, (end - first) / 2, weights.word[side], weights.bias + side * size, 0,
                 gates + side * size, 2 * size);
}

/* What biases and words give to the gates of all places; `from_words` has room for those of all rows of x. */
static void start_gates(Trees trees, Weights weights, const real *x, real *gates, real *from_words) {
    const long size = 4 * trees.hidden, word = trees.word;
    for (long side = 0; side < trees.sides; side++) {
        multiply(x, word, trees.num_rows, weights.word[side], weights.bias + side * size, 0, from_words, size);
        for (long place = first_place(trees, side); place < trees.num_nodes; place = next_place(trees, place))
            copy_row(gates + place * size, from_words + trees.row_of[place] * size, size);
    }
}

static void squash_root(long hidden, real *gates, real *state) {
    FOR_EACH_VECTOR(hidden) {
        const vector i = sigmoid(load_some(gates + hidden + at, left));
        const vector g = hyperbolic_tangent(load_some(gates + 2 * hidden + at, left));
        const vector o = sigmoid(load_some(gates + 3 * hidden + at, left)), cell = i * g;
        store_some(gates + at, (vector){0}, left);
        store_some(gates + hidden + at, i, left);
        store_some(gates + 2 * hidden + at, g, left);
        store_some(gates + 3 * hidden + at, o, left);
        store_some(state + at, o * hyperbolic_tangent(cell), left);
        store_some(state + hidden + at, cell, left);
    }
}

/* What the forward pass fills besides h: the states [nodes, 2 hidden]. If it `keeps_all`, the gates [nodes, 4 hidden] and the
   states of each parent once, too; if not, their buffers, and `rows` for words, have room for those of a block. If it
   `starts_all`, the gates have room for all nodes, whose words are multiplied at once: those of few nodes, which would read
   the weights level by level as often. */
typedef struct {
    int keeps_all, starts_all;
    real *gates, *states, *parent_states, *rows;
} Filled;

/* Fills h [nodes, hidden], which is in up order. */
static int run_forward(Trees trees, Weights weights, const real *x, const int64_t *down_order, const int64_t *parent_of,
                       real *h, Filled to) {
    const long hidden = trees.hidden, size = 4 * hidden, state = 2 * hidden, num_roots = trees.num_roots;
    real *states = to.states;
    if (to.starts_all) {
        real *from_words = allocate(trees.num_rows * size);
        if (!from_words) return NO_MEMORY;
        start_gates(trees, weights, x, to.gates, from_words);
        free(from_words);
    }
    const int64_t all_roots[] = {0, num_roots};
    FOR_EACH_BLOCK(all_roots, 0, 0) {
        real *gates = to.gates + (to.starts_all ? first * size : 0);
        if (!to.starts_all) start_some_gates(trees, weights, x, first, end, gates, to.rows);
        for (long root = first; root < end; root++)
            squash_root(hidden, gates + (root - first) * size, states + root * state);
    }
    for (long level = 0; level < trees.num_levels; level++) FOR_EACH_BLOCK(trees.depth_offset, level, 0) {
        const long parent = (first - num_roots) / 2, parents = (end - first) / 2;
        real *above = to.parent_states + (to.keeps_all ? parent * state : 0);
        real *gates = to.gates + (to.starts_all ? first * size : 0);
        if (!to.starts_all) start_some_gates(trees, weights, x, first, end, gates, to.rows);
        for (long k = 0; k < parents; k++)
            copy_row(above + k * state, states + parent_of[2 * (parent + k)] * state, state);
        for (long side = 0; side < 2; side++) {
            multiply_add(above, state, parents, weights.state[side], gates + side * size, 2 * size);
            multiply_add(above, state, parents, weights.h[side], gates + side * size + state, 2 * size);
        }
        for (long row = 0; row < end - first; row++)
            squash_cell(hidden, gates + row * size, above + row / 2 * state + hidden, states + (first + row) * state + hidden);
        for (long side = 0; side < 2; side++)
            multiply_add(states + (first + side) * state + hidden, 2 * state, parents, weights.new_c[side],
                         gates + side * size + 3 * hidden, 2 * size);
        for (long row = 0; row < end - first; row++)
            squash_output(hidden, gates + row * size + 3 * hidden, states + (first + row) * state);
    }
    for (long place = 0; place < trees.num_nodes; place++)
        copy_row(h + down_order[place] * hidden, states + place * state, hidden);
    return 0;
}

/* Whether every place after the roots has its parent on a level above, left and right places alternate, and rows and nodes are
   among those that there are. */
static int are_places(const int64_t *depth_offset, int64_t num_levels, int64_t num_roots, int64_t num_nodes, int64_t num_rows,
                      const int64_t *row_of, const int64_t *down_order, const int64_t *parent_of) {
    if (!are_levels(depth_offset, num_levels, num_roots, num_nodes)) return 0;
    for (long level = 0; level < num_levels; level++) {
        const long first = depth_offset[level], end = depth_offset[level + 1];
        if ((end - first) % 2 || !are_below(parent_of + first - num_roots, end - first, first)) return 0;
    }
    return are_below(row_of, num_nodes, num_rows) && are_below(down_order, num_nodes, num_nodes);
}

/* Packs the weights, once for many batches. `packed` has room for the numbers of the weights, the rows of each transposed
   and rounded up to a multiple of 16; see weights_size. */
EXPORT(top_down_pack)(const real *weight_x, const real *weight_h, const real *weight_c, const real *peephole,
                      const real *bias, int64_t hidden, int64_t word, int64_t sides, real *packed) {
    pack(lay_out(hidden, word, sides, packed), hidden, word, sides, weight_x, weight_h, weight_c, peephole, bias);
    return 0;
}

/* Fills h [nodes, hidden], in up order, with packed weights; nothing is kept. */
EXPORT(top_down_forward_packed)(const real *x, real *packed, int64_t hidden, int64_t word, int64_t sides, int64_t num_rows,
                                int64_t num_roots, int64_t num_levels, int64_t num_nodes, const int64_t *depth_offset,
                                const int64_t *row_of, const int64_t *down_order, const int64_t *parent_of, real *h) {
    if (!are_places(depth_offset, num_levels, num_roots, num_nodes, num_rows, row_of, down_order, parent_of))
        return WRONG_INDICES;
    const Trees trees = {hidden, word, sides, num_rows, num_nodes, num_roots, num_levels, depth_offset, row_of};
    const long rows = least(ROW_BLOCK, trees.num_nodes), state_size = trees.num_nodes * 2 * hidden;
    real *states = allocate(state_size + rows * (4 * hidden + hidden + word));
    if (!states) return NO_MEMORY;
    real *gates = states + state_size, *parent_states = gates + rows * 4 * hidden;
    const Filled to = {0, trees.num_nodes <= ROW_BLOCK, gates, states, parent_states, parent_states + rows * hidden};
    const int failed = run_forward(trees, lay_out(hidden, word, sides, packed), x, down_order, parent_of, h, to);
    free(states);
    return failed;
}

/* Fills the gates [nodes, 4 hidden] and states [nodes, 2 hidden], and parent_states, those of each parent once; all are
   kept for the gradients. h [nodes, hidden] is in up order. */
EXPORT(top_down_forward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                         const real *peephole, const real *bias, int64_t hidden, int64_t word, int64_t sides,
                         int64_t num_rows, int64_t num_roots, int64_t num_levels, int64_t num_nodes,
                         const int64_t *depth_offset, const int64_t *row_of, const int64_t *down_order,
                         const int64_t *parent_of, real *h, real *gates, real *states, real *parent_states) {
    if (!are_places(depth_offset, num_levels, num_roots, num_nodes, num_rows, row_of, down_order, parent_of))
        return WRONG_INDICES;
    const Trees trees = {hidden, word, sides, num_rows, num_nodes, num_roots, num_levels, depth_offset, row_of};
    real *memory = allocate(weights_size(hidden, word, sides));
    if (!memory) return NO_MEMORY;
    const Weights weights = lay_out(hidden, word, sides, memory);
    pack(weights, hidden, word, sides, weight_x, weight_h, weight_c, peephole, bias);
    const Filled to = {1, 1, gates, states, parent_states, NULL};
    const int failed = run_forward(trees, weights, x, down_order, parent_of, h, to);
    free(memory);
    return failed;
}

/* Turns the gradients of all states into those of the gates. `above` has room for the parents of a block. */
static void run_levels_back(Trees trees, const real *weight_h, const real *weight_c, const real *peephole,
                            const int64_t *parent_of, const real *gates, const real *states, real *dstates, real *dgates,
                            real *above, real *memory) {
    const long hidden = trees.hidden, size = 4 * hidden, state = 2 * hidden, num_roots = trees.num_roots;
    const Factor by_h = factor_of_rows(weight_h, hidden, 2 * size, hidden, memory);
    Factor by_c[2], by_new_c[2];
    memory += rest_size(2 * size, hidden);
    for (long side = 0; side < 2; side++) {
        by_c[side] = factor_of_rows(weight_c + side * state * hidden, hidden, state, hidden, memory);
        memory += rest_size(state, hidden);
        by_new_c[side] = factor_of_rows(peephole + side * hidden * hidden, hidden, hidden, hidden, memory);
        memory += rest_size(hidden, hidden);
    }
    for (long level = trees.num_levels - 1; level >= 0; level--) FOR_EACH_BLOCK(trees.depth_offset, level, 0) {
        const long parents = (end - first) / 2;
        for (long place = first; place < end; place++)
            unsquash_output(hidden, gates + place * size + 3 * hidden, states + place * state + hidden,
                            dstates + place * state, dgates + place * size + 3 * hidden);
        for (long side = 0; side < 2; side++)
            multiply_add(dgates + (first + side) * size + 3 * hidden, 2 * size, parents, by_new_c[side],
                         dstates + (first + side) * state + hidden, 2 * state);
        for (long place = first; place < end; place++) {
            const long parent = parent_of[place - num_roots] * state + hidden;
            unsquash_cell(hidden, gates + place * size, states + parent, dstates + place * state + hidden,
                          dgates + place * size, dstates + parent);
        }
        multiply(dgates + first * size, 2 * size, parents, by_h, NULL, 0, above, state);
        for (long side = 0; side < 2; side++)
            multiply(dgates + (first + side) * size, 2 * size, parents, by_c[side], side ? above + hidden : NULL, state,
                     above + hidden, state);
        for (long k = 0; k < parents; k++)
            add_row(dstates + parent_of[first - num_roots + 2 * k] * state, above + k * state, state);
    }
    for (long root = 0; root < num_roots; root++) {
        unsquash_output(hidden, gates + root * size + 3 * hidden, states + root * state + hidden, dstates + root * state,
                        dgates + root * size + 3 * hidden);
        unsquash_cell(hidden, gates + root * size, NULL, dstates + root * state + hidden, dgates + root * size, NULL);
    }
}

INLINE long most(long first, long second) { return first > second ? first : second; }

/* The gradients of the word vectors, unless dx is null, and of their weights and biases. */
static void finish_inputs(Trees trees, const real *x, const real *weight_x, const real *dgates, real *dx, real *dweight_x,
                          real *dbias, real *from_words, real *memory) {
    const long size = 4 * trees.hidden, word = trees.word;
    for (long side = 0; side < trees.sides; side++) {
        clear(from_words, trees.num_rows * size);
        for (long place = first_place(trees, side); place < trees.num_nodes; place = next_place(trees, place))
            add_row(from_words + trees.row_of[place] * size, dgates + place * size, size);
        clear(dbias + side * size, size);
        for (long row = 0; row < trees.num_rows; row++) add_row(dbias + side * size, from_words + row * size, size);
        if (dx) {
            const Factor by_x = factor_of_rows(weight_x + side * size * word, word, size, word, memory);
            multiply(from_words, size, trees.num_rows, by_x, side ? dx : NULL, word, dx, word);
        }
        multiply_outer(from_words, size, size, x, word, word, trees.num_rows, dweight_x + side * size * word, word, 0,
                       memory);
    }
}

/* dh [nodes, hidden], in up order, are the gradients of all states; what follows it is filled. dx may be null. */
EXPORT(top_down_backward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                          const real *peephole, int64_t hidden, int64_t word, int64_t sides, int64_t num_rows,
                          int64_t num_roots, int64_t num_levels, int64_t num_nodes, const int64_t *depth_offset,
                          const int64_t *row_of, const int64_t *down_order, const int64_t *parent_of, const real *gates,
                          const real *states, const real *parent_states, const real *dh, real *dx, real *dweight_x,
                          real *dweight_h, real *dweight_c, real *dpeephole, real *dbias) {
    if (!are_places(depth_offset, num_levels, num_roots, num_nodes, num_rows, row_of, down_order, parent_of))
        return WRONG_INDICES;
    const Trees trees = {hidden, word, sides, num_rows, num_nodes, num_roots, num_levels, depth_offset, row_of};
    const long size = 4 * hidden, state = 2 * hidden, parents = (num_nodes - num_roots) / 2;
    /* No factor is larger than these, and no last panel than a whole one. */
    const long deepest = least(most(num_rows, parents), DEPTH_BLOCK);
    const long packing_size = (14 * hidden + word + deepest) * (PANEL_COLUMNS + TILE_ROWS);
    const long state_size = num_nodes * state, gate_size = num_nodes * size;
    real *memory = allocate(packing_size + state_size + gate_size + most(ROW_BLOCK * state, num_rows * size));
    if (!memory) return NO_MEMORY;
    real *dstates = memory + packing_size, *dgates = dstates + state_size, *rest = dgates + gate_size;
    for (long place = 0; place < num_nodes; place++) {
        copy_row(dstates + place * state, dh + down_order[place] * hidden, hidden);
        clear(dstates + place * state + hidden, hidden);
    }
    run_levels_back(trees, weight_h, weight_c, peephole, parent_of, gates, states, dstates, dgates, rest, memory);
    const real *below = dgates + num_roots * size;
    multiply_outer(below, 2 * size, 2 * size, parent_states, state, hidden, parents, dweight_h, hidden, 0, memory);
    for (long side = 0; side < 2; side++) {
        multiply_outer(below + side * size, 2 * size, state, parent_states + hidden, state, hidden, parents,
                       dweight_c + side * state * hidden, hidden, 0, memory);
        multiply_outer(below + side * size + 3 * hidden, 2 * size, hidden,
                       states + (num_roots + side) * state + hidden, 2 * state, hidden, parents,
                       dpeephole + side * hidden * hidden, hidden, 0, memory);
    }
    finish_inputs(trees, x, weight_x, dgates, dx, dweight_x, dbias, rest, memory);
    free(memory);
    return 0;
}
