/* The bottom-up tree LSTM, level by level from the leaves to the roots, and its gradients.

   The equations stand in ops/reference.py and the order of the gates in ops/weights.py. The gates of a leaf are the columns
   i, g, o; those of a phrase f_L, f_R, i, g, o. The states of a phrase's children stand side by side as its pair: h_L, h_R
   and, where the gates see the cells, c_L, c_R. Without peepholes `weight_c` and `peephole` are null. Each function returns
   0, NO_MEMORY or WRONG_INDICES. */
#include "products.h"

typedef struct {
    long hidden, word, pair; /* the sizes of a state, of a word vector and of a pair */
    int is_lexical, has_peepholes;
    long num_leaves, num_inner, num_levels;
    const int64_t *level_offset, *children;
} Trees;

static Trees describe(int64_t hidden, int64_t word, int is_lexical, int has_peepholes, int64_t num_leaves,
                      int64_t num_levels, const int64_t *level_offset, const int64_t *children) {
    return (Trees){hidden,     word,       (has_peepholes ? 4 : 2) * hidden,        is_lexical,  has_peepholes,
                   num_leaves, level_offset[num_levels] - num_leaves, num_levels, level_offset, children};
}

static void squash_leaf(long hidden, real *gates, real *h, real *c) {
    FOR_EACH_VECTOR(hidden) {
        const vector i = sigmoid(load_some(gates + at, left));
        const vector g = hyperbolic_tangent(load_some(gates + hidden + at, left));
        const vector o = sigmoid(load_some(gates + 2 * hidden + at, left)), cell = i * g;
        store_some(gates + at, i, left);
        store_some(gates + hidden + at, g, left);
        store_some(gates + 2 * hidden + at, o, left);
        store_some(c + at, cell, left);
        store_some(h + at, o * hyperbolic_tangent(cell), left);
    }
}

/* All gates but the output gate, and the cell. */
static void squash_cell(long hidden, real *gates, const real *c_L, const real *c_R, real *c) {
    FOR_EACH_VECTOR(hidden) {
        const vector f_L = sigmoid(load_some(gates + at, left)), f_R = sigmoid(load_some(gates + hidden + at, left));
        const vector i = sigmoid(load_some(gates + 2 * hidden + at, left));
        const vector g = hyperbolic_tangent(load_some(gates + 3 * hidden + at, left));
        store_some(gates + at, f_L, left);
        store_some(gates + hidden + at, f_R, left);
        store_some(gates + 2 * hidden + at, i, left);
        store_some(gates + 3 * hidden + at, g, left);
        store_some(c + at, i * g + f_L * load_some(c_L + at, left) + f_R * load_some(c_R + at, left), left);
    }
}

static void squash_output(long hidden, real *o_row, const real *c, real *h) {
    FOR_EACH_VECTOR(hidden) {
        const vector o = sigmoid(load_some(o_row + at, left));
        store_some(o_row + at, o, left);
        store_some(h + at, o * hyperbolic_tangent(load_some(c + at, left)), left);
    }
}

/* The weights as they are packed. The forget gates of a phrase share those of its word, and leaves have none. Where gates
   see the cells, f_L, f_R and i see all of a pair, and g and o its first half. */
typedef struct {
    Factor word_last, word_forget, pair, h, new_c;
    real *bias;
} Weights;

/* Where the packed weights lie in memory that has room for `weights_size`. */
static Weights lay_out(Trees trees, real *memory) {
    const long hidden = trees.hidden, word = trees.word, seeing = trees.has_peepholes ? 3 : 5;
    Weights weights;
    weights.word_last = packed_factor(memory, word, 3 * hidden);
    memory += packed_size(word, 3 * hidden);
    weights.word_forget = packed_factor(memory, word, hidden);
    memory += trees.is_lexical ? packed_size(word, hidden) : 0;
    weights.pair = packed_factor(memory, trees.pair, seeing * hidden);
    memory += packed_size(trees.pair, seeing * hidden);
    weights.h = packed_factor(memory, 2 * hidden, 2 * hidden);
    memory += trees.has_peepholes ? packed_size(2 * hidden, 2 * hidden) : 0;
    weights.new_c = packed_factor(memory, hidden, hidden);
    weights.bias = memory + (trees.has_peepholes ? packed_size(hidden, hidden) : 0);
    return weights;
}

static long weights_size(Trees trees) {
    const long hidden = trees.hidden, word = trees.word, with_cells = trees.has_peepholes;
    const long of_words = packed_size(word, 3 * hidden) + (trees.is_lexical ? packed_size(word, hidden) : 0);
    const long of_cells = with_cells ? packed_size(2 * hidden, 2 * hidden) + packed_size(hidden, hidden) : 0;
    return of_words + packed_size(trees.pair, (with_cells ? 3 : 5) * hidden) + of_cells + 5 * hidden;
}

static void pack(Trees trees, Weights weights, const real *weight_x, const real *weight_h, const real *weight_c,
                 const real *peephole, const real *bias) {
    const long hidden = trees.hidden, word = trees.word;
    pack_transposed(weights.word_last, 0, weight_x + (trees.is_lexical ? hidden * word : 0), word, word);
    if (trees.is_lexical) pack_transposed(weights.word_forget, 0, weight_x, word, word);
    pack_transposed(weights.pair, 0, weight_h, 2 * hidden, 2 * hidden);
    if (trees.has_peepholes) {
        pack_transposed(weights.pair, 2 * hidden, weight_c, 2 * hidden, 2 * hidden);
        pack_transposed(weights.h, 0, weight_h + 3 * hidden * 2 * hidden, 2 * hidden, 2 * hidden);
        pack_transposed(weights.new_c, 0, peephole, hidden, hidden);
    }
    copy_row(weights.bias, bias, 5 * hidden);
}

/* What the forward pass fills: h and c [nodes, hidden]. If it `keeps_all`, the gates and pairs of all nodes too; if not,
   their buffers have room for those of a block. */
typedef struct {
    real *h, *c;
    int keeps_all;
    real *leaf_gates, *gates, *pairs;
} Filled;

static void run_leaves(Trees trees, Weights weights, const real *x, Filled to) {
    const long hidden = trees.hidden;
    const int64_t all[] = {0, trees.num_leaves};
    FOR_EACH_BLOCK(all, 0, 0) {
        real *gates = to.leaf_gates + (to.keeps_all ? first * 3 * hidden : 0);
        multiply(x + first * trees.word, trees.word, end - first, weights.word_last, weights.bias + 2 * hidden, 0, gates,
                 3 * hidden);
        for (long leaf = first; leaf < end; leaf++)
            squash_leaf(hidden, gates + (leaf - first) * 3 * hidden, to.h + leaf * hidden, to.c + leaf * hidden);
    }
}

/* What their words and biases give to the gates of some phrases, before any state is known. */
static void start_gates(Trees trees, Weights weights, const real *x, long rows, real *gates) {
    const long hidden = trees.hidden, word = trees.word;
    const real *bias = weights.bias;
    multiply(x, word, rows, weights.word_last, bias + 2 * hidden, 0, gates + 2 * hidden, 5 * hidden);
    multiply(x, word, rows, weights.word_forget, NULL, 0, gates, 5 * hidden);
    for (long row = 0; row < rows; row++) {
        real *f_L = gates + row * 5 * hidden, *f_R = f_L + hidden;
        FOR_EACH_VECTOR(hidden) {
            const vector from_word = load_some(f_L + at, left);
            store_some(f_L + at, from_word + load_some(bias + at, left), left);
            store_some(f_R + at, from_word + load_some(bias + hidden + at, left), left);
        }
    }
}

static void run_forward(Trees trees, Weights weights, const real *x, Filled to) {
    const long hidden = trees.hidden, word = trees.word, pair = trees.pair, num_leaves = trees.num_leaves;
    const int64_t *children = trees.children;
    const real *inner_x = x + num_leaves * word;
    /* The words of few phrases are multiplied at once: level by level, the weights would be read as often. */
    const int starts_all = trees.is_lexical && trees.num_inner <= ROW_BLOCK;
    run_leaves(trees, weights, x, to);
    if (starts_all) start_gates(trees, weights, inner_x, trees.num_inner, to.gates);
    for (long level = 0; level < trees.num_levels; level++) FOR_EACH_BLOCK(trees.level_offset, level, num_leaves) {
        const long rows = end - first;
        real *pairs = to.pairs + (to.keeps_all ? first * pair : 0);
        real *gates = to.gates + (to.keeps_all || starts_all ? first * 5 * hidden : 0);
        real *c = to.c + (num_leaves + first) * hidden, *h = to.h + (num_leaves + first) * hidden;
        for (long row = 0; row < rows; row++)
            for (long side = 0; side < 2; side++) {
                const long child = children[2 * (first + row) + side] * hidden;
                copy_row(pairs + row * pair + side * hidden, to.h + child, hidden);
                if (trees.has_peepholes) copy_row(pairs + row * pair + (2 + side) * hidden, to.c + child, hidden);
            }
        const real *start = trees.is_lexical ? gates : weights.bias;
        const long step = trees.is_lexical ? 5 * hidden : 0;
        if (trees.is_lexical && !starts_all) start_gates(trees, weights, inner_x + first * word, rows, gates);
        multiply(pairs, pair, rows, weights.pair, start, step, gates, 5 * hidden);
        if (trees.has_peepholes)
            multiply(pairs, pair, rows, weights.h, start + 3 * hidden, step, gates + 3 * hidden, 5 * hidden);
        for (long row = 0; row < rows; row++)
            squash_cell(hidden, gates + row * 5 * hidden, to.c + children[2 * (first + row)] * hidden,
                        to.c + children[2 * (first + row) + 1] * hidden, c + row * hidden);
        if (trees.has_peepholes) multiply_add(c, hidden, rows, weights.new_c, gates + 4 * hidden, 5 * hidden);
        for (long row = 0; row < rows; row++)
            squash_output(hidden, gates + (5 * row + 4) * hidden, c + row * hidden, h + row * hidden);
    }
}

/* Packs the weights, once for many batches. `packed` has room for the numbers of the weights, the rows of each transposed
   and rounded up to a multiple of 16; see weights_size. */
EXPORT(bottom_up_pack)(const real *weight_x, const real *weight_h, const real *weight_c, const real *peephole,
                       const real *bias, int64_t hidden, int64_t word, int64_t is_lexical, int64_t has_peepholes,
                       real *packed) {
    const int64_t no_level[] = {0};
    const Trees trees = describe(hidden, word, is_lexical, has_peepholes, 0, 0, no_level, NULL);
    pack(trees, lay_out(trees, packed), weight_x, weight_h, weight_c, peephole, bias);
    return 0;
}

/* Fills h [nodes, hidden], with packed weights; nothing is kept. */
EXPORT(bottom_up_forward_packed)(const real *x, real *packed, int64_t hidden, int64_t word, int64_t is_lexical,
                                 int64_t has_peepholes, int64_t num_leaves, int64_t num_levels, int64_t num_nodes,
                                 const int64_t *level_offset, const int64_t *children, real *h) {
    if (!are_trees(level_offset, num_levels, num_leaves, num_nodes, children)) return WRONG_INDICES;
    const Trees trees = describe(hidden, word, is_lexical, has_peepholes, num_leaves, num_levels, level_offset, children);
    const long c_size = (num_leaves + trees.num_inner) * hidden;
    const long leaf_size = least(ROW_BLOCK, num_leaves) * 3 * hidden, rows = least(ROW_BLOCK, trees.num_inner);
    real *c = allocate(c_size + leaf_size + rows * (5 * hidden + trees.pair));
    if (!c) return NO_MEMORY;
    real *leaf_gates = c + c_size, *gates = leaf_gates + leaf_size, *pairs = gates + rows * 5 * hidden;
    run_forward(trees, lay_out(trees, packed), x, (Filled){h, c, 0, leaf_gates, gates, pairs});
    free(c);
    return 0;
}

/* Fills h [nodes, hidden]; c [nodes, hidden], the gates and the pairs are kept for the gradients. */
EXPORT(bottom_up_forward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                          const real *peephole, const real *bias, int64_t hidden, int64_t word, int64_t is_lexical,
                          int64_t has_peepholes, int64_t num_leaves, int64_t num_levels, int64_t num_nodes,
                          const int64_t *level_offset, const int64_t *children, real *h, real *c, real *leaf_gates,
                          real *gates, real *pairs) {
    if (!are_trees(level_offset, num_levels, num_leaves, num_nodes, children)) return WRONG_INDICES;
    const Trees trees =
        describe(hidden, word, is_lexical, has_peepholes, num_leaves, num_levels, level_offset, children);
    real *memory = allocate(weights_size(trees));
    if (!memory) return NO_MEMORY;
    const Weights weights = lay_out(trees, memory);
    pack(trees, weights, weight_x, weight_h, weight_c, peephole, bias);
    run_forward(trees, weights, x, (Filled){h, c, 1, leaf_gates, gates, pairs});
    free(memory);
    return 0;
}

static void unsquash_leaf(long hidden, const real *gates, const real *c, const real *dh, const real *dc, real *dgates) {
    FOR_EACH_VECTOR(hidden) {
        const vector i = load_some(gates + at, left), g = load_some(gates + hidden + at, left);
        const vector o = load_some(gates + 2 * hidden + at, left), tanh_c = hyperbolic_tangent(load_some(c + at, left));
        const vector change = load_some(dh + at, left);
        const vector dcell = load_some(dc + at, left) + change * o * (1 - tanh_c * tanh_c);
        store_some(dgates + at, dcell * g * i * (1 - i), left);
        store_some(dgates + hidden + at, dcell * i * (1 - g * g), left);
        store_some(dgates + 2 * hidden + at, change * tanh_c * o * (1 - o), left);
    }
}

/* The gradient of the output gate, and what h adds to that of the cell. */
static void unsquash_output(long hidden, const real *o_row, const real *c, const real *dh, real *dc, real *do_row) {
    FOR_EACH_VECTOR(hidden) {
        const vector o = load_some(o_row + at, left), tanh_c = hyperbolic_tangent(load_some(c + at, left));
        const vector change = load_some(dh + at, left);
        store_some(do_row + at, change * tanh_c * o * (1 - o), left);
        store_some(dc + at, load_some(dc + at, left) + change * o * (1 - tanh_c * tanh_c), left);
    }
}

/* The gradients of the other gates; the children's cells get what the forget gates kept of theirs. */
static void unsquash_cell(long hidden, const real *gates, const real *c_L, const real *c_R, const real *dc, real *dgates,
                          real *dc_L, real *dc_R) {
    FOR_EACH_VECTOR(hidden) {
        const vector f_L = load_some(gates + at, left), f_R = load_some(gates + hidden + at, left);
        const vector i = load_some(gates + 2 * hidden + at, left), g = load_some(gates + 3 * hidden + at, left);
        const vector dcell = load_some(dc + at, left);
        store_some(dgates + at, dcell * load_some(c_L + at, left) * f_L * (1 - f_L), left);
        store_some(dgates + hidden + at, dcell * load_some(c_R + at, left) * f_R * (1 - f_R), left);
        store_some(dgates + 2 * hidden + at, dcell * g * i * (1 - i), left);
        store_some(dgates + 3 * hidden + at, dcell * i * (1 - g * g), left);
        store_some(dc_L + at, load_some(dc_L + at, left) + dcell * f_L, left);
        store_some(dc_R + at, load_some(dc_R + at, left) + dcell * f_R, left);
    }
}

typedef struct {
    real *h, *c, *leaf_gates, *gates, *pairs;
} Gradients;

/* Turns the gradients of all states into those of the gates. */
static void run_levels_back(Trees trees, const real *weight_h, const real *weight_c, const real *peephole, const real *c,
                            const real *leaf_gates, const real *gates, Gradients d, real *memory) {
    const long hidden = trees.hidden, num_leaves = trees.num_leaves;
    const int64_t *children = trees.children;
    const Factor by_h = factor_of_rows(weight_h, 2 * hidden, 5 * hidden, 2 * hidden, memory);
    Factor by_c, by_new_c;
    if (weight_c) {
        memory += rest_size(5 * hidden, 2 * hidden);
        by_c = factor_of_rows(weight_c, 2 * hidden, 3 * hidden, 2 * hidden, memory);
        memory += rest_size(3 * hidden, 2 * hidden);
        by_new_c = factor_of_rows(peephole, hidden, hidden, hidden, memory);
    }
    for (long level = trees.num_levels - 1; level >= 0; level--) FOR_EACH_BLOCK(trees.level_offset, level, num_leaves) {
        real *block_gates = d.gates + first * 5 * hidden;
        for (long node = first; node < end; node++) {
            const long state = (num_leaves + node) * hidden, output = (5 * node + 4) * hidden;
            unsquash_output(hidden, gates + output, c + state, d.h + state, d.c + state, d.gates + output);
        }
        if (weight_c)
            multiply_add(block_gates + 4 * hidden, 5 * hidden, end - first, by_new_c, d.c + (num_leaves + first) * hidden,
                         hidden);
        for (long node = first; node < end; node++) {
            const long c_L = children[2 * node] * hidden, c_R = children[2 * node + 1] * hidden;
            unsquash_cell(hidden, gates + node * 5 * hidden, c + c_L, c + c_R, d.c + (num_leaves + node) * hidden,
                          d.gates + node * 5 * hidden, d.c + c_L, d.c + c_R);
        }
        multiply(block_gates, 5 * hidden, end - first, by_h, NULL, 0, d.pairs, 2 * hidden);
        for (long edge = 2 * first; edge < 2 * end; edge++)
            add_row(d.h + children[edge] * hidden, d.pairs + (edge - 2 * first) * hidden, hidden);
        if (!weight_c) continue;
        multiply(block_gates, 5 * hidden, end - first, by_c, NULL, 0, d.pairs, 2 * hidden);
        for (long edge = 2 * first; edge < 2 * end; edge++)
            add_row(d.c + children[edge] * hidden, d.pairs + (edge - 2 * first) * hidden, hidden);
    }
    for (long leaf = 0; leaf < num_leaves; leaf++)
        unsquash_leaf(hidden, leaf_gates + leaf * 3 * hidden, c + leaf * hidden, d.h + leaf * hidden, d.c + leaf * hidden,
                      d.leaf_gates + leaf * 3 * hidden);
}

/* The gradients of the word vectors, unless dx is null, and of their weights; those of the gates are used up. */
static void finish_inputs(Trees trees, const real *x, const real *weight_x, Gradients d, real *dx, real *dweight_x,
                          real *memory) {
    const long hidden = trees.hidden, word = trees.word, inner = trees.num_inner;
    const long forget = trees.is_lexical ? hidden * word : 0;
    const real *inner_x = x + trees.num_leaves * word;
    if (dx) {
        const Factor by_last = factor_of_rows(weight_x + forget, word, 3 * hidden, word, memory);
        multiply(d.leaf_gates, 3 * hidden, trees.num_leaves, by_last, NULL, 0, dx, word);
    }
    multiply_outer(d.leaf_gates, 3 * hidden, 3 * hidden, x, word, word, trees.num_leaves, dweight_x + forget, word, 0,
                   memory);
    if (!trees.is_lexical) return;
    /* One W_xf serves both forget gates. */
    for (long node = 0; node < inner; node++)
        add_row(d.gates + (5 * node + 1) * hidden, d.gates + 5 * node * hidden, hidden);
    if (dx) {
        const Factor by_x = factor_of_rows(weight_x, word, 4 * hidden, word, memory);
        multiply(d.gates + hidden, 5 * hidden, inner, by_x, NULL, 0, dx + trees.num_leaves * word, word);
    }
    multiply_outer(d.gates + hidden, 5 * hidden, hidden, inner_x, word, word, inner, dweight_x, word, 0, memory);
    multiply_outer(d.gates + 2 * hidden, 5 * hidden, 3 * hidden, inner_x, word, word, inner, dweight_x + forget, word, 1,
                   memory);
}

/* dh [nodes, hidden] holds the gradients of all states and is used up; what follows it is filled. dx may be null. */
EXPORT(bottom_up_backward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                           const real *peephole, int64_t hidden, int64_t word, int64_t is_lexical, int64_t has_peepholes,
                           int64_t num_leaves, int64_t num_levels, int64_t num_nodes, const int64_t *level_offset,
                           const int64_t *children, const real *c, const real *leaf_gates, const real *gates,
                           const real *pairs, real *dh, real *dx, real *dweight_x, real *dweight_h, real *dweight_c,
                           real *dpeephole, real *dbias) {
    if (!are_trees(level_offset, num_levels, num_leaves, num_nodes, children)) return WRONG_INDICES;
    const Trees trees =
        describe(hidden, word, is_lexical, has_peepholes, num_leaves, num_levels, level_offset, children);
    const long inner = trees.num_inner, pair = trees.pair;
    /* No factor is larger than these, and no last panel than a whole one. */
    const long packing_size = (9 * hidden + word + least(num_nodes, DEPTH_BLOCK)) * (PANEL_COLUMNS + TILE_ROWS);
    const long c_size = num_nodes * hidden, leaf_size = num_leaves * 3 * hidden, inner_size = inner * 5 * hidden;
    real *memory = allocate(packing_size + c_size + leaf_size + inner_size + ROW_BLOCK * 2 * hidden);
    if (!memory) return NO_MEMORY;
    real *packing = memory, *dc = memory + packing_size, *dleaf_gates = dc + c_size, *dgates = dleaf_gates + leaf_size;
    const Gradients d = {dh, dc, dleaf_gates, dgates, dgates + inner_size};
    clear(dc, c_size);
    run_levels_back(trees, weight_h, weight_c, peephole, c, leaf_gates, gates, d, packing);
    clear(dbias, 5 * hidden);
    for (long node = 0; node < inner; node++) add_row(dbias, d.gates + node * 5 * hidden, 5 * hidden);
    for (long leaf = 0; leaf < num_leaves; leaf++) add_row(dbias + 2 * hidden, d.leaf_gates + leaf * 3 * hidden, 3 * hidden);
    multiply_outer(d.gates, 5 * hidden, 5 * hidden, pairs, pair, 2 * hidden, inner, dweight_h, 2 * hidden, 0, packing);
    if (weight_c)
        multiply_outer(d.gates, 5 * hidden, 3 * hidden, pairs + 2 * hidden, pair, 2 * hidden, inner, dweight_c, 2 * hidden,
                       0, packing);
    if (peephole)
        multiply_outer(d.gates + 4 * hidden, 5 * hidden, hidden, c + num_leaves * hidden, hidden, hidden, inner, dpeephole,
                       hidden, 0, packing);
    finish_inputs(trees, x, weight_x, d, dx, dweight_x, packing);
    free(memory);
    return 0;
}
