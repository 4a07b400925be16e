"""The tree LSTM of Le and Zuidema (2015), level by level."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.levels import (
    EdgeOrder,
    apply,
    cut,
    for_products,
    level_by_level,
    run_pairs_backward,
    sigmoid_gradient,
    tanh_gradient,
)
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import GatedChildrenWeights


def levelwise_run_gated_children(
    x: Float[Tensor, "leaves word"], weights: GatedChildrenWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node; see `reference_run_gated_children`."""
    # Both children's gates and what they let in as rows of one matrix: f_1, f_2, i_1, i_2, u_1, u_2, o with
    # u_k = W_ck h_k. What is shared stands there twice, and its gradients are added where the rows were joined.
    output = torch.stack(weights.output.chunk(2, 1))
    weight_h = torch.cat(_both_sides(weights.own_h, weights.sister_h, weights.candidate, output), 1)
    weight_c = torch.cat(_both_sides(weights.own_c, weights.sister_c), 1)
    inputs, b_c = _word_inputs(x, weights, batch), weights.bias.chunk(4)[2]
    phrases = apply(_GatedChildren, inputs, weight_h, weight_c, weights.peephole, b_c, batch)
    return torch.cat([torch.addmm(weights.x_bias, x, weights.x.t()), phrases])


def _both_sides(
    own: Tensor, sister: Tensor, candidate: Tensor | None = None, output: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The weights of f_1, f_2, i_1, i_2 and, where there are, u_1, u_2, o for the first child and for the second."""
    (f_own, i_own), (f_sister, i_sister) = own.chunk(2), sister.chunk(2)
    first, second = [f_own, f_sister, i_own, i_sister], [f_sister, f_own, i_sister, i_own]
    if candidate is not None and output is not None:
        nothing = torch.zeros_like(candidate[0])
        first += [candidate[0], nothing, output[0]]
        second += [nothing, candidate[1], output[1]]
    return torch.cat(first), torch.cat(second)


def _word_inputs(x: Tensor, weights: GatedChildrenWeights, batch: TreeBatch) -> Float[Tensor, "inner gates"]:
    """What the gates of each phrase have before its children's states: biases, and children that are words."""
    b_f, b_i, _, b_o = weights.bias.chunk(4)
    nothing = torch.zeros_like(b_f)
    bias = torch.cat([b_f, b_f, b_i, b_i, nothing, nothing, b_o])
    inputs = bias.repeat(batch.num_nodes - batch.num_leaves, 1)
    sides = _both_sides(weights.own_x, weights.sister_x, weights.candidate_x, weights.output_x)
    for weight, child in zip(sides, batch.children_index.view(-1, 2).unbind(1), strict=True):
        parent = (child < batch.num_leaves).nonzero().squeeze(1)
        words = x.index_select(0, child.index_select(0, parent))
        inputs = inputs.index_add(0, parent, words @ weight.t())
    return inputs


class _GatedChildren(torch.autograd.Function):
    """c = f_1 * c_1 + f_2 * c_2 + g, g = tanh(u_1 * i_1 + u_2 * i_2 + b_c); columns are f_1 f_2 i_1 i_2 u_1 u_2 o."""

    @staticmethod
    @one_thread()
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight_h: Tensor,
        weight_c: Tensor,
        peephole: Tensor,
        bias_g: Tensor,
        batch: TreeBatch,
    ) -> Tensor:
        num_leaves, hidden, num_inner = batch.num_leaves, peephole.shape[0], len(inputs)
        h, c = (inputs.new_empty(batch.num_nodes, hidden) for _ in range(2))
        # Words are in the inputs already and add nothing here.
        h[:num_leaves], c[:num_leaves] = 0, 0
        tanh_c, g = (inputs.new_empty(num_inner, hidden) for _ in range(2))
        children_h, children_c = (inputs.new_empty(num_inner, 2 * hidden) for _ in range(2))
        gates = inputs.clone()
        times = tuple(for_products(weight) for weight in (weight_h, weight_c, peephole))
        _run_levels(gates, (children_h, children_c), (h, c), (tanh_c, g), times, bias_g, batch)
        ctx.save_for_backward(
            weight_h, weight_c, peephole, gates, children_h, children_c, c[num_leaves:], tanh_c, g
        )
        ctx.batch = batch
        return h[num_leaves:]

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, gates, children_h, children_c, c, tanh_c, g = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_edges = c.shape[1], len(batch.children_index)
        edges = EdgeOrder.of(batch)
        dh = torch.nn.functional.pad(gradients[0], (0, 0, batch.num_leaves, 0))
        dh_edges = edges.spread(dh)
        dc_edges = torch.empty_like(dh_edges)
        dc_edges[num_edges:] = 0
        dgates, slope_c, slope_g = _slopes(gates, children_c, tanh_c, g)
        forget, weights = gates[:, : 2 * hidden], (weight_h, weight_c, peephole)
        dc = run_pairs_backward(dgates, slope_c, forget, (dh_edges, dc_edges), *weights, edges, batch)
        return (
            dgates,
            dgates.t() @ children_h,
            dgates[:, : 4 * hidden].t() @ children_c,
            dgates[:, 6 * hidden :].t() @ c,
            slope_g.mul_(dc).sum(0),
            None,
        )


def _run_levels(
    gates: Tensor,
    children: tuple[Tensor, Tensor],
    states: tuple[Tensor, Tensor],
    kept: tuple[Tensor, Tensor],
    times: tuple[Tensor, ...],
    bias_g: Tensor,
    batch: TreeBatch,
) -> None:
    """Gather the children's states, squash the gates in place and fill h, c, tanh c and g of the inner nodes."""
    (h, c), (children_h, children_c), (times_h, times_c, times_new_c) = states, children, times
    hidden, widths = h.shape[1], batch.level_sizes[1:]
    for below, child_rows, pre, new in level_by_level(
        cut(widths, children_h, children_c, *torch.split(children_c, hidden, 1)),
        cut(
            [2 * width for width in widths],
            *(batch.children_index, children_h.view(-1, hidden), children_c.view(-1, hidden)),
        ),
        cut(widths, gates, gates[:, : 4 * hidden], *torch.split(gates, hidden, 1)),
        cut(widths, *(state[batch.num_leaves :] for state in states), *kept),
    ):
        (pair_h, pair_c, c_1, c_2), (index, rows_h, rows_c) = below, child_rows
        (everything, f_i, f_1, f_2, i_1, i_2, u_1, u_2, o), (new_h, new_c, new_tanh_c, g) = pre, new
        torch.index_select(h, 0, index, out=rows_h)
        torch.index_select(c, 0, index, out=rows_c)
        everything.addmm_(pair_h, times_h)
        f_i.addmm_(pair_c, times_c).sigmoid_()
        torch.addcmul(bias_g, u_1, i_1, out=g).addcmul_(u_2, i_2).tanh_()
        torch.addcmul(g, f_1, c_1, out=new_c).addcmul_(f_2, c_2)
        torch.tanh(new_c, out=new_tanh_c)
        torch.mul(o.addmm_(new_c, times_new_c).sigmoid_(), new_tanh_c, out=new_h)


def _slopes(gates: Tensor, children_c: Tensor, tanh_c: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What dc (dh for o) is multiplied with to give each column's gradient; what dh is, to add to dc; dc, for g."""
    hidden = g.shape[1]
    slopes, ones = torch.empty_like(gates), torch.ones_like(g)
    forget, enter, candidate, o = torch.split(gates, [2 * hidden, 2 * hidden, 2 * hidden, hidden], 1)
    slope_g = tanh_gradient(ones, g)
    through_g = torch.cat([slope_g, slope_g], 1)
    sigmoid_gradient(children_c, forget, out=slopes[:, : 2 * hidden])
    sigmoid_gradient(through_g * candidate, enter, out=slopes[:, 2 * hidden : 4 * hidden])
    torch.mul(through_g, enter, out=slopes[:, 4 * hidden : 6 * hidden])
    sigmoid_gradient(tanh_c, o, out=slopes[:, 6 * hidden :])
    return slopes, tanh_gradient(o, tanh_c), slope_g
