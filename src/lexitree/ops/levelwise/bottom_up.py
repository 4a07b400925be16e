"""The bottom-up tree LSTM, level by level from the leaves to the roots."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.levels import (
    EdgeOrder,
    apply,
    arrive,
    cell_slopes,
    cut,
    for_products,
    level_by_level,
    run_leaves,
    run_pairs_backward,
    sigmoid_gradient,
)
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import BottomUpWeights


def levelwise_run_bottom_up(
    x: Float[Tensor, "inputs word"], weights: BottomUpWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node; see `reference_run_bottom_up`."""
    return apply(_BottomUp, x, *weights, batch)


class _BottomUp(torch.autograd.Function):
    """The recurrence; gates are columns f_L, f_R, i, g, o at inner nodes, and i, g, o one after the other at leaves.

    A narrow level costs small operations, not arithmetic. So whatever can be is done for all levels at once: the
    gates start as what x gives them, and the backward loop starts from the slopes of all gates. The leaves, half of
    all nodes, are one wide level: there it is arithmetic, which is faster on gates that lie in one piece each.
    """

    @staticmethod
    @one_thread()
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
        h, c, tanh_c = (bias.new_empty(batch.num_nodes, hidden) for _ in range(3))
        leaf_gates = _leaf_inputs(x[:num_leaves], weight_x, bias)
        run_leaves(leaf_gates.unbind(), h[:num_leaves], c[:num_leaves], tanh_c[:num_leaves])

        gates = _inner_inputs(x[num_leaves:], weight_x, bias, num_inner)
        children_h, children_c = (bias.new_empty(num_inner, 2 * hidden) for _ in range(2))
        times_c, times_new_c = (None if w is None else for_products(w) for w in (weight_c, peephole))
        times = (for_products(weight_h), times_c, times_new_c)
        _run_levels(gates, children_h, children_c, (h, c, tanh_c), *times, batch)
        ctx.save_for_backward(
            x, weight_x, weight_h, weight_c, peephole, leaf_gates, gates, children_h, children_c, c, tanh_c
        )
        ctx.batch = batch
        return h

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, weight_x, weight_h, weight_c, peephole, leaf_gates, gates, children_h, children_c, c, tanh_c = (
            ctx.saved_tensors
        )
        batch: TreeBatch = ctx.batch
        hidden, num_leaves, num_edges = c.shape[1], batch.num_leaves, len(batch.children_index)
        edges = EdgeOrder.of(batch)
        dh_edges = edges.spread(gradients[0])
        dc_edges = torch.empty_like(dh_edges)
        dc_edges[num_edges:] = 0
        dgates, slope_c = _slopes(gates, children_c, tanh_c[num_leaves:])
        forget, weights = gates[:, : 2 * hidden], (weight_h, weight_c, peephole)
        run_pairs_backward(dgates, slope_c, forget, (dh_edges, dc_edges), *weights, edges, batch)
        dh, dc = (
            arrive(rows, edges.leaves, c.new_empty(num_leaves, hidden)) for rows in (dh_edges, dc_edges)
        )
        dleaf_gates = _run_leaves_backward(dh, dc, leaf_gates, tanh_c[:num_leaves])
        dweight_h = dgates.t() @ children_h
        dweight_c = None if weight_c is None else dgates[:, : 3 * hidden].t() @ children_c
        dpeephole = None if peephole is None else dgates[:, 4 * hidden :].t() @ c[num_leaves:]
        dbias = dgates.sum(0)
        dbias[2 * hidden :] += dleaf_gates.sum(1).view(-1)
        dx, dweight_x = _inputs_backward(x, weight_x, dleaf_gates, dgates)
        return dx, dweight_x, dweight_h, dweight_c, dpeephole, dbias, None


def _run_levels(
    gates: Tensor,
    children_h: Tensor,
    children_c: Tensor,
    states: tuple[Tensor, Tensor, Tensor],
    times_h: Tensor,
    times_c: Tensor | None,
    times_new_c: Tensor | None,
    batch: TreeBatch,
) -> None:
    """Gather the children's states, squash the gates in place and fill h, c and tanh c of the inner nodes."""
    h, c, _ = states
    hidden, widths = h.shape[1], batch.level_sizes[1:]
    for children, child_rows, pre, new in level_by_level(
        cut(widths, children_h, children_c, *torch.split(children_c, hidden, 1)),
        cut(
            [2 * width for width in widths],
            *(batch.children_index, children_h.view(-1, hidden), children_c.view(-1, hidden)),
        ),
        cut(widths, gates, gates[:, : 3 * hidden], *torch.split(gates, hidden, 1)),
        cut(widths, *(state[batch.num_leaves :] for state in states)),
    ):
        (pair_h, pair_c, c_L, c_R), (index, rows_h, rows_c) = children, child_rows
        (all_gates, f_i, f_L, f_R, i, g, o), (new_h, new_c, new_tanh_c) = pre, new
        torch.index_select(h, 0, index, out=rows_h)
        torch.index_select(c, 0, index, out=rows_c)
        all_gates.addmm_(pair_h, times_h)
        if times_c is not None:
            f_i.addmm_(pair_c, times_c)
        f_i.sigmoid_()
        torch.mul(i, g.tanh_(), out=new_c).addcmul_(f_L, c_L).addcmul_(f_R, c_R)
        if times_new_c is not None:
            o.addmm_(new_c, times_new_c)
        torch.tanh(new_c, out=new_tanh_c)
        torch.mul(o.sigmoid_(), new_tanh_c, out=new_h)


def _leaf_inputs(x: Tensor, weight_x: Tensor, bias: Tensor) -> Tensor:
    """What the biases and x give to the gates of the leaves, `[3, leaves, hidden]`."""
    leaf_bias, leaf_weight = bias.view(5, 1, -1)[2:], _leaf_weight(weight_x, len(bias) // 5)
    return torch.baddbmm(leaf_bias, x.expand(3, -1, -1), leaf_weight.mT)


def _leaf_weight(weight_x: Tensor, hidden: int) -> Tensor:
    """W_xi, W_xg, W_xo, `[3, hidden, word]`."""
    return weight_x[-3 * hidden :].reshape(3, hidden, -1)


def _inner_inputs(x: Tensor, weight_x: Tensor, bias: Tensor, num_inner: int) -> Tensor:
    """What the biases and, where words reach the inner nodes, x give to their gates."""
    hidden = len(bias) // 5
    if weight_x.shape[0] == 3 * hidden:
        return bias.repeat(num_inner, 1)
    gates = bias.new_empty(num_inner, 5 * hidden)
    torch.mm(x, weight_x.t(), out=gates[:, hidden:])
    gates[:, :hidden] = gates[:, hidden : 2 * hidden]
    return gates.add_(bias)


def _inputs_backward(
    x: Tensor, weight_x: Tensor, dleaf_gates: Tensor, dgates: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of x and of its weights; those of the gates are used up."""
    _, num_leaves, hidden = dleaf_gates.shape
    dx = torch.empty_like(x)
    dx[:num_leaves].addbmm_(dleaf_gates, _leaf_weight(weight_x, hidden), beta=0)
    dleaf_weight = torch.bmm(dleaf_gates.mT, x[:num_leaves].expand(3, -1, -1)).view(3 * hidden, -1)
    if len(weight_x) == len(dleaf_weight):
        return dx, dleaf_weight
    # One W_xf serves both forget gates.
    dgates[:, hidden : 2 * hidden] += dgates[:, :hidden]
    torch.mm(dgates[:, hidden:], weight_x, out=dx[num_leaves:])
    dweight_x = dgates[:, hidden:].t() @ x[num_leaves:]
    dweight_x[hidden:] += dleaf_weight
    return dx, dweight_x


def _slopes(gates: Tensor, children_c: Tensor, tanh_c: Tensor) -> tuple[Tensor, Tensor]:
    """What the gradient of the cell (of h for o) is multiplied with to give each gate's; what dh is, to add to dc."""
    hidden = tanh_c.shape[1]
    slopes = torch.empty_like(gates)
    sigmoid_gradient(children_c, gates[:, : 2 * hidden], out=slopes[:, : 2 * hidden])
    i_g_o, slopes_i_g_o = (torch.split(columns[:, 2 * hidden :], hidden, 1) for columns in (gates, slopes))
    return slopes, cell_slopes(i_g_o, tanh_c, slopes_i_g_o)


def _run_leaves_backward(dh: Tensor, dc: Tensor, gates: Tensor, tanh_c: Tensor) -> Tensor:
    """The gradients of the leaves' gates; that of the cells is used up."""
    dgates = torch.empty_like(gates)
    dc.addcmul_(dh, cell_slopes(gates.unbind(), tanh_c, dgates.unbind()))
    di_dg, do = dgates[:2], dgates[2]
    di_dg.mul_(dc)
    do.mul_(dh)
    return dgates
