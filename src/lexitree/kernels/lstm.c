/* One direction of a layer of an LSTM over many sentences at once, forwards only: no gradients.

   Gates stand in PyTorch's order: i, f, g, o. Places are positions in the sentences; at each, the sentences that reach so
   far are the first ones, the longest come first. Returns 0, NO_MEMORY or WRONG_INDICES. */
#include "products.h"

static void squash(long hidden, const real *gates, real *c, int has_state, real *h) {
    FOR_EACH_VECTOR(hidden) {
        const vector i = sigmoid(load_some(gates + at, left)), f = sigmoid(load_some(gates + hidden + at, left));
        const vector g = hyperbolic_tangent(load_some(gates + 2 * hidden + at, left));
        const vector o = sigmoid(load_some(gates + 3 * hidden + at, left));
        const vector cell = has_state ? f * load_some(c + at, left) + i * g : i * g;
        store_some(c + at, cell, left);
        store_some(h + at, o * hyperbolic_tangent(cell), left);
    }
}

/* Packs the weights of a direction, once for all sentences. `packed` has room for (size + hidden + 1) rows of 4 hidden + 16
   numbers. */
EXPORT(lstm_pack)(const real *weight_x, const real *weight_h, const real *bias_x, const real *bias_h, int64_t size,
                  int64_t hidden, real *packed) {
    const long gates_size = 4 * hidden;
    pack_transposed(packed_factor(packed, size, gates_size), 0, weight_x, size, size);
    packed += packed_size(size, gates_size);
    pack_transposed(packed_factor(packed, hidden, gates_size), 0, weight_h, hidden, hidden);
    packed += packed_size(hidden, gates_size);
    copy_row(packed, bias_x, gates_size);
    add_row(packed, bias_h, gates_size);
    return 0;
}

/* Fills one half of out [places, sentences, 2 hidden], the first one forwards and the other one backwards: a state for each place
   of a sentence, zeros behind its end. x is [places, sentences, size]; num_reaching [places] counts the sentences that have such a place. */
EXPORT(lstm_forward)(const real *x, real *packed, int64_t size, int64_t hidden, int64_t num_places, int64_t num_sentences,
                     int64_t is_backward, const int64_t *num_reaching, real *out) {
    if (!are_below(num_reaching, num_places, num_sentences + 1)) return WRONG_INDICES;
    const long gates_size = 4 * hidden, out_step = 2 * hidden;
    if (is_backward) out += hidden;
    const Factor times_x = packed_factor(packed, size, gates_size);
    const Factor times_h = packed_factor(packed + packed_size(size, gates_size), hidden, gates_size);
    const real *bias = times_h.panels + packed_size(hidden, gates_size);
    real *c = allocate(num_sentences * (num_places * gates_size + hidden)), *gates = c + num_sentences * hidden;
    if (!c) return NO_MEMORY;
    multiply(x, size, num_places * num_sentences, times_x, bias, 0, gates, gates_size);
    for (long step = 0, known = 0; step < num_places; step++) {
        const long place = is_backward ? num_places - 1 - step : step, before = is_backward ? place + 1 : place - 1;
        const long reaching = num_reaching[place], with_state = least(known, reaching);
        real *place_gates = gates + place * num_sentences * gates_size, *place_out = out + place * num_sentences * out_step;
        multiply_add(out + before * num_sentences * out_step, out_step, with_state, times_h, place_gates, gates_size);
        for (long row = 0; row < num_sentences; row++)
            if (row < reaching)
                squash(hidden, place_gates + row * gates_size, c + row * hidden, row < with_state, place_out + row * out_step);
            else
                clear(place_out + row * out_step, hidden);
        known = reaching;
    }
    free(c);
    return 0;
}
