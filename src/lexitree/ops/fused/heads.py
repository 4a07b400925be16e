"""The head gate with all levels in one kernel, and its gradients."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.fused.device import (
    add_product,
    cut_tile,
    load_children,
    load_rows,
    squash,
    store_rows,
    wait_for_all,
)
from lexitree.ops.fused.launch import launch, zeros
from lexitree.ops.levelwise.heads import levelwise_compose_heads
from lexitree.ops.levelwise.levels import apply
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadMethod, HeadWeights, check_head_method


def fused_compose_heads(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
    lean: Float[Tensor, " phrases"] | None = None,
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node; see `reference_compose_heads`."""
    check_head_method(method, weights)
    if method in ("L", "R"):
        return levelwise_compose_heads(word_vectors, weights, batch, method)
    if method == "A":
        # A gate that sees nothing is half open. Without a kernel the host would cut the levels: wrongly in a batch
        # that is filled up, and a recorded step would replay those of another batch.
        size = word_vectors.shape[1]
        weights = HeadWeights(word_vectors.new_zeros(size, 2 * size), word_vectors.new_zeros(size))
    assert weights is not None
    if lean is None:
        lean = word_vectors.new_zeros(batch.num_nodes - batch.num_leaves)
    return apply(_GatedHeads, word_vectors, weights.gate, weights.bias, batch, lean.float())


class _GatedHeads(torch.autograd.Function):
    """x = z * x_L + (1 - z) * x_R with z = sigmoid(W_zx^L x_L + W_zx^R x_R + b_z + lean)."""

    @staticmethod
    def forward(
        ctx: Any, words: Tensor, gate: Tensor, bias: Tensor, batch: TreeBatch, lean: Tensor
    ) -> Tensor:
        num_leaves, size = words.shape
        x = words.new_zeros(batch.num_nodes, size)
        x[:num_leaves] = words
        (z,) = zeros(words, (batch.num_nodes - num_leaves, size))
        gate = gate.contiguous()
        launch(
            _heads_forward, batch, x, z, gate, bias, lean, batch.children_index, batch.level_offset,
            batch.counts, SIZE=size,
        )  # fmt: skip
        ctx.save_for_backward(gate, x, z)
        ctx.batch = batch
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gate, x, z = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        num_leaves, size = batch.num_leaves, z.shape[1]
        dx = gradients[0].clone(memory_format=torch.contiguous_format)
        (dz,) = zeros(z, z.shape)
        launch(
            _heads_backward, batch, dx, dz, x, z, gate, batch.children_index, batch.level_offset, batch.counts,
            SIZE=size,
        )  # fmt: skip
        pairs = x.index_select(0, batch.children_index).view(-1, 2 * size)
        return dx[:num_leaves], dz.t() @ pairs, dz.sum(0), None, None


@triton.jit
def _heads_forward(
    x, z, gate, bias, lean, children, level_offset, counts, arrivals,
    SIZE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    num_levels = tl.load(counts + 2)
    num_leaves = tl.load(level_offset)
    rounds = 1
    blocks: tl.constexpr = (SIZE + COLUMNS - 1) // COLUMNS
    for level in range(num_levels):
        start = tl.load(level_offset + level)
        end = tl.load(level_offset + level + 1)
        for item in range(tl.program_id(0), tl.cdiv(end - start, ROWS) * blocks, tl.num_programs(0)):
            node, column, node_mask, column_mask, mask = cut_tile(
                item // blocks, item % blocks, start, end, SIZE, ROWS, COLUMNS
            )
            inner = node - num_leaves
            left, right = load_children(children, inner, node_mask)
            total = tl.zeros((ROWS, COLUMNS), tl.float32)
            total = add_product(
                total, x, left, node_mask, gate, column, column_mask,
                SIZE, 1, 2 * SIZE, SIZE, INNER, PRECISION,
            )  # fmt: skip
            total = add_product(
                total, x, right, node_mask, gate + SIZE, column, column_mask,
                SIZE, 1, 2 * SIZE, SIZE, INNER, PRECISION,
            )  # fmt: skip
            total += tl.load(bias + column, mask=column_mask, other=0.0).to(tl.float32)[None, :]
            total += tl.load(lean + inner, mask=node_mask, other=0.0)[:, None]
            share = squash(total)
            x_left = load_rows(x, left, column, mask, SIZE)
            x_right = load_rows(x, right, column, mask, SIZE)
            store_rows(z, inner, column, share, mask, SIZE)
            # Exactly the vector of one part where the gate is decided.
            store_rows(x, node, column, share * x_left + (1.0 - share) * x_right, mask, SIZE)
        rounds = wait_for_all(arrivals, rounds)


@triton.jit
def _heads_backward(
    dx, dz, x, z, gate, children, level_offset, counts, arrivals,
    SIZE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """First the gates' gradients from above alone, final at the roots; then each level mends those below."""
    num_levels = tl.load(counts + 2)
    num_leaves = tl.load(level_offset)
    num_nodes = tl.load(level_offset + num_levels)
    blocks: tl.constexpr = (SIZE + COLUMNS - 1) // COLUMNS
    rounds = 1
    for item in range(tl.program_id(0), tl.cdiv(num_nodes - num_leaves, ROWS) * blocks, tl.num_programs(0)):
        node, column, node_mask, _column_mask, mask = cut_tile(
            item // blocks, item % blocks, num_leaves, num_nodes, SIZE, ROWS, COLUMNS
        )
        gradient = load_rows(dx, node, column, mask, SIZE)
        _gate_gradient(gradient, dz, x, z, children, node, num_leaves, column, node_mask, mask, SIZE)
    rounds = wait_for_all(arrivals, rounds)
    for step in range(num_levels):
        level = num_levels - 1 - step
        start = tl.load(level_offset + level)
        end = tl.load(level_offset + level + 1)
        for item in range(tl.program_id(0), tl.cdiv(end - start, ROWS) * blocks * 2, tl.num_programs(0)):
            side = item % 2
            node, column, node_mask, column_mask, mask = cut_tile(
                item // 2 // blocks, item // 2 % blocks, start, end, SIZE, ROWS, COLUMNS
            )
            inner = node - num_leaves
            child = tl.load(children + 2 * inner + side, mask=node_mask, other=0)
            share = load_rows(z, inner, column, mask, SIZE)
            share = tl.where(side == 0, share, 1.0 - share)
            # A child has one parent, so no other program adds to it.
            total = load_rows(dx, child, column, mask, SIZE) + load_rows(dx, node, column, mask, SIZE) * share
            total = add_product(
                total, dz, inner, node_mask, gate + side * SIZE, column, column_mask,
                SIZE, 2 * SIZE, 1, SIZE, INNER, PRECISION,
            )  # fmt: skip
            store_rows(dx, child, column, total, mask, SIZE)
            is_inner = node_mask & (child >= num_leaves)
            mask = is_inner[:, None] & column_mask[None, :]
            _gate_gradient(total, dz, x, z, children, child, num_leaves, column, is_inner, mask, SIZE)
        rounds = wait_for_all(arrivals, rounds)


@triton.jit
def _gate_gradient(dx, dz, x, z, children, node, num_leaves, column, node_mask, mask, SIZE: tl.constexpr):
    """dx * (x_L - x_R) * z * (1 - z)"""
    inner = node - num_leaves
    left, right = load_children(children, inner, node_mask)
    share = load_rows(z, inner, column, mask, SIZE)
    apart = load_rows(x, left, column, mask, SIZE) - load_rows(x, right, column, mask, SIZE)
    store_rows(dz, inner, column, dx * apart * share * (1.0 - share), mask, SIZE)
