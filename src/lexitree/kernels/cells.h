/* The gates and cells of an LSTM whose state follows from one other state: its parent's, or the one before.

   Gates stand in the order f, i, g, o. A state is h beside c, and its gradient dh beside dc. */
#ifndef LEXITREE_CELLS_H
#define LEXITREE_CELLS_H

#include "vectors.h"

/* All gates but the output gate, and the cell. Where c_before is null, there is nothing to forget. */
static void squash_cell(long hidden, real *gates, const real *c_before, real *c) {
    FOR_EACH_VECTOR(hidden) {
        const vector f = sigmoid(load_some(gates + at, left)), i = sigmoid(load_some(gates + hidden + at, left));
        const vector g = hyperbolic_tangent(load_some(gates + 2 * hidden + at, left));
        store_some(gates + at, f, left);
        store_some(gates + hidden + at, i, left);
        store_some(gates + 2 * hidden + at, g, left);
        store_some(c + at, c_before ? f * load_some(c_before + at, left) + i * g : i * g, left);
    }
}

static void squash_output(long hidden, real *o_row, real *state) {
    FOR_EACH_VECTOR(hidden) {
        const vector o = sigmoid(load_some(o_row + at, left));
        store_some(o_row + at, o, left);
        store_some(state + at, o * hyperbolic_tangent(load_some(state + hidden + at, left)), left);
    }
}

/* The gradient of the output gate, and what h adds to that of the cell. */
static void unsquash_output(long hidden, const real *o_row, const real *c, real *dstate, real *do_row) {
    FOR_EACH_VECTOR(hidden) {
        const vector o = load_some(o_row + at, left), tanh_c = hyperbolic_tangent(load_some(c + at, left));
        const vector change = load_some(dstate + at, left), dcell = load_some(dstate + hidden + at, left);
        store_some(do_row + at, change * tanh_c * o * (1 - o), left);
        store_some(dstate + hidden + at, dcell + change * o * (1 - tanh_c * tanh_c), left);
    }
}

/* The gradients of the other gates; the cell before, if there is one, gets what the forget gate kept of it. */
static void unsquash_cell(long hidden, const real *gates, const real *c_before, const real *dc, real *dgates,
                          real *dc_before) {
    FOR_EACH_VECTOR(hidden) {
        const vector f = load_some(gates + at, left), i = load_some(gates + hidden + at, left);
        const vector g = load_some(gates + 2 * hidden + at, left), dcell = load_some(dc + at, left);
        const vector before = c_before ? load_some(c_before + at, left) : (vector){0};
        store_some(dgates + at, dcell * before * f * (1 - f), left);
        store_some(dgates + hidden + at, dcell * g * i * (1 - i), left);
        store_some(dgates + 2 * hidden + at, dcell * i * (1 - g * g), left);
        if (dc_before) store_some(dc_before + at, load_some(dc_before + at, left) + dcell * f, left);
    }
}

#endif
