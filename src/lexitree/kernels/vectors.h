/* Vectors of numbers and the functions of gates, written once for every processor and for both precisions.

   A file that includes this is compiled once for each kind of processor (see compiling.py). `SUFFIX` ends the names of
   its functions, such as _f32_avx512, and DOUBLE_PRECISION says that numbers have 64 bits. The width of a vector follows
   from what the compiler may use. Arithmetic is never reordered: the same numbers give the same results, bit for bit. */
#ifndef LEXITREE_VECTORS_H
#define LEXITREE_VECTORS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "indices.h"

#define JOIN_NAMES(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_NAMES(name, suffix)
#define EXPORT(name) __attribute__((visibility("default"))) int JOIN(name, SUFFIX)
#define INLINE static inline __attribute__((always_inline))

#ifdef DOUBLE_PRECISION
typedef double real;
typedef int64_t bits;
#else
typedef float real;
typedef int32_t bits;
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define LANES ((long)(VECTOR_BYTES / sizeof(real)))

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
typedef bits bit_vector __attribute__((vector_size(VECTOR_BYTES)));
typedef real loose_vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));

INLINE vector load(const real *from) { return *(const loose_vector *)from; }
INLINE void store(real *to, vector values) { *(loose_vector *)to = values; }
INLINE vector repeat(real value) { return value - (vector){0}; }

/* The first `count` lanes only, fewer than a vector has; memory behind them is not touched. */
#if defined(__AVX512F__) && defined(DOUBLE_PRECISION)
INLINE vector load_first(const real *from, long count) {
    return (vector)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), from);
}
INLINE void store_first(real *to, vector values, long count) {
    _mm512_mask_storeu_pd(to, (__mmask8)((1u << count) - 1), (__m512d)values);
}
#elif defined(__AVX512F__)
INLINE vector load_first(const real *from, long count) {
    return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
}
INLINE void store_first(real *to, vector values, long count) {
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)values);
}
#else
INLINE vector load_first(const real *from, long count) {
    vector values = {0};
    for (long lane = 0; lane < count; lane++) values[lane] = from[lane];
    return values;
}
INLINE void store_first(real *to, vector values, long count) {
    for (long lane = 0; lane < count; lane++) to[lane] = values[lane];
}
#endif

/* As many lanes as are left of a row. */
INLINE vector load_some(const real *from, long left) { return left >= LANES ? load(from) : load_first(from, left); }
INLINE void store_some(real *to, vector values, long left) {
    if (left >= LANES)
        store(to, values);
    else
        store_first(to, values, left);
}

/* Runs a statement for every vector of a row: `at` is its first number, `left` how many numbers are left. */
#define FOR_EACH_VECTOR(size) for (long at = 0, left = (size); at < (size); at += LANES, left -= LANES)

INLINE vector choose(bit_vector is_first, vector first, vector second) {
    return (vector)((is_first & (bit_vector)first) | (~is_first & (bit_vector)second));
}

/* e^x - 1 as 2^n (e^r - 1) + (2^n - 1) with |r| <= log(2) / 2, so that small x keep all of their digits.
   What lies beyond the range is as good as infinite to the functions below. NaN stays NaN. */
#ifdef DOUBLE_PRECISION
#define LIMIT 700.0
#define ROUNDER 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to whole numbers, in the lowest bits */
#define LOG2_HIGH 0.693147180369123816490
#define LOG2_LOW 1.90821492927058770002e-10
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
#else
#define LIMIT 85.0f
#define ROUNDER 12582912.0f /* 1.5 * 2^23 */
#define LOG2_HIGH 0.693359375f
#define LOG2_LOW -2.12194440e-4f
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#endif

INLINE vector exp_minus_1(vector x) {
    const vector limit = repeat((real)LIMIT);
    x = choose(x > limit, limit, x);
    x = choose(x < -limit, -limit, x);
    const vector shifted = x * (real)1.44269504088896340736 + (real)ROUNDER;
    const vector n = shifted - (real)ROUNDER;
    const vector r = (x - n * (real)LOG2_HIGH) - n * (real)LOG2_LOW;
#ifdef DOUBLE_PRECISION
    static const real factors[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                   1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
                                   1.0 / 6,          0.5,             1.0};
#else
    static const real factors[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f};
#endif
    vector sum = repeat(factors[0]);
#pragma GCC unroll 16
    for (unsigned k = 1; k < sizeof factors / sizeof *factors; k++) sum = sum * r + factors[k];
    const bit_vector exponent = (bit_vector)shifted - (bit_vector)repeat((real)ROUNDER);
    const vector power = (vector)((exponent + EXPONENT_BIAS) << MANTISSA_BITS);
    return power * (sum * r) + (power - 1);
}

INLINE vector sigmoid(vector x) { return 1 / (2 + exp_minus_1(-x)); }
INLINE vector hyperbolic_tangent(vector x) {
    const vector power = exp_minus_1(x + x);
    return power / (power + 2);
}

INLINE void copy_row(real *to, const real *from, long size) { memcpy(to, from, (size_t)size * sizeof(real)); }
INLINE void clear(real *to, long size) { memset(to, 0, (size_t)size * sizeof(real)); }
INLINE void add_row(real *to, const real *from, long size) {
    FOR_EACH_VECTOR(size) { store_some(to + at, load_some(to + at, left) + load_some(from + at, left), left); }
}

#endif
