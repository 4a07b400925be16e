/* A sequence LSTM over many spans of words at once, one time step after the other, and its gradients.

   The equations stand in ops/reference.py, the order of the gates, f, i, g, o, in ops/weights.py and an example of a
   schedule in ops/numpy/spans.py. A place is a row at a step; those of a step follow those of the step before, of which the
   rows that go on are the first ones. The state of a place is h beside c. Without peepholes `weight_c` and `peephole` are
   null. Each function returns 0, NO_MEMORY or WRONG_INDICES. */
#include "cells.h"
#include "products.h"

typedef struct {
    long hidden, word;
    int has_peepholes;
    long num_words, num_steps, num_spans, num_places;
    const int64_t *step_sizes, *word_of, *last; /* the word read at each place; the place where each span ends */
} Spans;

/* Whether no step has more rows than the one before, all of them are the places, and these and the words are among those that
   there are. */
static int are_right(Spans spans) {
    long num_left = spans.num_places, before = num_left;
    for (long step = 0; step < spans.num_steps; before = spans.step_sizes[step++]) {
        const long rows = spans.step_sizes[step];
        if (rows < 0 || rows > before || rows > num_left) return 0;
        num_left -= rows;
    }
    return num_left == 0 && are_below(spans.word_of, spans.num_places, spans.num_words) &&
           are_below(spans.last, spans.num_spans, spans.num_places);
}

/* The weights as they are packed. With peepholes f and i see all of the state before, g and o its h; without, all see h. */
typedef struct {
    Factor word, state, h, new_c;
    real *bias;
} Weights;

/* Where the packed weights lie in memory that has room for `weights_size`. */
static Weights lay_out(long hidden, long word, int has_peepholes, real *memory) {
    const long size = 4 * hidden, half = 2 * hidden;
    Weights weights = {.word = packed_factor(memory, word, size)};
    memory += packed_size(word, size);
    if (has_peepholes) {
        weights.state = packed_factor(memory, half, half);
        weights.h = packed_factor(memory += packed_size(half, half), hidden, half);
        weights.new_c = packed_factor(memory += packed_size(hidden, half), hidden, hidden);
        memory += packed_size(hidden, hidden);
    } else {
        weights.h = packed_factor(memory, hidden, size);
        memory += packed_size(hidden, size);
    }
    weights.bias = memory;
    return weights;
}

static long weights_size(long hidden, long word, int has_peepholes) {
    const long half = 2 * hidden;
    const long of_states = has_peepholes ? packed_size(half, half) + packed_size(hidden, half) + packed_size(hidden, hidden)
                                         : packed_size(hidden, 4 * hidden);
    return packed_size(word, 4 * hidden) + of_states + 4 * hidden;
}

static void pack(Weights weights, long hidden, long word, const real *weight_x, const real *weight_h, const real *weight_c,
                 const real *peephole, const real *bias) {
    pack_transposed(weights.word, 0, weight_x, word, word);
    if (weight_c) {
        pack_transposed(weights.state, 0, weight_h, hidden, hidden);
        pack_transposed(weights.state, hidden, weight_c, hidden, hidden);
        pack_transposed(weights.h, 0, weight_h + 2 * hidden * hidden, hidden, hidden);
        pack_transposed(weights.new_c, 0, peephole, hidden, hidden);
    } else {
        pack_transposed(weights.h, 0, weight_h, hidden, hidden);
    }
    copy_row(weights.bias, bias, 4 * hidden);
}

/* Fills the states [places, 2 hidden] and out [spans, hidden], the last h of each span. If it `keeps_all`, the gates
   [places, 4 hidden] are filled too; if not, there is room for those of a block. */
static int run_forward(Spans spans, Weights weights, const real *x, real *out, int keeps_all, real *gates, real *states) {
    const long hidden = spans.hidden, size = 4 * hidden, state = 2 * hidden;
    real *from_words = allocate(spans.num_words * size);
    if (!from_words) return NO_MEMORY;
    /* Spans overlap: every word is multiplied once, and the rows are dealt out. */
    multiply(x, spans.word, spans.num_words, weights.word, weights.bias, 0, from_words, size);
    int64_t ends[2] = {0, 0};
    for (long step = 0, back = 0; step < spans.num_steps; back = spans.step_sizes[step++]) {
        ends[0] = ends[1];
        ends[1] += spans.step_sizes[step];
        FOR_EACH_BLOCK(ends, 0, 0) {
            const long rows = end - first;
            real *block = gates + (keeps_all ? first * size : 0), *after = states + first * state;
            const real *before = step ? after - back * state : NULL;
            for (long row = 0; row < rows; row++)
                copy_row(block + row * size, from_words + spans.word_of[first + row] * size, size);
            if (before && spans.has_peepholes) {
                multiply_add(before, state, rows, weights.state, block, size);
                multiply_add(before, state, rows, weights.h, block + state, size);
            } else if (before) {
                multiply_add(before, state, rows, weights.h, block, size);
            }
            for (long row = 0; row < rows; row++)
                squash_cell(hidden, block + row * size, before ? before + row * state + hidden : NULL,
                            after + row * state + hidden);
            if (spans.has_peepholes)
                multiply_add(after + hidden, state, rows, weights.new_c, block + 3 * hidden, size);
            for (long row = 0; row < rows; row++)
                squash_output(hidden, block + row * size + 3 * hidden, after + row * state);
        }
    }
    for (long span = 0; span < spans.num_spans; span++)
        copy_row(out + span * hidden, states + spans.last[span] * state, hidden);
    free(from_words);
    return 0;
}

/* Packs the weights, once for many batches. `packed` has room for the numbers of the weights, the rows of each transposed
   and rounded up to a multiple of 16; see weights_size. */
EXPORT(sequences_pack)(const real *weight_x, const real *weight_h, const real *weight_c, const real *peephole,
                       const real *bias, int64_t hidden, int64_t word, int64_t has_peepholes, real *packed) {
    pack(lay_out(hidden, word, has_peepholes, packed), hidden, word, weight_x, weight_h, weight_c, peephole, bias);
    return 0;
}

/* Fills out [spans, hidden], with packed weights; nothing is kept. */
EXPORT(sequences_forward_packed)(const real *x, real *packed, int64_t hidden, int64_t word, int64_t has_peepholes,
                                 int64_t num_words, int64_t num_steps, int64_t num_spans, int64_t num_places,
                                 const int64_t *step_sizes, const int64_t *word_of, const int64_t *last, real *out) {
    const Spans spans = {hidden,    word,       has_peepholes, num_words, num_steps,
                         num_spans, num_places, step_sizes,    word_of,   last};
    if (!are_right(spans)) return WRONG_INDICES;
    const long state_size = num_places * 2 * hidden;
    real *states = allocate(state_size + ROW_BLOCK * 4 * hidden);
    if (!states) return NO_MEMORY;
    const int failed =
        run_forward(spans, lay_out(hidden, word, has_peepholes, packed), x, out, 0, states + state_size, states);
    free(states);
    return failed;
}

/* Fills out [spans, hidden]; the gates [places, 4 hidden] and the states [places, 2 hidden] are kept for the gradients. */
EXPORT(sequences_forward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                          const real *peephole, const real *bias, int64_t hidden, int64_t word, int64_t has_peepholes,
                          int64_t num_words, int64_t num_steps, int64_t num_spans, int64_t num_places,
                          const int64_t *step_sizes, const int64_t *word_of, const int64_t *last, real *out, real *gates,
                          real *states) {
    const Spans spans = {hidden,    word,       has_peepholes, num_words, num_steps,
                         num_spans, num_places, step_sizes,    word_of,   last};
    if (!are_right(spans)) return WRONG_INDICES;
    real *memory = allocate(weights_size(hidden, word, has_peepholes));
    if (!memory) return NO_MEMORY;
    const Weights weights = lay_out(hidden, word, has_peepholes, memory);
    pack(weights, hidden, word, weight_x, weight_h, weight_c, peephole, bias);
    const int failed = run_forward(spans, weights, x, out, 1, gates, states);
    free(memory);
    return failed;
}

/* Turns the gradients of all states into those of the gates; `befores` is filled with the state before each place that is
   not of the first step. */
static void run_steps_back(Spans spans, const real *weight_h, const real *weight_c, const real *peephole,
                           const real *gates, const real *states, real *dstates, real *dgates, real *befores,
                           real *memory) {
    const long hidden = spans.hidden, size = 4 * hidden, state = 2 * hidden;
    const Factor by_h = factor_of_rows(weight_h, hidden, size, hidden, memory);
    Factor by_c = {0}, by_new_c = {0};
    if (spans.has_peepholes) {
        by_c = factor_of_rows(weight_c, hidden, state, hidden, memory += rest_size(size, hidden));
        by_new_c = factor_of_rows(peephole, hidden, hidden, hidden, memory += rest_size(state, hidden));
    }
    int64_t ends[2] = {spans.num_places, spans.num_places};
    for (long step = spans.num_steps - 1; step >= 0; step--) {
        ends[1] = ends[0];
        ends[0] -= spans.step_sizes[step];
        const long back = step ? spans.step_sizes[step - 1] * state : 0;
        FOR_EACH_BLOCK(ends, 0, 0) {
            const long rows = end - first;
            const real *after = states + first * state;
            real *block = dgates + first * size, *dafter = dstates + first * state;
            for (long row = 0; row < rows; row++)
                unsquash_output(hidden, gates + (first + row) * size + 3 * hidden, after + row * state + hidden,
                                dafter + row * state, block + row * size + 3 * hidden);
            if (spans.has_peepholes) multiply_add(block + 3 * hidden, size, rows, by_new_c, dafter + hidden, state);
            for (long row = 0; row < rows; row++) {
                const long cell = row * state + hidden;
                unsquash_cell(hidden, gates + (first + row) * size, step ? after - back + cell : NULL, dafter + cell,
                              block + row * size, step ? dafter - back + cell : NULL);
            }
            if (!step) continue;
            multiply_add(block, size, rows, by_h, dafter - back, state);
            if (spans.has_peepholes) multiply_add(block, size, rows, by_c, dafter - back + hidden, state);
            copy_row(befores + (first - spans.step_sizes[0]) * state, after - back, rows * state);
        }
    }
}

/* The gradients of the word vectors, unless dx is null, and of their weights and of the bias. */
static void finish_words(Spans spans, const real *x, const real *weight_x, const real *dgates, real *dx, real *dweight_x,
                         real *dbias, real *from_words, real *memory) {
    const long size = 4 * spans.hidden, word = spans.word;
    clear(from_words, spans.num_words * size);
    for (long place = 0; place < spans.num_places; place++)
        add_row(from_words + spans.word_of[place] * size, dgates + place * size, size);
    clear(dbias, size);
    for (long row = 0; row < spans.num_words; row++) add_row(dbias, from_words + row * size, size);
    if (dx) {
        const Factor by_x = factor_of_rows(weight_x, word, size, word, memory);
        multiply(from_words, size, spans.num_words, by_x, NULL, 0, dx, word);
    }
    multiply_outer(from_words, size, size, x, word, word, spans.num_words, dweight_x, word, 0, memory);
}

INLINE long most(long first, long second) { return first > second ? first : second; }

/* dout [spans, hidden] are the gradients of what the forward pass filled; what follows it is filled. dx may be null. */
EXPORT(sequences_backward)(const real *x, const real *weight_x, const real *weight_h, const real *weight_c,
                           const real *peephole, int64_t hidden, int64_t word, int64_t has_peepholes, int64_t num_words,
                           int64_t num_steps, int64_t num_spans, int64_t num_places, const int64_t *step_sizes,
                           const int64_t *word_of, const int64_t *last, const real *gates, const real *states, const real *dout, real *dx, real *dweight_x,
                           real *dweight_h, real *dweight_c, real *dpeephole, real *dbias) {
    const Spans spans = {hidden,    word,       has_peepholes, num_words, num_steps,
                         num_spans, num_places, step_sizes,    word_of,   last};
    if (!are_right(spans)) return WRONG_INDICES;
    const long size = 4 * hidden, state = 2 * hidden;
    const long num_first = num_steps ? step_sizes[0] : 0, num_later = num_places - num_first;
    /* No factor is deeper than these, and no last panel wider than a whole one. */
    const long deepest = most(7 * hidden, least(most(num_words, num_places), DEPTH_BLOCK));
    const long packing_size = deepest * (PANEL_COLUMNS + TILE_ROWS);
    const long state_size = num_places * state, gate_size = num_places * size;
    real *memory = allocate(packing_size + 2 * state_size + gate_size + num_words * size);
    if (!memory) return NO_MEMORY;
    real *dstates = memory + packing_size, *befores = dstates + state_size, *dgates = befores + state_size;
    clear(dstates, state_size);
    for (long span = 0; span < num_spans; span++) add_row(dstates + last[span] * state, dout + span * hidden, hidden);
    run_steps_back(spans, weight_h, weight_c, peephole, gates, states, dstates, dgates, befores, memory);
    const real *later = dgates + num_first * size;
    multiply_outer(later, size, size, befores, state, hidden, num_later, dweight_h, hidden, 0, memory);
    if (spans.has_peepholes) {
        multiply_outer(later, size, state, befores + hidden, state, hidden, num_later, dweight_c, hidden, 0, memory);
        multiply_outer(dgates + 3 * hidden, size, hidden, states + hidden, state, hidden, num_places, dpeephole, hidden, 0,
                       memory);
    }
    finish_words(spans, x, weight_x, dgates, dx, dweight_x, dbias, dgates + gate_size, memory);
    free(memory);
    return 0;
}
