"""Word vectors in, the head vector of every node out, level by level."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.ops.levelwise.gates import apply, for_products, sigmoid_gradient
from lexitree.ops.weights import HeadMethod, HeadWeights


def levelwise_compose_heads(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node: its word's at a leaf, a combination of its children's at a phrase."""
    if method == "L":
        return word_vectors.index_select(0, batch.span_start)
    if method == "R":
        return word_vectors.index_select(0, batch.span_end - 1)
    if method == "A" or weights is None:
        return apply(_MeanHeads, word_vectors, batch)
    return apply(_GatedHeads, word_vectors, weights.gate, weights.bias, batch)


class _GatedHeads(torch.autograd.Function):
    """x = z * x_L + (1 - z) * x_R with z = sigmoid(W_zx^L x_L + W_zx^R x_R + b_z)."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, gate: Tensor, bias: Tensor, batch: TreeBatch) -> Tensor:
        num_leaves, size = words.shape
        num_inner = batch.num_nodes - num_leaves
        x = words.new_empty(batch.num_nodes, size)
        x[:num_leaves] = words
        children = words.new_empty(num_inner, 2 * size)
        z = words.new_empty(num_inner, size)
        times_pair = for_products(gate)
        for start, end in batch.levels():
            level = slice(start - num_leaves, end - num_leaves)
            index = batch.children_index[2 * level.start : 2 * level.stop]
            pair = children[level]
            torch.index_select(x, 0, index, out=pair.view(-1, size))
            torch.addmm(bias, pair, times_pair, out=z[level]).sigmoid_()
            torch.lerp(pair[:, size:], pair[:, :size], z[level], out=x[start:end])
        ctx.save_for_backward(gate, children, z)
        ctx.batch = batch
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gate, children, z = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        num_leaves, size = batch.num_leaves, z.shape[1]
        dx = gradients[0].clone()
        dz = torch.empty_like(z)
        for start, end in reversed(batch.levels()):
            level = slice(start - num_leaves, end - num_leaves)
            index = batch.children_index[2 * level.start : 2 * level.stop]
            pair, dx_level, z_level = children[level], dx[start:end], z[level]
            sigmoid_gradient(dx_level * (pair[:, :size] - pair[:, size:]), z_level, out=dz[level])
            dpair = dz[level] @ gate
            to_left = dx_level * z_level
            dpair[:, :size] += to_left
            dpair[:, size:] += dx_level - to_left
            dx.index_add_(0, index, dpair.view(-1, size))
        return dx[:num_leaves], dz.t() @ children, dz.sum(0), None


class _MeanHeads(torch.autograd.Function):
    """x = (x_L + x_R) / 2."""

    @staticmethod
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
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        batch: TreeBatch = ctx.batch
        num_leaves = batch.num_leaves
        dx = gradients[0].clone()
        for start, end in reversed(batch.levels()):
            index = batch.children_index[2 * (start - num_leaves) : 2 * (end - num_leaves)]
            dx.index_add_(0, index, (dx[start:end] / 2).repeat_interleave(2, 0))
        return dx[:num_leaves], None
