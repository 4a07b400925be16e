"""The kernels of the bottom-up recurrence, forwards and backwards: all levels from the leaves to the roots."""

from __future__ import annotations

import triton
import triton.language as tl

from lexitree.ops.fused.device import (
    add_product,
    cut_tile,
    load_children,
    load_rows,
    squash,
    squash_signed,
    store_rows,
    wait_for_all,
)


@triton.jit
def bottom_up_forward(
    inputs, leaf_gates, gates, h, c, tanh_c, weight_h, weight_c, peephole, bias,
    children, level_offset, counts, arrivals,
    HIDDEN: tl.constexpr, IS_LEXICAL: tl.constexpr, HAS_PEEPHOLES: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    num_levels = tl.load(counts + 2)
    num_leaves = tl.load(level_offset)
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    rounds = 1
    _leaves_forward(
        inputs, leaf_gates, h, c, tanh_c, bias, tl.load(counts), HIDDEN, IS_LEXICAL, ROWS, COLUMNS
    )
    rounds = wait_for_all(arrivals, rounds)
    for level in range(num_levels):
        start = tl.load(level_offset + level)
        end = tl.load(level_offset + level + 1)
        tiles = tl.cdiv(end - start, ROWS)
        # One gate of one block of columns a program.
        for item in range(tl.program_id(0), tiles * 5 * blocks, tl.num_programs(0)):
            gate = item % 5
            node, column, node_mask, column_mask, mask = cut_tile(
                item // 5 // blocks, item // 5 % blocks, start, end, HIDDEN, ROWS, COLUMNS
            )
            inner = node - num_leaves
            left, right = load_children(children, inner, node_mask)
            total = tl.zeros((ROWS, COLUMNS), tl.float32)
            total += tl.load(bias + gate * HIDDEN + column, mask=column_mask, other=0.0).to(tl.float32)[
                None, :
            ]
            if IS_LEXICAL:
                # Both forget gates take the one input column f.
                input_column = tl.maximum(gate - 1, 0) * HIDDEN + column
                total += load_rows(inputs, node, input_column, mask, 4 * HIDDEN)
            to_gate = weight_h + gate * HIDDEN * 2 * HIDDEN
            total = add_product(
                total, h, left, node_mask, to_gate, column, column_mask,
                HIDDEN, 1, 2 * HIDDEN, HIDDEN, INNER, PRECISION,
            )  # fmt: skip
            total = add_product(
                total, h, right, node_mask, to_gate + HIDDEN, column, column_mask,
                HIDDEN, 1, 2 * HIDDEN, HIDDEN, INNER, PRECISION,
            )  # fmt: skip
            if HAS_PEEPHOLES:  # noqa: SIM102 - decided when compiled, the other when run
                if gate < 3:
                    to_gate = weight_c + gate * HIDDEN * 2 * HIDDEN
                    total = add_product(
                        total, c, left, node_mask, to_gate, column, column_mask,
                        HIDDEN, 1, 2 * HIDDEN, HIDDEN, INNER, PRECISION,
                    )  # fmt: skip
                    total = add_product(
                        total, c, right, node_mask, to_gate + HIDDEN, column, column_mask,
                        HIDDEN, 1, 2 * HIDDEN, HIDDEN, INNER, PRECISION,
                    )  # fmt: skip
            if gate < 3:
                total = squash(total)
            elif gate == 3:
                total = squash_signed(total)
            store_rows(gates, inner, gate * HIDDEN + column, total, mask, 5 * HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
        for item in range(tl.program_id(0), tiles * blocks, tl.num_programs(0)):
            node, column, node_mask, _column_mask, mask = cut_tile(
                item // blocks, item % blocks, start, end, HIDDEN, ROWS, COLUMNS
            )
            inner = node - num_leaves
            left, right = load_children(children, inner, node_mask)
            cell = _new_cell(gates, c, inner, left, right, column, mask, HIDDEN)
            squashed = squash_signed(cell)
            store_rows(c, node, column, cell, mask, HIDDEN)
            store_rows(tanh_c, node, column, squashed, mask, HIDDEN)
            if not HAS_PEEPHOLES:
                output = squash(load_rows(gates, inner, 4 * HIDDEN + column, mask, 5 * HIDDEN))
                store_rows(gates, inner, 4 * HIDDEN + column, output, mask, 5 * HIDDEN)
                store_rows(h, node, column, output * squashed, mask, HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
        if HAS_PEEPHOLES:
            # The output gate sees the whole of the new cell, so it has to wait for it.
            for item in range(tl.program_id(0), tiles * blocks, tl.num_programs(0)):
                node, column, node_mask, column_mask, mask = cut_tile(
                    item // blocks, item % blocks, start, end, HIDDEN, ROWS, COLUMNS
                )
                inner = node - num_leaves
                output = load_rows(gates, inner, 4 * HIDDEN + column, mask, 5 * HIDDEN)
                squashed = load_rows(tanh_c, node, column, mask, HIDDEN)
                output = add_product(
                    output, c, node, node_mask, peephole, column, column_mask,
                    HIDDEN, 1, HIDDEN, HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                output = squash(output)
                store_rows(gates, inner, 4 * HIDDEN + column, output, mask, 5 * HIDDEN)
                store_rows(h, node, column, output * squashed, mask, HIDDEN)
            rounds = wait_for_all(arrivals, rounds)


@triton.jit
def _new_cell(gates, c, inner, left, right, column, mask, HIDDEN: tl.constexpr):
    """f_L * c_L + f_R * c_R + i * g"""
    f_left = load_rows(gates, inner, column, mask, 5 * HIDDEN)
    f_right = load_rows(gates, inner, HIDDEN + column, mask, 5 * HIDDEN)
    i = load_rows(gates, inner, 2 * HIDDEN + column, mask, 5 * HIDDEN)
    g = load_rows(gates, inner, 3 * HIDDEN + column, mask, 5 * HIDDEN)
    c_left = load_rows(c, left, column, mask, HIDDEN)
    c_right = load_rows(c, right, column, mask, HIDDEN)
    return f_left * c_left + f_right * c_right + i * g


@triton.jit
def _leaves_forward(
    inputs, leaf_gates, h, c, tanh_c, bias, num_leaves,
    HIDDEN: tl.constexpr, IS_LEXICAL: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    width: tl.constexpr = 4 * HIDDEN if IS_LEXICAL else 3 * HIDDEN
    first: tl.constexpr = width - 3 * HIDDEN
    for item in range(tl.program_id(0), tl.cdiv(num_leaves, ROWS) * blocks, tl.num_programs(0)):
        leaf, column, _row_mask, column_mask, mask = cut_tile(
            item // blocks, item % blocks, 0, num_leaves, HIDDEN, ROWS, COLUMNS
        )
        leaf = leaf.to(tl.int64)
        bias_i = tl.load(bias + 2 * HIDDEN + column, mask=column_mask, other=0.0).to(tl.float32)
        bias_g = tl.load(bias + 3 * HIDDEN + column, mask=column_mask, other=0.0).to(tl.float32)
        bias_o = tl.load(bias + 4 * HIDDEN + column, mask=column_mask, other=0.0).to(tl.float32)
        i = squash(load_rows(inputs, leaf, first + column, mask, width) + bias_i[None, :])
        g = squash_signed(load_rows(inputs, leaf, first + HIDDEN + column, mask, width) + bias_g[None, :])
        o = squash(load_rows(inputs, leaf, first + 2 * HIDDEN + column, mask, width) + bias_o[None, :])
        cell = i * g
        squashed = squash_signed(cell)
        store_rows(leaf_gates, leaf, column, i, mask, 3 * HIDDEN)
        store_rows(leaf_gates, leaf, HIDDEN + column, g, mask, 3 * HIDDEN)
        store_rows(leaf_gates, leaf, 2 * HIDDEN + column, o, mask, 3 * HIDDEN)
        store_rows(c, leaf, column, cell, mask, HIDDEN)
        store_rows(tanh_c, leaf, column, squashed, mask, HIDDEN)
        store_rows(h, leaf, column, o * squashed, mask, HIDDEN)


@triton.jit
def bottom_up_backward(
    dh, dc, dgates, dinputs, leaf_gates, gates, c, tanh_c, weight_h, weight_c, peephole,
    children, level_offset, counts, arrivals,
    HIDDEN: tl.constexpr, IS_LEXICAL: tl.constexpr, HAS_PEEPHOLES: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """`dc` holds, for a node, what its parent gave; once the node is done, the whole gradient of its cell."""
    num_levels = tl.load(counts + 2)
    num_leaves = tl.load(level_offset)
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    kinds: tl.constexpr = 4
    rounds = 1
    # The output gates' gradients from above alone, final at the roots; each level mends those below.
    num_nodes = tl.load(level_offset + num_levels)
    for item in range(tl.program_id(0), tl.cdiv(num_nodes - num_leaves, ROWS) * blocks, tl.num_programs(0)):
        node, column, node_mask, _column_mask, mask = cut_tile(
            item // blocks, item % blocks, num_leaves, num_nodes, HIDDEN, ROWS, COLUMNS
        )
        dstate = load_rows(dh, node, column, mask, HIDDEN)
        _output_gradient(dstate, dgates, gates, tanh_c, node, num_leaves, column, mask, HIDDEN)
    rounds = wait_for_all(arrivals, rounds)
    for step in range(num_levels):
        level = num_levels - 1 - step
        start = tl.load(level_offset + level)
        end = tl.load(level_offset + level + 1)
        tiles = tl.cdiv(end - start, ROWS)
        for item in range(tl.program_id(0), tiles * blocks, tl.num_programs(0)):
            node, column, node_mask, column_mask, mask = cut_tile(
                item // blocks, item % blocks, start, end, HIDDEN, ROWS, COLUMNS
            )
            inner = node - num_leaves
            left, right = load_children(children, inner, node_mask)
            dcell = load_rows(dc, node, column, mask, HIDDEN)
            if HAS_PEEPHOLES:
                dcell = add_product(
                    dcell, dgates + 4 * HIDDEN, inner, node_mask, peephole, column, column_mask,
                    5 * HIDDEN, HIDDEN, 1, HIDDEN, INNER, PRECISION,
                )  # fmt: skip
            f_left = load_rows(gates, inner, column, mask, 5 * HIDDEN)
            f_right = load_rows(gates, inner, HIDDEN + column, mask, 5 * HIDDEN)
            i = load_rows(gates, inner, 2 * HIDDEN + column, mask, 5 * HIDDEN)
            g = load_rows(gates, inner, 3 * HIDDEN + column, mask, 5 * HIDDEN)
            o = load_rows(gates, inner, 4 * HIDDEN + column, mask, 5 * HIDDEN)
            squashed = load_rows(tanh_c, node, column, mask, HIDDEN)
            dstate = load_rows(dh, node, column, mask, HIDDEN)
            dcell += dstate * o * (1.0 - squashed * squashed)
            df_left = dcell * load_rows(c, left, column, mask, HIDDEN) * f_left * (1.0 - f_left)
            df_right = dcell * load_rows(c, right, column, mask, HIDDEN) * f_right * (1.0 - f_right)
            di = dcell * g * i * (1.0 - i)
            dg = dcell * i * (1.0 - g * g)
            store_rows(dc, node, column, dcell, mask, HIDDEN)
            store_rows(dgates, inner, column, df_left, mask, 5 * HIDDEN)
            store_rows(dgates, inner, HIDDEN + column, df_right, mask, 5 * HIDDEN)
            store_rows(dgates, inner, 2 * HIDDEN + column, di, mask, 5 * HIDDEN)
            store_rows(dgates, inner, 3 * HIDDEN + column, dg, mask, 5 * HIDDEN)
            if IS_LEXICAL:
                do = load_rows(dgates, inner, 4 * HIDDEN + column, mask, 5 * HIDDEN)
                store_rows(dinputs, node, column, df_left + df_right, mask, 4 * HIDDEN)
                store_rows(dinputs, node, HIDDEN + column, di, mask, 4 * HIDDEN)
                store_rows(dinputs, node, 2 * HIDDEN + column, dg, mask, 4 * HIDDEN)
                store_rows(dinputs, node, 3 * HIDDEN + column, do, mask, 4 * HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
        # What the children get: the state or the cell of one side a program.
        for item in range(tl.program_id(0), tiles * blocks * kinds, tl.num_programs(0)):
            side = item % 2
            node, column, node_mask, column_mask, mask = cut_tile(
                item // kinds // blocks, item // kinds % blocks, start, end, HIDDEN, ROWS, COLUMNS
            )
            inner = node - num_leaves
            child = tl.load(children + 2 * inner + side, mask=node_mask, other=0)
            if item % kinds < 2:
                # A child has one parent, so no other program adds to it.
                total = load_rows(dh, child, column, mask, HIDDEN)
                total = add_product(
                    total, dgates, inner, node_mask, weight_h + side * HIDDEN, column, column_mask,
                    5 * HIDDEN, 2 * HIDDEN, 1, 5 * HIDDEN, INNER, PRECISION,
                )  # fmt: skip
                store_rows(dh, child, column, total, mask, HIDDEN)
                mask = mask & (child >= num_leaves)[:, None]
                _output_gradient(total, dgates, gates, tanh_c, child, num_leaves, column, mask, HIDDEN)
            else:
                total = load_rows(dc, node, column, mask, HIDDEN)
                total *= load_rows(gates, inner, side * HIDDEN + column, mask, 5 * HIDDEN)
                if HAS_PEEPHOLES:
                    total = add_product(
                        total, dgates, inner, node_mask, weight_c + side * HIDDEN, column, column_mask,
                        5 * HIDDEN, 2 * HIDDEN, 1, 3 * HIDDEN, INNER, PRECISION,
                    )  # fmt: skip
                store_rows(dc, child, column, total, mask, HIDDEN)
        rounds = wait_for_all(arrivals, rounds)
    _leaves_backward(dh, dc, dinputs, leaf_gates, tanh_c, tl.load(counts), HIDDEN, IS_LEXICAL, ROWS, COLUMNS)


@triton.jit
def _output_gradient(dh, dgates, gates, tanh_c, node, num_leaves, column, mask, HIDDEN: tl.constexpr):
    """dh * tanh(c) * o * (1 - o)"""
    inner = node - num_leaves
    o = load_rows(gates, inner, 4 * HIDDEN + column, mask, 5 * HIDDEN)
    do = dh * load_rows(tanh_c, node, column, mask, HIDDEN) * o * (1.0 - o)
    store_rows(dgates, inner, 4 * HIDDEN + column, do, mask, 5 * HIDDEN)


@triton.jit
def _leaves_backward(
    dh, dc, dinputs, leaf_gates, tanh_c, num_leaves,
    HIDDEN: tl.constexpr, IS_LEXICAL: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    blocks: tl.constexpr = (HIDDEN + COLUMNS - 1) // COLUMNS
    width: tl.constexpr = 4 * HIDDEN if IS_LEXICAL else 3 * HIDDEN
    first: tl.constexpr = width - 3 * HIDDEN
    for item in range(tl.program_id(0), tl.cdiv(num_leaves, ROWS) * blocks, tl.num_programs(0)):
        leaf, column, _row_mask, _column_mask, mask = cut_tile(
            item // blocks, item % blocks, 0, num_leaves, HIDDEN, ROWS, COLUMNS
        )
        leaf = leaf.to(tl.int64)
        i = load_rows(leaf_gates, leaf, column, mask, 3 * HIDDEN)
        g = load_rows(leaf_gates, leaf, HIDDEN + column, mask, 3 * HIDDEN)
        o = load_rows(leaf_gates, leaf, 2 * HIDDEN + column, mask, 3 * HIDDEN)
        squashed = load_rows(tanh_c, leaf, column, mask, HIDDEN)
        dstate = load_rows(dh, leaf, column, mask, HIDDEN)
        dcell = load_rows(dc, leaf, column, mask, HIDDEN) + dstate * o * (1.0 - squashed * squashed)
        store_rows(dinputs, leaf, first + column, dcell * g * i * (1.0 - i), mask, width)
        store_rows(dinputs, leaf, first + HIDDEN + column, dcell * i * (1.0 - g * g), mask, width)
        store_rows(dinputs, leaf, first + 2 * HIDDEN + column, dstate * squashed * o * (1.0 - o), mask, width)
