/* The bottom-up tree LSTM, level by level from the leaves to the roots, and its gradients.

   The equations stand in ops/reference.py and the order of the gates in ops/weights.py. The gates of a leaf are the columns
   i, g, o; those of a phrase f_L, f_R, i, g, o. The states of a phrase's children stand side by side as its pair: h_L, h_R
   and, where the gates see the cells, c_L, c_R. Without peepholes `weight_c` and `peephole` are null. Each function returns
   0, or 1 if there is no memory. */
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

/* The weights of the word vectors, packed; the forget gates of a phrase share theirs, and leaves have none. */
typedef struct {
    Factor last, forget;
} WordFactors;

static WordFactors pack_words(Trees trees, const real *weight_x, real *memory) {
    const long hidden = trees.hidden, word = trees.word;
    const WordFactors times = {packed_factor(memory, word, 3 * hidden),
                               packed_factor(memory + packed_size(word, 3 * hidden), word, hidden)};
    pack_transposed(times.last, 0, weight_x + (trees.is_lexical ? hidden * word : 0), word, word);
    if (trees.is_lexical) pack_transposed(times.forget, 0, weight_x, word, word);
    return times;
}

static void run_leaves(Trees trees, const real *x, WordFactors times, const real *bias, real *gates, real *h, real *c) {
    const long hidden = trees.hidden;
    const int64_t all[] = {0, trees.num_leaves};
    FOR_EACH_BLOCK(all, 0, 0) {
        multiply(x + first * trees.word, trees.word, end - first, times.last, bias + 2 * hidden, 0,
                 gates + first * 3 * hidden, 3 * hidden);
        for (long leaf = first; leaf < end; leaf++)
            squash_leaf(hidden, gates + leaf * 3 * hidden, h + leaf * hidden, c + leaf * hidden);
    }
}

/* What their words and biases give to the gates of some phrases, before any state is known. */
static void start_gates(Trees trees, const real *x, WordFactors times, const real *bias, long rows, real *gates) {
    const long hidden = trees.hidden, word = trees.word;
    multiply(x, word, rows, times.last, bias + 2 * hidden, 0, gates + 2 * hidden, 5 * hidden);
    multiply(x, word, rows, times.forget, NULL, 0, gates, 5 * hidden);
    for (long row = 0; row < rows; row++) {
        real *f_L = gates + row * 5 * hidden, *f_R = f_L + hidden;
        FOR_EACH_VECTOR(hidden) {
            const vector from_word = load_some(f_L + at, left);
            store_some(f_L + at, from_word + load_some(bias + at, left), left);
            store_some(f_R + at, from_word + load_some(bias + hidden + at, left), left);
        }
    }
}

/* Fills h [nodes, hidden]; c [nodes, hidden], the gates and the pairs are kept for the gradients. */
EXPORT(bottom_up_forward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                          const real *peephole, const real *bias, int64_t hidden, int64_t word, int64_t is_lexical,
                          int64_t num_leaves, int64_t num_levels, const int64_t *level_offset, const int64_t *children,
                          real *h, real *c, real *leaf_gates, real *gates, real *pairs) {
    const Trees trees =
        describe(hidden, word, is_lexical, weight_c != NULL, num_leaves, num_levels, level_offset, children);
    const long seeing = weight_c ? 3 : 5, pair = trees.pair; /* the gates that see all of a pair */
    const long pair_size = packed_size(pair, seeing * hidden), h_size = packed_size(2 * hidden, 2 * hidden);
    const long peephole_size = packed_size(hidden, hidden);
    const long words_size = packed_size(word, 3 * hidden) + packed_size(word, hidden);
    real *memory = allocate(pair_size + h_size + peephole_size + words_size);
    if (!memory) return 1;
    const Factor times_pair = packed_factor(memory, pair, seeing * hidden);
    const Factor times_h = packed_factor(memory + pair_size, 2 * hidden, 2 * hidden);
    const Factor times_new_c = packed_factor(memory + pair_size + h_size, hidden, hidden);
    pack_transposed(times_pair, 0, weight_h, 2 * hidden, 2 * hidden);
    if (weight_c) {
        pack_transposed(times_pair, 2 * hidden, weight_c, 2 * hidden, 2 * hidden);
        pack_transposed(times_h, 0, weight_h + 3 * hidden * 2 * hidden, 2 * hidden, 2 * hidden);
        pack_transposed(times_new_c, 0, peephole, hidden, hidden);
    }
    const WordFactors times_word = pack_words(trees, weight_x, memory + pair_size + h_size + peephole_size);
    run_leaves(trees, x, times_word, bias, leaf_gates, h, c);
    for (long level = 0; level < num_levels; level++) FOR_EACH_BLOCK(level_offset, level, num_leaves) {
        for (long node = first; node < end; node++)
            for (long side = 0; side < 2; side++) {
                const long child = children[2 * node + side] * hidden;
                copy_row(pairs + node * pair + side * hidden, h + child, hidden);
                if (weight_c) copy_row(pairs + node * pair + (2 + side) * hidden, c + child, hidden);
            }
        real *block_pairs = pairs + first * pair, *block_gates = gates + first * 5 * hidden;
        const real *start = is_lexical ? block_gates : bias;
        const long step = is_lexical ? 5 * hidden : 0;
        if (is_lexical)
            start_gates(trees, x + (num_leaves + first) * word, times_word, bias, end - first, block_gates);
        multiply(block_pairs, pair, end - first, times_pair, start, step, block_gates, 5 * hidden);
        if (weight_c)
            multiply(block_pairs, pair, end - first, times_h, start + 3 * hidden, step, block_gates + 3 * hidden,
                     5 * hidden);
        for (long node = first; node < end; node++)
            squash_cell(hidden, gates + node * 5 * hidden, c + children[2 * node] * hidden,
                        c + children[2 * node + 1] * hidden, c + (num_leaves + node) * hidden);
        if (peephole)
            multiply_add(c + (num_leaves + first) * hidden, hidden, end - first, times_new_c, block_gates + 4 * hidden,
                         5 * hidden);
        for (long node = first; node < end; node++)
            squash_output(hidden, gates + (5 * node + 4) * hidden, c + (num_leaves + node) * hidden,
                          h + (num_leaves + node) * hidden);
    }
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
                           const real *peephole, int64_t hidden, int64_t word, int64_t is_lexical, int64_t num_leaves,
                           int64_t num_levels, const int64_t *level_offset, const int64_t *children, const real *c,
                           const real *leaf_gates, const real *gates, const real *pairs, real *dh, real *dx,
                           real *dweight_x, real *dweight_h, real *dweight_c, real *dpeephole, real *dbias) {
    const Trees trees =
        describe(hidden, word, is_lexical, weight_c != NULL, num_leaves, num_levels, level_offset, children);
    const long inner = trees.num_inner, pair = trees.pair, num_nodes = num_leaves + inner;
    /* No factor is larger than these, and no last panel than a whole one. */
    const long packing_size = (9 * hidden + word + least(num_nodes, DEPTH_BLOCK)) * (PANEL_COLUMNS + TILE_ROWS);
    const long c_size = num_nodes * hidden, leaf_size = num_leaves * 3 * hidden, inner_size = inner * 5 * hidden;
    real *memory = allocate(packing_size + c_size + leaf_size + inner_size + ROW_BLOCK * 2 * hidden);
    if (!memory) return 1;
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
