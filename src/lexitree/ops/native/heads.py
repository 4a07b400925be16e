"""Head vectors by the paper's gate, computed by a native kernel; the other methods are level-wise."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.heads import levelwise_compose_heads
from lexitree.ops.levelwise.levels import apply
from lexitree.ops.native.calls import kernels_for
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadMethod, HeadWeights, check_head_method


def native_compose_heads(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
    lean: Float[Tensor, " phrases"] | None = None,
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node; see `reference_compose_heads`."""
    check_head_method(method, weights)
    if method != "G":
        # These have no products, and nothing to gain.
        return levelwise_compose_heads(word_vectors, weights, batch, method, lean)
    assert weights is not None
    return apply(_GatedHeads, word_vectors, weights.gate, weights.bias, batch, lean)


def native_heads_and_shares(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights,
    batch: TreeBatch,
    lean: Float[Tensor, " phrases"] | None,
) -> tuple[Float[Tensor, "nodes word"], Float[Tensor, "phrases word"]]:
    """The head vector of every node, and the gate of every phrase, without gradients."""
    x, _, z = _run_forward(word_vectors, weights.gate, weights.bias, batch, lean)
    return x, z


def _run_forward(
    words: Tensor, gate: Tensor, bias: Tensor, batch: TreeBatch, lean: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The head vectors, the pairs that they were made of, and the gates."""
    num_leaves, size = batch.num_leaves, len(bias)
    num_inner = batch.num_nodes - num_leaves
    x = words.new_empty(batch.num_nodes, size)
    pairs, z = words.new_empty(num_inner, 2 * size), words.new_empty(num_inner, size)
    lean = None if lean is None else lean.to(words.dtype).contiguous()
    words, gate, bias = words.contiguous(), gate.contiguous(), bias.contiguous()
    kernels_for(words).heads_forward(
        *(words, gate, bias, lean),
        *(size, num_leaves, len(batch.level_sizes) - 1, batch.num_nodes),
        *(batch.level_offset, batch.children_index, x, pairs, z),
    )
    return x, pairs, z


class _GatedHeads(torch.autograd.Function):
    """x = z * x_L + (1 - z) * x_R with z = sigmoid(W_zx^L x_L + W_zx^R x_R + b_z + lean)."""

    @staticmethod
    def forward(
        ctx: Any, words: Tensor, gate: Tensor, bias: Tensor, batch: TreeBatch, lean: Tensor | None
    ) -> Tensor:
        x, pairs, z = _run_forward(words, gate, bias, batch, lean)
        ctx.save_for_backward(gate, pairs, z)
        ctx.batch = batch
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gate, pairs, z = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        dx = gradients[0].clone(memory_format=torch.contiguous_format)
        dgate, dbias = torch.empty_like(gate), gate.new_empty(len(gate))
        kernels_for(gate).heads_backward(
            gate,
            *(len(gate), batch.num_leaves, len(batch.level_sizes) - 1, batch.num_nodes),
            *(batch.level_offset, batch.children_index, pairs, z, dx, dgate, dbias),
        )
        return dx[: batch.num_leaves], dgate, dbias, None, None
