/* The head gate of every phrase, level by level from the leaves to the roots, and its gradients.

   z = s(W_zx^L x_L + W_zx^R x_R + b_z + lean), x = z * x_L + (1 - z) * x_R. The arrays of a tree are those of TreeLayout;
   level l, from 0, holds the nodes from level_offset[l] to level_offset[l + 1]. Each function returns 0, NO_MEMORY or
   WRONG_INDICES. */
#include "products.h"

/* The gate's weights as they are packed, and where they lie in memory that has room for `weights_size`. */
typedef struct {
    Factor times_pair;
    real *bias;
} Weights;

INLINE long weights_size(long size) { return packed_size(2 * size, size) + size; }
INLINE Weights lay_out(long size, real *memory) {
    return (Weights){packed_factor(memory, 2 * size, size), memory + packed_size(2 * size, size)};
}

static void pack(Weights weights, long size, const real *gate, const real *bias) {
    pack_transposed(weights.times_pair, 0, gate, 2 * size, 2 * size);
    copy_row(weights.bias, bias, size);
}

/* Fills x [nodes, size] and z [phrases, size]. With `keeps_pairs`, pairs [phrases, 2 size] is filled too; without, it has
   room for those of a block. */
static void run_forward(Weights weights, const real *words, const real *lean, long size, long num_leaves, long num_levels,
                        const int64_t *level_offset, const int64_t *children, real *x, int keeps_pairs, real *pairs,
                        real *z) {
    const real *bias = weights.bias;
    copy_row(x, words, num_leaves * size);
    for (long level = 0; level < num_levels; level++) FOR_EACH_BLOCK(level_offset, level, num_leaves) {
        real *block_pairs = pairs + (keeps_pairs ? 2 * first * size : 0);
        for (long node = first; node < end; node++) {
            for (long side = 0; side < 2; side++)
                copy_row(block_pairs + (2 * (node - first) + side) * size, x + children[2 * node + side] * size, size);
            if (lean) FOR_EACH_VECTOR(size) store_some(z + node * size + at, load_some(bias + at, left) + lean[node], left);
        }
        multiply(block_pairs, 2 * size, end - first, weights.times_pair, lean ? z + first * size : bias, lean ? size : 0,
                 z + first * size, size);
        for (long node = first; node < end; node++) {
            const real *x_L = block_pairs + 2 * (node - first) * size, *x_R = x_L + size;
            real *z_t = z + node * size, *x_t = x + (num_leaves + node) * size;
            FOR_EACH_VECTOR(size) {
                const vector share = sigmoid(load_some(z_t + at, left));
                const vector from_left = load_some(x_L + at, left), from_right = load_some(x_R + at, left);
                store_some(z_t + at, share, left);
                store_some(x_t + at, from_right + share * (from_left - from_right), left);
            }
        }
    }
}

/* Packs the weights, once for many batches. `packed` has room for 2 size + 1 rows of size, rounded up to a multiple of 16. */
EXPORT(heads_pack)(const real *gate, const real *bias, int64_t size, real *packed) {
    pack(lay_out(size, packed), size, gate, bias);
    return 0;
}

/* Fills x [nodes, size] and z [phrases, size], the left parts' shares, with packed weights. */
EXPORT(heads_forward_packed)(const real *words, real *packed, const real *lean, int64_t size, int64_t num_leaves,
                             int64_t num_levels, int64_t num_nodes, const int64_t *level_offset, const int64_t *children,
                             real *x, real *z) {
    if (!are_trees(level_offset, num_levels, num_leaves, num_nodes, children)) return WRONG_INDICES;
    real *pairs = allocate(least(ROW_BLOCK, num_nodes - num_leaves) * 2 * size);
    if (!pairs) return NO_MEMORY;
    run_forward(lay_out(size, packed), words, lean, size, num_leaves, num_levels, level_offset, children, x, 0, pairs, z);
    free(pairs);
    return 0;
}

/* Fills x [nodes, size]; pairs [phrases, 2 size] and z [phrases, size] are kept for the gradients. */
EXPORT(heads_forward)(const real *words, const real *gate, const real *bias, const real *lean, int64_t size,
                      int64_t num_leaves, int64_t num_levels, int64_t num_nodes, const int64_t *level_offset,
                      const int64_t *children, real *x, real *pairs, real *z) {
    if (!are_trees(level_offset, num_levels, num_leaves, num_nodes, children)) return WRONG_INDICES;
    real *memory = allocate(weights_size(size));
    if (!memory) return NO_MEMORY;
    const Weights weights = lay_out(size, memory);
    pack(weights, size, gate, bias);
    run_forward(weights, words, lean, size, num_leaves, num_levels, level_offset, children, x, 1, pairs, z);
    free(memory);
    return 0;
}

/* dx [nodes, size] holds the gradients of all head vectors and, afterwards, those of the words in its first rows. */
EXPORT(heads_backward)(const real *gate, int64_t size, int64_t num_leaves, int64_t num_levels, int64_t num_nodes,
                       const int64_t *level_offset, const int64_t *children, const real *pairs, const real *z, real *dx,
                       real *dgate, real *dbias) {
    if (!are_trees(level_offset, num_levels, num_leaves, num_nodes, children)) return WRONG_INDICES;
    const long num_inner = num_nodes - num_leaves;
    const long rest = rest_size(size, 2 * size), outer = outer_size(num_inner, 2 * size);
    real *memory = allocate(rest + outer + num_inner * size + ROW_BLOCK * 2 * size);
    if (!memory) return NO_MEMORY;
    const Factor by_pair = factor_of_rows(gate, 2 * size, size, 2 * size, memory);
    real *packing = memory + rest, *dz = packing + outer, *dpairs = dz + num_inner * size;
    clear(dbias, size);
    for (long level = num_levels - 1; level >= 0; level--) FOR_EACH_BLOCK(level_offset, level, num_leaves) {
        for (long node = first; node < end; node++) {
            const real *x_L = pairs + 2 * node * size, *x_R = x_L + size, *z_t = z + node * size;
            const real *dx_t = dx + (num_leaves + node) * size;
            real *dx_L = dpairs + 2 * (node - first) * size, *dx_R = dx_L + size, *dz_t = dz + node * size;
            FOR_EACH_VECTOR(size) {
                const vector share = load_some(z_t + at, left), change = load_some(dx_t + at, left);
                const vector apart = load_some(x_L + at, left) - load_some(x_R + at, left);
                const vector dshare = change * apart * share * (1 - share);
                store_some(dz_t + at, dshare, left);
                store_some(dbias + at, load_some(dbias + at, left) + dshare, left);
                store_some(dx_L + at, change * share, left);
                store_some(dx_R + at, change * (1 - share), left);
            }
        }
        multiply_add(dz + first * size, size, end - first, by_pair, dpairs, 2 * size);
        for (long edge = 2 * first; edge < 2 * end; edge++)
            add_row(dx + children[edge] * size, dpairs + (edge - 2 * first) * size, size);
    }
    multiply_outer(dz, size, size, pairs, 2 * size, 2 * size, num_inner, dgate, 2 * size, 0, packing);
    free(memory);
    return 0;
}
