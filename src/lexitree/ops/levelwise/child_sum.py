"""The child-sum tree LSTM of Tai et al. (2015), level by level from the leaves to the roots, for any arity."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.levelwise.levels import (
    EdgeOrder,
    apply,
    blocks,
    cell_slopes,
    cut,
    for_products,
    level_by_level,
    run_leaves,
    sigmoid_gradient,
)
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import ChildSumWeights


def levelwise_run_child_sum(
    x: Float[Tensor, "nodes word"], weights: ChildSumWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node; see `reference_run_child_sum`."""
    inputs = torch.addmm(weights.bias, x, weights.x.t())
    return apply(_ChildSum, inputs, weights.h, batch)


class _Edges(NamedTuple):
    """Places in `children_index`: the children of a parent, and the edges of a level, stand side by side."""

    sizes: list[int]
    """The number of edges of each level above the leaves."""
    parent: Int[Tensor, " edges"]
    """The parent of each edge, counted from the first inner node ..."""
    parent_in_level: Int[Tensor, " edges"]
    """... and from the first of its level."""

    @classmethod
    def of(cls, batch: TreeBatch) -> _Edges:
        device, widths = batch.device, batch.level_sizes[1:]
        ends = list(itertools.accumulate(widths, initial=0))
        edge_ends = cast(list[int], batch.children_offset[ends].tolist())
        sizes = [after - before for before, after in itertools.pairwise(edge_ends)]
        num_edges = len(batch.children_index)
        parent = torch.repeat_interleave(batch.children_offset.diff(), output_size=num_edges)
        starts = torch.tensor(ends[:-1], device=device, dtype=torch.int64)
        level_sizes = torch.tensor(sizes, device=device, dtype=torch.int64)
        shift = torch.repeat_interleave(starts, level_sizes, output_size=num_edges)
        return cls(sizes, parent, parent - shift)


class _ChildSum(torch.autograd.Function):
    """The recurrence; gates are columns i, g, o by node, and f by edge."""

    @staticmethod
    @one_thread()
    def forward(ctx: Any, inputs: Tensor, weight_h: Tensor, batch: TreeBatch) -> Tensor:
        hidden, num_leaves, num_edges = weight_h.shape[1], batch.num_leaves, len(batch.children_index)
        edges = _Edges.of(batch)
        h, c, tanh_c = (inputs.new_empty(batch.num_nodes, hidden) for _ in range(3))
        gates = inputs[:, hidden:].clone()
        run_leaves(gates[:num_leaves].chunk(3, 1), *(rows[:num_leaves] for rows in (h, c, tanh_c)))

        forget = inputs[num_leaves:, :hidden].index_select(0, edges.parent)
        children_h, children_c = (inputs.new_empty(num_edges, hidden) for _ in range(2))
        sum_h = inputs.new_zeros(batch.num_nodes - num_leaves, hidden)
        children = (children_h, children_c, forget)
        times = (for_products(weight_h[:hidden]), for_products(weight_h[hidden:]))
        _run_levels(gates[num_leaves:], sum_h, children, (h, c, tanh_c), *times, edges, batch)
        ctx.save_for_backward(weight_h, gates, forget, children_h, children_c, sum_h, tanh_c)
        ctx.batch, ctx.edges = batch, edges
        return h

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, gates, forget, children_h, children_c, sum_h, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        edges: _Edges = ctx.edges
        hidden, num_leaves, num_edges = weight_h.shape[1], batch.num_leaves, len(batch.children_index)
        order = EdgeOrder.of(batch)
        dh_edges = gradients[0].index_select(0, order.node)
        dc_edges = torch.empty_like(dh_edges)
        dc_edges[num_edges:] = 0
        dinputs = gates.new_empty(batch.num_nodes, 4 * hidden)
        dgates, dforget = dinputs[:, hidden:], torch.empty_like(forget)
        slope_c = cell_slopes(gates.chunk(3, 1), tanh_c, dgates.chunk(3, 1))
        sigmoid_gradient(children_c, forget, out=dforget)
        _run_levels_backward(
            dgates[num_leaves:],
            dforget,
            forget,
            slope_c[num_leaves:],
            (dh_edges, dc_edges),
            weight_h,
            order,
            edges,
            batch,
        )
        leaf_place = order.place[:num_leaves]
        dh, dc = dh_edges.index_select(0, leaf_place), dc_edges.index_select(0, leaf_place)
        _apply_slopes(dgates[:num_leaves], dh, dc.addcmul_(dh, slope_c[:num_leaves]))
        dinputs[:, :hidden] = 0
        dinputs[num_leaves:, :hidden].index_add_(0, edges.parent, dforget)
        dweight_h = torch.cat([dforget.t() @ children_h, dgates[num_leaves:].t() @ sum_h])
        return dinputs, dweight_h, None


def _run_levels(
    gates: Tensor,
    sum_h: Tensor,
    children: tuple[Tensor, Tensor, Tensor],
    states: tuple[Tensor, Tensor, Tensor],
    times_child: Tensor,
    times_sum: Tensor,
    edges: _Edges,
    batch: TreeBatch,
) -> None:
    """Gather the children's states, squash the gates in place and fill h, c and tanh c of the inner nodes."""
    h, c, _ = states
    hidden, widths = h.shape[1], batch.level_sizes[1:]
    for edge, node, new in level_by_level(
        cut(edges.sizes, batch.children_index, edges.parent_in_level, *children),
        cut(widths, gates, *torch.split(gates, hidden, 1), sum_h),
        cut(widths, *(state[batch.num_leaves :] for state in states)),
    ):
        (index, parent, child_h, child_c, f), (all_gates, i, g, o, total) = edge, node
        new_h, new_c, new_tanh_c = new
        torch.index_select(h, 0, index, out=child_h)
        torch.index_select(c, 0, index, out=child_c)
        total.index_add_(0, parent, child_h)
        all_gates.addmm_(total, times_sum)
        torch.mul(i.sigmoid_(), g.tanh_(), out=new_c)
        f.addmm_(child_h, times_child).sigmoid_()
        new_c.index_add_(0, parent, f * child_c)
        torch.tanh(new_c, out=new_tanh_c)
        torch.mul(o.sigmoid_(), new_tanh_c, out=new_h)


def _run_levels_backward(
    dgates: Tensor,
    dforget: Tensor,
    forget: Tensor,
    slope_c: Tensor,
    edge_gradients: tuple[Tensor, Tensor],
    weight_h: Tensor,
    order: EdgeOrder,
    edges: _Edges,
    batch: TreeBatch,
) -> None:
    """Turn the slopes into the gates' gradients, and add to those of h and c in the order of the edges."""
    hidden, num_edges, widths = slope_c.shape[1], len(batch.children_index), batch.level_sizes[1:]
    dh_edges, dc_edges = edge_gradients
    dh, dc, dsum = (torch.empty_like(slope_c) for _ in range(3))
    U_f, U_igo = weight_h[:hidden], weight_h[hidden:]
    for node, gate, edge in level_by_level(
        cut(widths, order.place[batch.num_leaves :], dh, dc, slope_c, dsum),
        cut(widths, dgates),
        cut(edges.sizes, edges.parent_in_level, dforget, forget, dh_edges[:num_edges], dc_edges[:num_edges]),
        backwards=True,
    ):
        (place, dh_t, dc_t, slope, dsum_t), (dgates_t,) = node, gate
        parent, df, f, dchild_h, dchild_c = edge
        torch.index_select(dh_edges, 0, place, out=dh_t)
        torch.index_select(dc_edges, 0, place, out=dc_t)
        _apply_slopes(dgates_t, dh_t, dc_t.addcmul_(dh_t, slope))
        torch.index_select(dc_t, 0, parent, out=dchild_c)
        df.mul_(dchild_c)
        dchild_c.mul_(f)
        torch.mm(dgates_t, U_igo, out=dsum_t)
        dchild_h.add_(dsum_t.index_select(0, parent)).addmm_(df, U_f)


def _apply_slopes(slopes: Tensor, dh: Tensor, dc: Tensor) -> None:
    """The gradients of i, g, o from their slopes, in place."""
    hidden = dh.shape[1]
    blocks(slopes[:, : 2 * hidden], hidden).mul_(dc.unsqueeze(1))
    slopes[:, 2 * hidden :].mul_(dh)
