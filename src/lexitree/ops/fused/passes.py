"""The tree LSTMs, bottom-up and top-down, with all levels in one kernel each, and their gradients.

The kernels fill modules of their own, `bottom_up_kernels` and `top_down_kernels`.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.fused.bottom_up_kernels import bottom_up_backward, bottom_up_forward
from lexitree.ops.fused.launch import launch, zeros
from lexitree.ops.fused.top_down_kernels import top_down_backward, top_down_forward
from lexitree.ops.levelwise.levels import apply
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import BottomUpWeights, TopDownWeights


def fused_run_bottom_up(
    x: Float[Tensor, "inputs word"], weights: BottomUpWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its children; see `reference_run_bottom_up`."""
    inputs = x @ weights.x.t()
    return apply(_BottomUp, inputs, weights.h, weights.c, weights.peephole, weights.bias, batch)


class _BottomUp(torch.autograd.Function):
    """The recurrence; gates are columns f_L, f_R, i, g, o at inner nodes and i, g, o at leaves.

    `inputs` has the columns f, i, g, o for all nodes, or i, g, o for the leaves.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight_h: Tensor,
        weight_c: Tensor | None,
        peephole: Tensor | None,
        bias: Tensor,
        batch: TreeBatch,
    ) -> Tensor:
        hidden, num_leaves = bias.shape[0] // 5, batch.num_leaves
        num_inner = batch.num_nodes - num_leaves
        is_lexical = inputs.shape[1] == 4 * hidden
        h = inputs.new_zeros(batch.num_nodes, hidden)
        leaf_gates, gates, c, tanh_c = zeros(
            inputs,
            (num_leaves, 3 * hidden),
            (num_inner, 5 * hidden),
            (batch.num_nodes, hidden),
            (batch.num_nodes, hidden),
        )
        launch(
            bottom_up_forward, batch, inputs.contiguous(), leaf_gates, gates, h, c, tanh_c, weight_h,
            # A kernel without peepholes never reads these two, but it must be given something.
            weight_h if weight_c is None else weight_c, weight_h if peephole is None else peephole, bias,
            batch.children_index, batch.level_offset, batch.counts,
            HIDDEN=hidden, IS_LEXICAL=is_lexical, HAS_PEEPHOLES=peephole is not None,
        )  # fmt: skip
        ctx.save_for_backward(weight_h, weight_c, peephole, leaf_gates, gates, h, c, tanh_c)
        ctx.batch, ctx.is_lexical, ctx.hidden = batch, is_lexical, hidden
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, leaf_gates, gates, h, c, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_leaves = ctx.hidden, batch.num_leaves
        dh = gradients[0].clone(memory_format=torch.contiguous_format)
        input_shape = (batch.num_nodes, 4 * hidden) if ctx.is_lexical else (num_leaves, 3 * hidden)
        dgates, dc, dinputs = zeros(c, gates.shape, c.shape, input_shape)
        launch(
            bottom_up_backward, batch, dh, dc, dgates, dinputs, leaf_gates, gates, c, tanh_c, weight_h,
            weight_h if weight_c is None else weight_c, weight_h if peephole is None else peephole,
            batch.children_index, batch.level_offset, batch.counts,
            HIDDEN=hidden, IS_LEXICAL=ctx.is_lexical, HAS_PEEPHOLES=peephole is not None,
        )  # fmt: skip
        children_h = h.index_select(0, batch.children_index).view(-1, 2 * hidden)
        dweight_c = dpeephole = None
        if peephole is not None:
            children_c = c.index_select(0, batch.children_index).view(-1, 2 * hidden)
            dweight_c = dgates[:, : 3 * hidden].t() @ children_c
            dpeephole = dgates[:, 4 * hidden :].t() @ c[num_leaves:]
        return (
            dinputs,
            dgates.t() @ children_h,
            dweight_c,
            dpeephole,
            _bias_gradient(dgates, dinputs, batch),
            None,
        )


def _bias_gradient(dgates: Tensor, dinputs: Tensor, batch: TreeBatch) -> Tensor:
    """Inner nodes have all five gates, leaves the last three."""
    dbias = dgates.sum(0)
    hidden = len(dbias) // 5
    dbias[2 * hidden :] += dinputs[: batch.num_leaves, -3 * hidden :].sum(0)
    return dbias


def fused_run_top_down(
    x: Float[Tensor, "rows word"],
    weights: TopDownWeights,
    batch: TreeBatch,
    source: Int[Tensor, " nodes"] | None = None,
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its parent's; see `reference_run_top_down`."""
    x = x if source is None else x.index_select(0, source)
    inputs = torch.addmm(weights.bias[0], x, weights.x[0].t())
    if weights.x.shape[0] == 2:
        # After the roots, left and right children alternate in the down order; a root counts as left.
        place = batch.up_to_down - batch.num_trees
        is_right = (place > 0) & (place % 2 == 1)
        right_inputs = torch.addmm(weights.bias[1], x, weights.x[1].t())
        inputs = torch.where(is_right.unsqueeze(1), right_inputs, inputs)
    return apply(_TopDown, inputs, weights.h, weights.c, weights.peephole, batch)


class _TopDown(torch.autograd.Function):
    """The recurrence; gates are columns f, i, g, o. All tensors are in up order, the levels are by depth."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight_h: Tensor, weight_c: Tensor, peephole: Tensor, batch: TreeBatch
    ) -> Tensor:
        hidden = weight_h.shape[-1]
        h = inputs.new_zeros(batch.num_nodes, hidden)
        gates, c, tanh_c = zeros(
            inputs, (batch.num_nodes, 4 * hidden), (batch.num_nodes, hidden), (batch.num_nodes, hidden)
        )
        launch(
            top_down_forward, batch, inputs.contiguous(), gates, h, c, tanh_c, weight_h, weight_c, peephole,
            batch.down_order, batch.down_parent_index, batch.depth_offset, batch.counts, HIDDEN=hidden,
        )  # fmt: skip
        ctx.save_for_backward(weight_h, weight_c, peephole, gates, h, c, tanh_c)
        ctx.batch = batch
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, gates, h, c, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_leaves = weight_h.shape[-1], batch.num_leaves
        dh = gradients[0].clone(memory_format=torch.contiguous_format)
        dgates, dc = zeros(c, gates.shape, c.shape)
        launch(
            top_down_backward, batch, dh, dc, dgates, gates, c, tanh_c, weight_h, weight_c, peephole,
            batch.down_order, batch.down_parent_index, batch.depth_offset, batch.counts, HIDDEN=hidden,
        )  # fmt: skip
        # Both children of each inner node side by side: one product serves both sides.
        dpair = dgates.index_select(0, batch.children_index).view(-1, 2, 4 * hidden)
        dweight_h = (dpair.view(-1, 8 * hidden).t() @ h[num_leaves:]).view_as(weight_h)
        seen_by_cells = dpair[:, :, : 2 * hidden].reshape(-1, 4 * hidden)
        dweight_c = (seen_by_cells.t() @ c[num_leaves:]).view_as(weight_c)
        children_c = c.index_select(0, batch.children_index).view(-1, 2, hidden)
        dpeephole = torch.stack([dpair[:, side, 3 * hidden :].t() @ children_c[:, side] for side in (0, 1)])
        return dgates, dweight_h, dweight_c, dpeephole, None
