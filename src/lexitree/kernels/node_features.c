/* What is read off the finished vectors and states of trees: head words, and the features that labels are scored by.

   The arrays of a tree are those of TreeLayout; level l, from 0, holds the nodes from level_offset[l] to level_offset[l + 1].
   Each function returns 0, NO_MEMORY or WRONG_INDICES. */
#include <math.h>

#include "vectors.h"

#define SMALLEST_NORM 1e-8    /* as in PyTorch's cosine similarity */
#define SAME_SIMILARITY 1e-6 /* as in ops/weights.py */

INLINE real sum_of_lanes(vector values) {
    real sum = 0;
    for (long lane = 0; lane < LANES; lane++) sum += values[lane];
    return sum;
}

static real multiply_rows(const real *first, const real *second, long size) {
    vector sums = {0};
    FOR_EACH_VECTOR(size) sums += load_some(first + at, left) * load_some(second + at, left);
    return sum_of_lanes(sums);
}

static double length_of(const real *row, long size) {
    const double length = sqrt((double)multiply_rows(row, row, size));
    return length > SMALLEST_NORM ? length : SMALLEST_NORM;
}

/* Whether a head vector is nearer to that of its right child by cosine; where rounding would decide, it is not. */
static int is_nearer_to_right(const real *x, const real *left, const real *right, long size) {
    const double to_left = multiply_rows(x, left, size) / length_of(left, size);
    const double to_right = multiply_rows(x, right, size) / length_of(right, size);
    return to_right - to_left > SAME_SIMILARITY * length_of(x, size);
}

/* Fills leaf [nodes], the head word of each node, and weight [nodes], its share of the node's head vector. x [nodes, size]
   are the head vectors, z [phrases, size] the shares of the left parts; lean [phrases], which may be null, decides where it
   is not zero. `rule` is 0 to take the head of the nearer child, 1 that of the left one, 2 that of the right one. */
EXPORT(find_heads)(const real *x, const real *z, const real *lean, int64_t rule, int64_t size, int64_t num_leaves,
                   int64_t num_nodes, const int64_t *children, int64_t *leaf, real *weight) {
    for (long node = num_leaves; node < num_nodes; node++)
        if (!are_below(children + 2 * (node - num_leaves), 2, node)) return WRONG_INDICES;
    real *shares = malloc((size_t)(num_nodes * size + 1) * sizeof(real));
    if (!shares) return NO_MEMORY;
    for (long node = 0; node < num_leaves; node++) {
        leaf[node] = node;
        weight[node] = 1;
        FOR_EACH_VECTOR(size) store_some(shares + node * size + at, repeat(1), left);
    }
    for (long node = num_leaves; node < num_nodes; node++) {
        const long phrase = node - num_leaves, l = children[2 * phrase], r = children[2 * phrase + 1];
        int takes_right = rule == 2;
        if (rule == 0) takes_right = is_nearer_to_right(x + node * size, x + l * size, x + r * size, size);
        if (lean && lean[phrase] != 0) takes_right = lean[phrase] < 0;
        const long child = takes_right ? r : l;
        const real *z_t = z + phrase * size, *from = shares + child * size;
        real *to = shares + node * size;
        vector sums = {0};
        FOR_EACH_VECTOR(size) {
            const vector from_left = load_some(z_t + at, left);
            const vector share = (takes_right ? 1 - from_left : from_left) * load_some(from + at, left);
            store_some(to + at, share, left);
            sums += load_some(to + at, left);
        }
        leaf[node] = leaf[child];
        weight[node] = sum_of_lanes(sums) / size;
    }
    free(shares);
    return 0;
}

/* Fills out [asked, states]: for each of some nodes its state from below (`up` [nodes, hidden], or null), its state from above
   (`down` [nodes, hidden]), and the mean of the states from above of its words, which are the leaves from start to end. Sums are
   taken in 64 bits: the difference of two must not depend on what else the batch holds. */
EXPORT(gather_features)(const real *up, const real *down, int64_t hidden, int64_t num_leaves, int64_t num_nodes,
                        int64_t num_asked, int64_t has_up, const int64_t *nodes, const int64_t *start, const int64_t *end,
                        real *out) {
    if (num_leaves > num_nodes || !are_below(nodes, num_asked, num_nodes)) return WRONG_INDICES;
    for (long row = 0; row < num_asked; row++)
        if (start[nodes[row]] < 0 || start[nodes[row]] >= end[nodes[row]] || end[nodes[row]] > num_leaves) return WRONG_INDICES;
    double *sums = malloc((size_t)((num_leaves + 1) * hidden + 1) * sizeof(double));
    if (!sums) return NO_MEMORY;
    memset(sums, 0, (size_t)hidden * sizeof(double));
    for (long row = 0; row < num_leaves; row++)
        for (long k = 0; k < hidden; k++) sums[(row + 1) * hidden + k] = sums[row * hidden + k] + down[row * hidden + k];
    for (long row = 0; row < num_asked; row++) {
        const long node = nodes[row], num_words = end[node] - start[node];
        const double *first = sums + start[node] * hidden, *last = sums + end[node] * hidden;
        if (has_up) {
            copy_row(out, up + node * hidden, hidden);
            out += hidden;
        }
        copy_row(out, down + node * hidden, hidden);
        out += hidden;
        for (long k = 0; k < hidden; k++) out[k] = (real)((last[k] - first[k]) / num_words);
        out += hidden;
    }
    free(sums);
    return 0;
}
