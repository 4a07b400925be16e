/* Matrix products, for levels of a few nodes as well as for wide ones.

   A tile of the result, up to TILE_ROWS rows of one panel of columns, stays in registers while its sum runs over the inner
   dimension. The second factor is read panel by panel: rows of a weight as they stand, transposed weights from a copy that
   is packed once and serves all levels. So a narrow level streams the weights once, and a wide one runs at the speed of
   the processor's multipliers. A sum is taken in the order of the inner dimension, whatever the number of rows: a tree has
   the same result in any company. */
#ifndef LEXITREE_PRODUCTS_H
#define LEXITREE_PRODUCTS_H

#include "vectors.h"

#if defined(__AVX512F__) || defined(__aarch64__)
#define PANEL 4 /* 24 sums, 4 columns and a factor in 32 registers */
#else
#define PANEL 2 /* 12 sums, 2 columns and a factor in 16 registers */
#endif
#define TILE_ROWS 6
#define PANEL_COLUMNS (PANEL * LANES)
#define DEPTH_BLOCK 256 /* rows that a weight's gradient is summed over at once: they stay in the second cache */
#define ROW_BLOCK 96    /* nodes that are computed at once: their gates stay in the second cache */

#define ALIGNMENT 64

INLINE long least(long first, long second) { return first < second ? first : second; }
INLINE long up_to_lanes(long columns) { return (columns + LANES - 1) / LANES * LANES; }

/* Runs a block for the nodes of a level, from offset[level] on, at most ROW_BLOCK of them at once: from `first` to `end`,
   counted from `origin`. The nodes of a level do not depend on each other. */
#define FOR_EACH_BLOCK(offset, level, origin)                                                                            \
    for (long first = (offset)[level] - (origin), last = (offset)[(level) + 1] - (origin),                               \
              end = least(first + ROW_BLOCK, last);                                                                      \
         first < last; first = end, end = least(first + ROW_BLOCK, last))

static real *allocate(long count) {
    const size_t bytes = ((size_t)(count > 0 ? count : 1) * sizeof(real) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, bytes);
}

/* A second factor. Whole panels are read from `rows`, `step` apart, if that is not null; what `panels` holds, the last
   narrower panel or all of them one after the other, is packed: row after row without a gap. */
typedef struct {
    const real *rows;
    long step;
    real *panels;
    long depth, columns;
} Factor;

INLINE long packed_size(long depth, long columns) { return depth * up_to_lanes(columns); }
INLINE long rest_of(long columns) { return columns % PANEL_COLUMNS; }
INLINE long rest_size(long depth, long columns) { return packed_size(depth, rest_of(columns)); }

/* Swaps rows and columns of LANES vectors, by halves of halves. */
INLINE void transpose_square(vector square[]) {
#if defined(__clang__) /* it shuffles by constants only */
    vector turned[LANES];
    for (long row = 0; row < LANES; row++)
        for (long lane = 0; lane < LANES; lane++) turned[row][lane] = square[lane][row];
    memcpy(square, turned, sizeof turned);
#else
#pragma GCC unroll 4
    for (long far = 1; far < LANES; far *= 2) {
        bit_vector low, high;
#pragma GCC unroll 16
        for (long lane = 0; lane < LANES; lane++) {
            low[lane] = lane & far ? LANES + lane - far : lane;
            high[lane] = lane & far ? LANES + lane : lane + far;
        }
#pragma GCC unroll 16
        for (long row = 0; row < LANES; row++)
            if (!(row & far)) {
                const vector above = square[row], below = square[row + far];
                square[row] = __builtin_shuffle(above, below, low);
                square[row + far] = __builtin_shuffle(above, below, high);
            }
    }
#endif
}

/* Packs the transposed rows of a weight: column c of the factor is row c of the weight. With `first_row`, they become the
   rows from there on of the factor, so that weights can stand below each other. */
static void pack_transposed(Factor factor, long first_row, const real *weight, long step, long depth) {
    for (long column = 0; column < factor.columns; column += LANES) {
        const long first = column / PANEL_COLUMNS * PANEL_COLUMNS, known = least(LANES, factor.columns - column);
        const long wide = least(PANEL_COLUMNS, up_to_lanes(factor.columns - first));
        const real *from = weight + column * step;
        real *to = factor.panels + first * factor.depth + first_row * wide + column - first;
        const long whole = known == LANES && depth >= LANES ? depth : 0;
        for (long next = 0; next < whole; next += LANES) {
            const long row = least(next, depth - LANES); /* the last square may overlap the one before */
            vector square[LANES];
#pragma GCC unroll 16
            for (long k = 0; k < LANES; k++) square[k] = load(from + k * step + row);
            transpose_square(square);
#pragma GCC unroll 16
            for (long k = 0; k < LANES; k++) store(to + (row + k) * wide, square[k]);
        }
        for (long row = whole; row < depth; row++)
            for (long k = 0; k < LANES; k++) to[row * wide + k] = k < known ? from[k * step + row] : 0;
    }
}

/* A factor whose packed panels lie in `memory`, which has room for `packed_size`; it is to be filled. */
INLINE Factor packed_factor(real *memory, long depth, long columns) { return (Factor){NULL, 0, memory, depth, columns}; }

/* Rows as they stand; `memory` has room for `rest_size`, the last columns. */
static Factor factor_of_rows(const real *rows, long step, long depth, long columns, real *memory) {
    const long rest = rest_of(columns), wide = up_to_lanes(rest);
    const real *from = rows + columns - rest;
    for (long row = 0; rest && row < depth; row++)
        FOR_EACH_VECTOR(rest) store(memory + row * wide + at, load_some(from + row * step + at, left));
    return (Factor){rows, step, memory, depth, columns};
}

/* What a tile sums up: out = start + left factor. Rows are `..._step` apart, those of `start` 0 if all have the same one;
   a null start stands for zeros. The positions of a row of the left factor are `stride` apart. */
typedef struct {
    const real *left;
    long left_step, stride, depth;
    const real *panel;
    long panel_step;
    const real *start;
    long start_step;
    real *out;
    long out_step, columns;
} Sum;

INLINE void run_tile(const int rows, const int width, const Sum *sum) {
    vector sums[TILE_ROWS][PANEL];
    const long last = sum->columns - (width - 1) * LANES; /* how many columns the last vector has */
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
        for (int column = 0; column < width; column++) {
            const real *from = sum->start + row * sum->start_step + column * LANES;
            sums[row][column] = (vector){0};
            if (sum->start) sums[row][column] = column < width - 1 ? load(from) : load_some(from, last);
        }
    const real *left[TILE_ROWS], *panel = sum->panel;
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) left[row] = sum->left + row * sum->left_step;
    const long stride = sum->stride, panel_step = sum->panel_step;
    for (long k = sum->depth; k > 0; k--) {
        vector factors[PANEL];
#pragma GCC unroll 4
        for (int column = 0; column < width; column++) factors[column] = load(panel + column * LANES);
#pragma GCC unroll 8
        for (int row = 0; row < rows; row++) {
#pragma GCC unroll 4
            for (int column = 0; column < width; column++) sums[row][column] += *left[row] * factors[column];
            left[row] += stride;
        }
        panel += panel_step;
    }
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
        for (int column = 0; column < width; column++) {
            real *to = sum->out + row * sum->out_step + column * LANES;
            if (column < width - 1)
                store(to, sums[row][column]);
            else
                store_some(to, sums[row][column], last);
        }
}

typedef void (*Tile)(const Sum *sum);
#define TILE(rows, width)                                                                                                \
    static void tile_##rows##_##width(const Sum *sum) { run_tile(rows, width, sum); }
#if PANEL == 4
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4)
#define NAMES(rows) {tile_##rows##_1, tile_##rows##_2, tile_##rows##_3, tile_##rows##_4}
#else
#define TILES(rows) TILE(rows, 1) TILE(rows, 2)
#define NAMES(rows) {tile_##rows##_1, tile_##rows##_2}
#endif
TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6)
static const Tile tiles[TILE_ROWS][PANEL] = {NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6)};

/* Chooses the panel that begins with a column. */
INLINE void choose_panel(Sum *sum, Factor factor, long first) {
    const int is_packed = !factor.rows || factor.columns - first < PANEL_COLUMNS;
    sum->columns = least(PANEL_COLUMNS, factor.columns - first);
    sum->panel = is_packed ? factor.panels + (factor.rows ? 0 : first * factor.depth) : factor.rows + first;
    sum->panel_step = is_packed ? up_to_lanes(sum->columns) : factor.step;
}

INLINE void sum_up(const Sum *sum, long rows) { tiles[rows - 1][(sum->columns - 1) / LANES](sum); }

static void multiply_block(const real *left, long left_step, long rows, Factor factor, const real *start, long start_step,
                           real *out, long out_step) {
    Sum sum = {.left_step = left_step, .stride = 1, .depth = factor.depth, .start_step = start_step, .out_step = out_step};
    /* Rows are divided evenly among tiles: one of a single row would wait for memory. */
    const long num_tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (long first = 0; first < factor.columns; first += PANEL_COLUMNS) {
        choose_panel(&sum, factor, first);
        for (long tile = 0, row = 0, next; tile < num_tiles; tile++, row = next) {
            next = rows * (tile + 1) / num_tiles;
            sum.left = left + row * left_step;
            sum.start = start ? start + row * start_step + first : NULL;
            sum.out = out + row * out_step + first;
            sum_up(&sum, next - row);
        }
    }
}

/* out = start + left factor; the rows of a result that is added to are its own start. */
static void multiply(const real *left, long left_step, long rows, Factor factor, const real *start, long start_step,
                     real *out, long out_step) {
    for (; rows > ROW_BLOCK; rows -= ROW_BLOCK) {
        multiply_block(left, left_step, ROW_BLOCK, factor, start, start_step, out, out_step);
        left += ROW_BLOCK * left_step;
        out += ROW_BLOCK * out_step;
        if (start) start += ROW_BLOCK * start_step;
    }
    multiply_block(left, left_step, rows, factor, start, start_step, out, out_step);
}

INLINE void multiply_add(const real *left, long left_step, long rows, Factor factor, real *out, long out_step) {
    multiply(left, left_step, rows, factor, out, out_step, out, out_step);
}

/* out = left^T right, summed over the rows of both, or added to out if it `adds`: the gradient of a weight. `memory` has
   room for `outer_size`. */
INLINE long outer_size(long depth, long right_columns) {
    depth = least(depth, DEPTH_BLOCK);
    return rest_size(depth, right_columns) + TILE_ROWS * depth;
}
static void multiply_outer(const real *left, long left_step, long left_columns, const real *right, long right_step,
                           long right_columns, long depth, real *out, long out_step, int adds, real *memory) {
    if (depth == 0 && !adds)
        for (long row = 0; row < left_columns; row++) clear(out + row * out_step, right_columns);
    for (long done = 0; done < depth; done += DEPTH_BLOCK) {
        const Factor factor = factor_of_rows(right + done * right_step, right_step, least(DEPTH_BLOCK, depth - done),
                                             right_columns, memory);
        Sum sum = {.left_step = 1, .stride = left_step, .depth = factor.depth, .start_step = out_step, .out_step = out_step};
        for (long row = 0; row < left_columns; row += TILE_ROWS) {
            const long rows = least(TILE_ROWS, left_columns - row);
            sum.left = left + done * left_step + row;
            if (PANEL == 2) { /* narrow panels read the left factor often: better from neighbouring numbers */
                real *near = memory + rest_size(factor.depth, right_columns);
                for (long k = 0; k < factor.depth; k++) copy_row(near + k * rows, sum.left + k * left_step, rows);
                sum.stride = rows;
                sum.left = near;
            }
            for (long first = 0; first < right_columns; first += PANEL_COLUMNS) {
                choose_panel(&sum, factor, first);
                sum.out = out + row * out_step + first;
                sum.start = adds || done > 0 ? sum.out : NULL;
                sum_up(&sum, rows);
            }
        }
    }
}

#endif
