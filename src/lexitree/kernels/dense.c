/* A dense layer, forwards only: out = x W^T + b, and what is negative becomes 0 if it has a ReLU. Returns 0. */
#include "products.h"

/* Packs the weight [columns, size] and the bias [columns], once for many rows. `packed` has room for size + 1 rows of
   columns, rounded up to a multiple of 16. */
EXPORT(dense_pack)(const real *weight, const real *bias, int64_t size, int64_t columns, real *packed) {
    pack_transposed(packed_factor(packed, size, columns), 0, weight, size, size);
    copy_row(packed + packed_size(size, columns), bias, columns);
    return 0;
}

/* Fills out [rows, columns] from x [rows, size]. */
EXPORT(dense_forward)(const real *x, real *packed, int64_t rows, int64_t size, int64_t columns, int64_t has_relu,
                      real *out) {
    multiply(x, size, rows, packed_factor(packed, size, columns), packed + packed_size(size, columns), 0, out, columns);
    const vector zero = {0};
    if (has_relu) FOR_EACH_VECTOR(rows * columns) {
        const vector value = load_some(out + at, left);
        store_some(out + at, choose(value < zero, zero, value), left);
    }
    return 0;
}
