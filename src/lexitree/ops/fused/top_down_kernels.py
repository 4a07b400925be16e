"""The kernels of the top-down recurrence, forwards and backwards: all levels from the roots to the leaves."""

from __future__ import annotations

import triton
import triton.language as tl

from lexitree.ops.fused.device import (
    add_product,
    cut_tile,
    load_rows,
    squash,
    squash_signed,
    store_rows,
    wait_for_all,
)


@triton.jit
def top_down_forward(
    inputs, gates, h, c, tanh_c, weight_h, weight_c, peephole,
    down_order, down_parent, depth_offset, counts, arrivals,
    HIDDEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Rows of a tile are children of one side, whose parents are one depth above."""
    num_levels = tl.load(counts + 3)
    num_roots = tl.load(depth_offset)
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    rounds = 1
    _roots_forward(inputs, gates, h, c, tanh_c, down_order, num_roots, HIDDEN, ROWS, COLUMNS)
    rounds = wait_for_all(arrivals, rounds)
    for level in range(num_levels):
        start = tl.load(depth_offset + level)
        end = tl.load(depth_offset + level + 1)
        tiles = tl.cdiv((end - start) // 2, ROWS)
        for item in range(tl.program_id(0), tiles * 8 * blocks, tl.num_programs(0)):
            gate = item % 4
            side = item // 4 % 2
            place, column, node_mask, column_mask, mask = _cut_side(
                item // 8 // blocks, item // 8 % blocks, side, start, end, HIDDEN, ROWS, COLUMNS
            )
            node = tl.load(down_order + place, mask=node_mask, other=0)
            parent = _load_parent(down_order, down_parent, place, num_roots, node_mask)
            total = load_rows(inputs, node, gate * HIDDEN + column, mask, 4 * HIDDEN)
            total = add_product(
                total, h, parent, node_mask, weight_h + (4 * side + gate) * HIDDEN * HIDDEN, column, column_mask,
                HIDDEN, 1, HIDDEN, HIDDEN, INNER, PRECISION,
            )  # fmt: skip
            if gate < 2:
                total = add_product(
                    total, c, parent, node_mask, weight_c + (2 * side + gate) * HIDDEN * HIDDEN, column, column_mask,
                    HIDDEN, 1, HIDDEN, HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                total = squash(total)
            elif gate == 2:
                total = squash_signed(total)
            store_rows(gates, node, gate * HIDDEN + column, total, mask, 4 * HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
        for item in range(tl.program_id(0), tl.cdiv(end - start, ROWS) * blocks, tl.num_programs(0)):
            place, column, node_mask, _column_mask, mask = cut_tile(
                item // blocks, item % blocks, start, end, HIDDEN, ROWS, COLUMNS
            )
            node = tl.load(down_order + place, mask=node_mask, other=0)
            parent = _load_parent(down_order, down_parent, place, num_roots, node_mask)
            cell = _new_cell(gates, c, node, parent, column, mask, HIDDEN)
            store_rows(c, node, column, cell, mask, HIDDEN)
            store_rows(tanh_c, node, column, squash_signed(cell), mask, HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
        # The output gate sees the whole of the new cell, so it has to wait for it.
        for item in range(tl.program_id(0), tiles * 2 * blocks, tl.num_programs(0)):
            side = item % 2
            place, column, node_mask, column_mask, mask = _cut_side(
                item // 2 // blocks, item // 2 % blocks, side, start, end, HIDDEN, ROWS, COLUMNS
            )
            node = tl.load(down_order + place, mask=node_mask, other=0)
            output = load_rows(gates, node, 3 * HIDDEN + column, mask, 4 * HIDDEN)
            squashed = load_rows(tanh_c, node, column, mask, HIDDEN)
            output = add_product(
                output, c, node, node_mask, peephole + side * HIDDEN * HIDDEN, column, column_mask,
                HIDDEN, 1, HIDDEN, HIDDEN, INNER, PRECISION,
            )  # fmt: skip
            output = squash(output)
            store_rows(gates, node, 3 * HIDDEN + column, output, mask, 4 * HIDDEN)
            store_rows(h, node, column, output * squashed, mask, HIDDEN)
        rounds = wait_for_all(arrivals, rounds)


@triton.jit
def _cut_side(tile, block, side, start, end, HIDDEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A tile of which the rows are the children of one side: below the roots, left and right ones alternate."""
    pair, column, _row_mask, column_mask, _mask = cut_tile(tile, block, 0, end, HIDDEN, ROWS, COLUMNS)
    place = start + 2 * pair + side
    row_mask = place < end
    return place, column, row_mask, column_mask, row_mask[:, None] & column_mask[None, :]


@triton.jit
def _load_parent(down_order, down_parent, place, num_roots, mask):
    """The parent of the node at each place of the down order."""
    above = tl.load(down_parent + place - num_roots, mask=mask, other=0)
    return tl.load(down_order + above, mask=mask, other=0)


@triton.jit
def _new_cell(gates, c, node, parent, column, mask, HIDDEN: tl.constexpr):
    """f * c_p + i * g"""
    f = load_rows(gates, node, column, mask, 4 * HIDDEN)
    i = load_rows(gates, node, HIDDEN + column, mask, 4 * HIDDEN)
    g = load_rows(gates, node, 2 * HIDDEN + column, mask, 4 * HIDDEN)
    return f * load_rows(c, parent, column, mask, HIDDEN) + i * g


@triton.jit
def _roots_forward(
    inputs, gates, h, c, tanh_c, down_order, num_roots,
    HIDDEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A root has no parent: no forget gate and no peephole."""
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    for item in range(tl.program_id(0), tl.cdiv(num_roots, ROWS) * blocks, tl.num_programs(0)):
        place, column, node_mask, _column_mask, mask = cut_tile(
            item // blocks, item % blocks, 0, num_roots, HIDDEN, ROWS, COLUMNS
        )
        node = tl.load(down_order + place, mask=node_mask, other=0)
        i = squash(load_rows(inputs, node, HIDDEN + column, mask, 4 * HIDDEN))
        g = squash_signed(load_rows(inputs, node, 2 * HIDDEN + column, mask, 4 * HIDDEN))
        o = squash(load_rows(inputs, node, 3 * HIDDEN + column, mask, 4 * HIDDEN))
        cell = i * g
        squashed = squash_signed(cell)
        store_rows(gates, node, HIDDEN + column, i, mask, 4 * HIDDEN)
        store_rows(gates, node, 2 * HIDDEN + column, g, mask, 4 * HIDDEN)
        store_rows(gates, node, 3 * HIDDEN + column, o, mask, 4 * HIDDEN)
        store_rows(c, node, column, cell, mask, HIDDEN)
        store_rows(tanh_c, node, column, squashed, mask, HIDDEN)
        store_rows(h, node, column, o * squashed, mask, HIDDEN)


@triton.jit
def top_down_backward(
    dh, dc, dgates, gates, c, tanh_c, weight_h, weight_c, peephole,
    down_order, down_parent, depth_offset, counts, arrivals,
    HIDDEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """`dc` holds, for a node, what its children gave; once the node is done, the whole gradient of its cell."""
    num_levels = tl.load(counts + 3)
    num_roots = tl.load(depth_offset)
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    rounds = 1
    # The output gates' gradients from above alone, final at the leaves; each level mends those of the parents.
    num_nodes = tl.load(depth_offset + num_levels)
    for item in range(tl.program_id(0), tl.cdiv(num_nodes, ROWS) * blocks, tl.num_programs(0)):
        place, column, node_mask, _column_mask, mask = cut_tile(
            item // blocks, item % blocks, 0, num_nodes, HIDDEN, ROWS, COLUMNS
        )
        node = tl.load(down_order + place, mask=node_mask, other=0)
        dstate = load_rows(dh, node, column, mask, HIDDEN)
        _output_gradient(dstate, dgates, gates, tanh_c, node, column, mask, HIDDEN)
    rounds = wait_for_all(arrivals, rounds)
    for step in range(num_levels):
        level = num_levels - 1 - step
        start = tl.load(depth_offset + level)
        end = tl.load(depth_offset + level + 1)
        tiles = tl.cdiv((end - start) // 2, ROWS)
        for item in range(tl.program_id(0), tiles * 2 * blocks, tl.num_programs(0)):
            side = item % 2
            place, column, node_mask, column_mask, mask = _cut_side(
                item // 2 // blocks, item // 2 % blocks, side, start, end, HIDDEN, ROWS, COLUMNS
            )
            node = tl.load(down_order + place, mask=node_mask, other=0)
            parent = _load_parent(down_order, down_parent, place, num_roots, node_mask)
            dcell = load_rows(dc, node, column, mask, HIDDEN)
            dcell = add_product(
                dcell, dgates + 3 * HIDDEN, node, node_mask, peephole + side * HIDDEN * HIDDEN, column, column_mask,
                4 * HIDDEN, HIDDEN, 1, HIDDEN, INNER, PRECISION,
            )  # fmt: skip
            f = load_rows(gates, node, column, mask, 4 * HIDDEN)
            i = load_rows(gates, node, HIDDEN + column, mask, 4 * HIDDEN)
            g = load_rows(gates, node, 2 * HIDDEN + column, mask, 4 * HIDDEN)
            o = load_rows(gates, node, 3 * HIDDEN + column, mask, 4 * HIDDEN)
            squashed = load_rows(tanh_c, node, column, mask, HIDDEN)
            dstate = load_rows(dh, node, column, mask, HIDDEN)
            dcell += dstate * o * (1.0 - squashed * squashed)
            df = dcell * load_rows(c, parent, column, mask, HIDDEN) * f * (1.0 - f)
            store_rows(dc, node, column, dcell, mask, HIDDEN)
            store_rows(dgates, node, column, df, mask, 4 * HIDDEN)
            store_rows(dgates, node, HIDDEN + column, dcell * g * i * (1.0 - i), mask, 4 * HIDDEN)
            store_rows(dgates, node, 2 * HIDDEN + column, dcell * i * (1.0 - g * g), mask, 4 * HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
        # What the parents get, state or cell, from both of their children.
        for item in range(tl.program_id(0), tiles * 2 * blocks, tl.num_programs(0)):
            place, column, node_mask, column_mask, mask = _cut_side(
                item // 2 // blocks, item // 2 % blocks, 0, start, end, HIDDEN, ROWS, COLUMNS
            )
            parent = _load_parent(down_order, down_parent, place, num_roots, node_mask)
            left = tl.load(down_order + place, mask=node_mask, other=0)
            right = tl.load(down_order + place + 1, mask=node_mask, other=0)
            if item % 2 == 0:
                total = load_rows(dh, parent, column, mask, HIDDEN)
                total = add_product(
                    total, dgates, left, node_mask, weight_h, column, column_mask,
                    4 * HIDDEN, HIDDEN, 1, 4 * HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                total = add_product(
                    total, dgates, right, node_mask, weight_h + 4 * HIDDEN * HIDDEN, column, column_mask,
                    4 * HIDDEN, HIDDEN, 1, 4 * HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                store_rows(dh, parent, column, total, mask, HIDDEN)
                _output_gradient(total, dgates, gates, tanh_c, parent, column, mask, HIDDEN)
            else:
                total = load_rows(dc, left, column, mask, HIDDEN)
                total *= load_rows(gates, left, column, mask, 4 * HIDDEN)
                kept = load_rows(dc, right, column, mask, HIDDEN)
                total += kept * load_rows(gates, right, column, mask, 4 * HIDDEN)
                total = add_product(
                    total, dgates, left, node_mask, weight_c, column, column_mask,
                    4 * HIDDEN, HIDDEN, 1, 2 * HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                total = add_product(
                    total, dgates, right, node_mask, weight_c + 2 * HIDDEN * HIDDEN, column, column_mask,
                    4 * HIDDEN, HIDDEN, 1, 2 * HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                store_rows(dc, parent, column, total, mask, HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
    _roots_backward(dh, dc, dgates, gates, tanh_c, down_order, num_roots, HIDDEN, ROWS, COLUMNS)


@triton.jit
def _output_gradient(dh, dgates, gates, tanh_c, node, column, mask, HIDDEN: tl.constexpr):
    """dh * tanh(c) * o * (1 - o)"""
    o = load_rows(gates, node, 3 * HIDDEN + column, mask, 4 * HIDDEN)
    do = dh * load_rows(tanh_c, node, column, mask, HIDDEN) * o * (1.0 - o)
    store_rows(dgates, node, 3 * HIDDEN + column, do, mask, 4 * HIDDEN)


@triton.jit
def _roots_backward(
    dh, dc, dgates, gates, tanh_c, down_order, num_roots,
    HIDDEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    for item in range(tl.program_id(0), tl.cdiv(num_roots, ROWS) * blocks, tl.num_programs(0)):
        place, column, node_mask, _column_mask, mask = cut_tile(
            item // blocks, item % blocks, 0, num_roots, HIDDEN, ROWS, COLUMNS
        )
        node = tl.load(down_order + place, mask=node_mask, other=0)
        i = load_rows(gates, node, HIDDEN + column, mask, 4 * HIDDEN)
        g = load_rows(gates, node, 2 * HIDDEN + column, mask, 4 * HIDDEN)
        o = load_rows(gates, node, 3 * HIDDEN + column, mask, 4 * HIDDEN)
        squashed = load_rows(tanh_c, node, column, mask, HIDDEN)
        dstate = load_rows(dh, node, column, mask, HIDDEN)
        dcell = load_rows(dc, node, column, mask, HIDDEN) + dstate * o * (1.0 - squashed * squashed)
        store_rows(dgates, node, HIDDEN + column, dcell * g * i * (1.0 - i), mask, 4 * HIDDEN)
        store_rows(dgates, node, 2 * HIDDEN + column, dcell * i * (1.0 - g * g), mask, 4 * HIDDEN)
