"""The tree LSTMs, bottom-up and top-down, each computed by one native kernel, and their gradients by another."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.levelwise.levels import apply
from lexitree.ops.native.calls import in_rows, kernels_for
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import BottomUpWeights, TopDownWeights


def native_run_bottom_up(
    x: Float[Tensor, "inputs word"], weights: BottomUpWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its children; see `reference_run_bottom_up`."""
    return apply(_BottomUp, x, *weights, batch)


class _BottomUp(torch.autograd.Function):
    """The recurrence; kernels/bottom_up.c tells what the buffers hold."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight_x: Tensor,
        weight_h: Tensor,
        weight_c: Tensor | None,
        peephole: Tensor | None,
        bias: Tensor,
        batch: TreeBatch,
    ) -> Tensor:
        hidden, num_leaves, num_inner = len(bias) // 5, batch.num_leaves, batch.num_nodes - batch.num_leaves
        factors = tuple(map(in_rows, (x, weight_x, weight_h, weight_c, peephole)))
        bias = bias.contiguous()
        h, c = (bias.new_empty(batch.num_nodes, hidden) for _ in range(2))
        kept = (
            c,
            bias.new_empty(num_leaves, 3 * hidden),
            bias.new_empty(num_inner, 5 * hidden),
            bias.new_empty(num_inner, (2 if weight_c is None else 4) * hidden),
        )
        ctx.sizes = (
            *(hidden, weight_x.shape[1], int(len(weight_x) == 4 * hidden), int(weight_c is not None)),
            *(num_leaves, len(batch.level_sizes) - 1, batch.num_nodes),
        )
        kernels_for(bias).bottom_up_forward(
            *(*factors, bias), *ctx.sizes, *(batch.level_offset, batch.children_index, h, *kept)
        )
        ctx.save_for_backward(*factors, *kept)
        ctx.batch = batch
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, weight_x, weight_h, weight_c, peephole, *kept = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        factors = (x, weight_x, weight_h, weight_c, peephole)
        dh = gradients[0].clone(memory_format=torch.contiguous_format)
        dx, *dweights = (None if each is None else torch.empty_like(each) for each in factors)
        dx = dx if ctx.needs_input_grad[0] else None
        dbias = x.new_empty(len(weight_h))
        kernels_for(x).bottom_up_backward(
            *factors,
            *ctx.sizes,
            *(batch.level_offset, batch.children_index, *kept, dh, dx, *dweights, dbias),
        )
        return dx, *dweights, dbias, None


def native_run_top_down(
    x: Float[Tensor, "rows word"],
    weights: TopDownWeights,
    batch: TreeBatch,
    source: Int[Tensor, " nodes"] | None = None,
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its parent's; see `reference_run_top_down`."""
    row_of = batch.down_order if source is None else source.index_select(0, batch.down_order)
    return apply(_TopDown, x, *weights, row_of, batch)


class _TopDown(torch.autograd.Function):
    """The recurrence; kernels/top_down.c tells what the buffers hold."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight_x: Tensor,
        weight_h: Tensor,
        weight_c: Tensor,
        peephole: Tensor,
        bias: Tensor,
        row_of: Tensor,
        batch: TreeBatch,
    ) -> Tensor:
        hidden, num_nodes = weight_h.shape[-1], batch.num_nodes
        factors = tuple(each.contiguous() for each in (x, weight_x, weight_h, weight_c, peephole))
        bias = bias.contiguous()
        h = bias.new_empty(num_nodes, hidden)
        kept = (
            bias.new_empty(num_nodes, 4 * hidden),
            bias.new_empty(num_nodes, 2 * hidden),
            bias.new_empty((num_nodes - batch.num_trees) // 2, 2 * hidden),
        )
        ctx.sizes = (
            *(hidden, weight_x.shape[-1], len(weight_x), len(x)),
            *(batch.num_trees, len(batch.depth_sizes) - 1, num_nodes),
        )
        kernels_for(bias).top_down_forward(
            *(*factors, bias),
            *ctx.sizes,
            *(batch.depth_offset, row_of, batch.down_order, batch.down_parent_index, h, *kept),
        )
        ctx.save_for_backward(*factors, row_of, *kept)
        ctx.batch = batch
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        *factors, row_of, gates, states, parent_states = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        dh = gradients[0].contiguous()
        dx, *dweights = (torch.empty_like(each) for each in factors)
        dx = dx if ctx.needs_input_grad[0] else None
        dbias = dh.new_empty(factors[1].shape[:2])
        kernels_for(dh).top_down_backward(
            *factors,
            *ctx.sizes,
            *(batch.depth_offset, row_of, batch.down_order, batch.down_parent_index),
            *(gates, states, parent_states, dh, dx, *dweights, dbias),
        )
        return dx, *dweights, dbias, None, None
