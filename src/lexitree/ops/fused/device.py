"""What the kernels share: a barrier across the whole grid, tiles of gathered products, sigmoid and tanh.

All programs of a kernel run at the same time and walk the levels together. What one level writes the next one reads,
so every phase ends at a barrier, and states are read past the first-level cache, which does not see the writes of
other multiprocessors.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def wait_for_all(arrivals, rounds):
    """Wait until every program has come here `rounds` times; what they wrote before is visible after."""
    tl.debug_barrier()
    tl.atomic_add(arrivals, 1, sem="acq_rel")
    everyone = rounds * tl.num_programs(0)
    while tl.atomic_add(arrivals, 0, sem="acquire") < everyone:
        pass
    return rounds + 1


@triton.jit
def exponential(x):
    """e^x to about one rounding of float32; what the hardware offers is an approximation."""
    x = tl.clamp(x, -87.0, 88.0)
    whole = tl.floor(x * 1.4426950408889634 + 0.5)
    # x - whole * ln 2, with ln 2 in two parts so that nothing is lost.
    rest = x - whole * 0.693145751953125
    rest = rest - whole * 1.42860682030941723e-6
    poly = 0.000198910406
    poly = poly * rest + 0.00139262552
    poly = poly * rest + 0.00833331091
    poly = poly * rest + 0.0416665542
    poly = poly * rest + 0.166666667
    poly = poly * rest + 0.5
    return (rest * rest * poly + rest + 1.0) * tl.exp2(whole)


@triton.jit
def squash(x):
    """The logistic sigmoid."""
    return tl.div_rn(1.0, 1.0 + exponential(-x))


@triton.jit
def squash_signed(x):
    """The hyperbolic tangent, to float32's precision for small arguments as well."""
    magnitude = tl.abs(x)
    e = exponential(-2.0 * magnitude)
    large = tl.div_rn(1.0 - e, 1.0 + e)
    # Near zero the quotient cancels: an odd polynomial, fitted on [0, 0.6], stands in.
    s = x * x
    poly = -0.00600203
    poly = poly * s + 0.02089408
    poly = poly * s - 0.05381536
    poly = poly * s + 0.13332334
    poly = poly * s - 0.33333315
    small = magnitude + magnitude * (s * poly)
    value = tl.where(magnitude < 0.6, small, large)
    return tl.where(x < 0.0, -value, value)


@triton.jit
def cut_tile(tile, block, start, end, SIZE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The rows from `start` to `end` and the columns of one tile, with their masks, each alone and together."""
    row = start + tile * ROWS + tl.arange(0, ROWS)
    column = block * COLUMNS + tl.arange(0, COLUMNS)
    row_mask = row < end
    column_mask = column < SIZE
    return row, column, row_mask, column_mask, row_mask[:, None] & column_mask[None, :]


@triton.jit
def load_children(children, inner, mask):
    """The left and the right child of each inner node."""
    left = tl.load(children + 2 * inner, mask=mask, other=0)
    right = tl.load(children + 2 * inner + 1, mask=mask, other=0)
    return left, right


@triton.jit
def load_rows(source, rows, columns, mask, STRIDE: tl.constexpr):
    """source[rows, columns] as float32, zero where masked, past the first-level cache."""
    at = source + rows[:, None] * STRIDE + columns[None, :]
    return tl.load(at, mask=mask, other=0.0, cache_modifier=".cg").to(tl.float32)


@triton.jit
def store_rows(target, rows, columns, values, mask, STRIDE: tl.constexpr):
    tl.store(
        target + rows[:, None] * STRIDE + columns[None, :], values.to(target.dtype.element_ty), mask=mask
    )


@triton.jit
def add_product(
    total,
    source,
    rows,
    row_mask,
    weight,
    columns,
    column_mask,
    SOURCE_STRIDE: tl.constexpr,
    WEIGHT_ROW: tl.constexpr,
    WEIGHT_COLUMN: tl.constexpr,
    SIZE: tl.constexpr,
    INNER: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """total + source[rows, :SIZE] @ weight[:SIZE, columns]; the strides of the weight make it a transpose or not."""
    for first in range(0, SIZE, INNER):
        k = first + tl.arange(0, INNER)
        inside = k < SIZE
        at = source + rows[:, None] * SOURCE_STRIDE + k[None, :]
        left = tl.load(at, mask=row_mask[:, None] & inside[None, :], other=0.0, cache_modifier=".cg")
        at = weight + k[:, None] * WEIGHT_ROW + columns[None, :] * WEIGHT_COLUMN
        right = tl.load(at, mask=inside[:, None] & column_mask[None, :], other=0.0)
        left = left.to(right.dtype)
        if PRECISION == "tf32":
            left = round_to_tf32(left)
            right = round_to_tf32(right)
        part = tl.dot(left, right, input_precision=PRECISION)
        # The matrix units cut digits off where they add up: the parts are added outside of them, rounded. The mask
        # changes no number; without it the compiler would move the sum back inside.
        total += tl.where(row_mask[:, None] & column_mask[None, :], part, 0.0)
    return total


@triton.jit
def round_to_tf32(x):
    """The nearest number of 10 bits; the matrix units by themselves would cut the rest off."""
    if x.dtype == tl.float32:
        x = ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
    return x
