"""Head vectors, level by level from the leaves to the roots."""

from __future__ import annotations

import itertools
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.levels import (
    EdgeOrder,
    apply,
    arrive,
    blocks,
    cut,
    for_products,
    level_by_level,
    sigmoid_gradient,
)
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadMethod, HeadWeights, ShareOfLeft, check_head_method


def levelwise_compose_heads(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
    lean: Float[Tensor, " phrases"] | None = None,
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node; see `reference_compose_heads`."""
    check_head_method(method, weights)
    if method == "L":
        return word_vectors.index_select(0, batch.span_start)
    if method == "R":
        return word_vectors.index_select(0, batch.span_end - 1)
    if method == "A":
        return apply(_MeanHeads, word_vectors, batch)
    assert weights is not None
    return apply(_GatedHeads, word_vectors, weights.gate, weights.bias, batch, lean)


def levelwise_mix_heads(
    word_vectors: Float[Tensor, "leaves word"], gate: ShareOfLeft, batch: TreeBatch
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node by another gate; see `reference_mix_heads`.

    The gate may be anything that autograd can follow. Rows are kept one by one, so that the backward pass of a level
    touches only that level, and a tree as deep as it has words takes linear time.
    """
    rows = list(word_vectors.unbind(0))
    children = iter(cast(list[int], batch.children_index.tolist()))
    for width in batch.level_sizes[1:]:
        pairs = torch.stack([rows[child] for child in itertools.islice(children, 2 * width)])
        x_L, x_R = pairs.view(width, 2, -1).unbind(1)
        z = gate(x_L, x_R)
        rows += (z * x_L + (1 - z) * x_R).unbind(0)
    return torch.stack(rows) if rows else word_vectors


class _GatedHeads(torch.autograd.Function):
    """x = z * x_L + (1 - z) * x_R with z = sigmoid(W_zx^L x_L + W_zx^R x_R + b_z + lean)."""

    @staticmethod
    @one_thread()
    def forward(
        ctx: Any, words: Tensor, gate: Tensor, bias: Tensor, batch: TreeBatch, lean: Tensor | None
    ) -> Tensor:
        num_leaves, size = words.shape
        num_inner = batch.num_nodes - num_leaves
        x = words.new_empty(batch.num_nodes, size)
        x[:num_leaves] = words
        pairs = words.new_empty(num_inner, 2 * size)
        z = bias.repeat(num_inner, 1) if lean is None else bias + lean.to(bias.dtype).unsqueeze(1)
        times_pair = for_products(gate)
        widths = batch.level_sizes[1:]
        for (index, rows), (pair, x_L, x_R, z_t, x_t) in level_by_level(
            cut([2 * width for width in widths], batch.children_index, pairs.view(-1, size)),
            cut(widths, pairs, *torch.split(pairs, size, 1), z, x[num_leaves:]),
        ):
            torch.index_select(x, 0, index, out=rows)
            torch.lerp(x_R, x_L, z_t.addmm_(pair, times_pair).sigmoid_(), out=x_t)
        ctx.save_for_backward(gate, pairs, z)
        ctx.batch = batch
        return x

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gate, pairs, z = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        num_leaves, size, num_edges = batch.num_leaves, z.shape[1], len(batch.children_index)
        edges = EdgeOrder.of(batch)
        dx_edges = edges.spread(gradients[0])
        dx, dz = torch.empty_like(z), torch.empty_like(z)
        x_L, x_R = torch.split(pairs, size, 1)
        # What dx is multiplied with to give the gradients of the gate and, directly, of the children.
        sigmoid_gradient(x_L - x_R, z, out=dz)
        shares = torch.stack([z, 1 - z], 1)
        dpairs = dx_edges[:num_edges].view(-1, 2 * size)
        for places, (dx_t, dx_block), (dz_t, share, dpair, dpair_blocks) in level_by_level(
            edges.levels,
            cut(batch.level_sizes[1:], dx, dx.unsqueeze(1)),
            cut(batch.level_sizes[1:], dz, shares, dpairs, blocks(dpairs, size)),
            backwards=True,
        ):
            arrive(dx_edges, places, out=dx_t)
            dpair_blocks.addcmul_(dx_block, share)
            dpair.addmm_(dz_t.mul_(dx_t), gate)
        dwords = arrive(dx_edges, edges.leaves, z.new_empty(num_leaves, size))
        return dwords, dz.t() @ pairs, dz.sum(0), None, None


class _MeanHeads(torch.autograd.Function):
    """x = (x_L + x_R) / 2."""

    @staticmethod
    @one_thread()
    def forward(ctx: Any, words: Tensor, batch: TreeBatch) -> Tensor:
        num_leaves, size = words.shape
        x = words.new_empty(batch.num_nodes, size)
        x[:num_leaves] = words
        for start, end in batch.levels():
            index = batch.children_index[2 * (start - num_leaves) : 2 * (end - num_leaves)]
            torch.mean(x.index_select(0, index).view(-1, 2, size), 1, out=x[start:end])
        ctx.batch = batch
        return x

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        batch: TreeBatch = ctx.batch
        num_leaves = batch.num_leaves
        dx = gradients[0].clone()
        for start, end in reversed(batch.levels()):
            index = batch.children_index[2 * (start - num_leaves) : 2 * (end - num_leaves)]
            dx.index_add_(0, index, (dx[start:end] / 2).repeat_interleave(2, 0))
        return dx[:num_leaves], None
