"""Node inputs in, child-sum states out, level by level from the leaves to the roots, for trees of any arity."""

from __future__ import annotations

import itertools
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.ops.levelwise.gates import apply, for_products, sigmoid_gradient, tanh_gradient
from lexitree.ops.threads import one_thread
from lexitree.ops.weights import ChildSumWeights


def levelwise_run_child_sum(
    x: Float[Tensor, "nodes word"], weights: ChildSumWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its word and the states of its children, however many."""
    inputs = torch.addmm(weights.bias, x, weights.x.t())
    return apply(_ChildSum, inputs, weights.h, batch)


def _edge_levels(batch: TreeBatch) -> list[tuple[slice, slice]]:
    """(inner nodes, edges to their children) of each level, from the bottom; inner nodes count from the first."""
    ends = [end - batch.num_leaves for end in itertools.accumulate(batch.level_sizes)]
    edge_ends = cast(list[int], batch.children_offset[ends].tolist()) if ends else []
    return [
        (slice(*nodes), slice(*edges))
        for nodes, edges in zip(itertools.pairwise(ends), itertools.pairwise(edge_ends), strict=True)
    ]


class _ChildSum(torch.autograd.Function):
    """The recurrence; gates are columns i, g, o by node, and f by edge.

    An edge is a place in `children_index`. The children of a parent, and the edges of a level, stand side by side.
    """

    @staticmethod
    @one_thread()
    def forward(ctx: Any, inputs: Tensor, weight_h: Tensor, batch: TreeBatch) -> Tensor:
        hidden, num_leaves, num_edges = weight_h.shape[1], batch.num_leaves, len(batch.children_index)
        h, c, tanh_c = (inputs.new_empty(batch.num_nodes, hidden) for _ in range(3))
        gates = inputs[:, hidden:].clone()
        leaves = slice(0, num_leaves)
        torch.mul(*_squash_i_g(gates[leaves], hidden), out=c[leaves])
        _finish_states(gates[leaves, 2 * hidden :], c[leaves], tanh_c[leaves], h[leaves])

        parent_of_edge = torch.repeat_interleave(batch.children_offset.diff(), output_size=num_edges)
        forget = inputs[num_leaves:, :hidden].index_select(0, parent_of_edge)
        child_h, child_c = (inputs.new_empty(num_edges, hidden) for _ in range(2))
        sum_h = inputs.new_zeros(batch.num_nodes - num_leaves, hidden)
        times_child, times_sum = for_products(weight_h[:hidden]), for_products(weight_h[hidden:])
        for inner, edges in _edge_levels(batch):
            rows = slice(inner.start + num_leaves, inner.stop + num_leaves)
            index, parents = batch.children_index[edges], parent_of_edge[edges]
            torch.index_select(h, 0, index, out=child_h[edges])
            torch.index_select(c, 0, index, out=child_c[edges])
            sum_h.index_add_(0, parents, child_h[edges])
            gates[rows].addmm_(sum_h[inner], times_sum)
            torch.mul(*_squash_i_g(gates[rows], hidden), out=c[rows])
            forget[edges].addmm_(child_h[edges], times_child).sigmoid_()
            c[num_leaves:].index_add_(0, parents, forget[edges] * child_c[edges])
            _finish_states(gates[rows, 2 * hidden :], c[rows], tanh_c[rows], h[rows])
        ctx.save_for_backward(weight_h, gates, forget, parent_of_edge, child_h, child_c, sum_h, tanh_c)
        ctx.batch = batch
        return h

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, gates, forget, parent_of_edge, child_h, child_c, sum_h, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_leaves = weight_h.shape[1], batch.num_leaves
        dh, dc = gradients[0].clone(), torch.zeros_like(tanh_c)
        dinputs = gates.new_empty(batch.num_nodes, 4 * hidden)
        dgates, dforget = dinputs[:, hidden:], torch.empty_like(forget)
        for inner, edges in reversed(_edge_levels(batch)):
            rows = slice(inner.start + num_leaves, inner.stop + num_leaves)
            index, parents = batch.children_index[edges], parent_of_edge[edges]
            _gates_backward(dh[rows], dc[rows], gates[rows], tanh_c[rows], dgates[rows])
            dc_edges = dc[num_leaves:].index_select(0, parents)
            sigmoid_gradient(dc_edges * child_c[edges], forget[edges], out=dforget[edges])
            # Each child has one parent, so nothing is added up here.
            dc.index_copy_(0, index, dc_edges.mul_(forget[edges]))
            dsum = dgates[rows] @ weight_h[hidden:]
            dchild = dsum.index_select(0, parents - inner.start).addmm_(dforget[edges], weight_h[:hidden])
            dh.index_add_(0, index, dchild)
        leaves = slice(0, num_leaves)
        _gates_backward(dh[leaves], dc[leaves], gates[leaves], tanh_c[leaves], dgates[leaves])
        dinputs[:, :hidden] = 0
        dinputs[num_leaves:, :hidden].index_add_(0, parent_of_edge, dforget)
        dweight_h = torch.cat([dforget.t() @ child_h, dgates[num_leaves:].t() @ sum_h])
        return dinputs, dweight_h, None


def _squash_i_g(gates: Tensor, hidden: int) -> tuple[Tensor, Tensor]:
    """The gates i and g, squashed in place."""
    return gates[:, :hidden].sigmoid_(), gates[:, hidden : 2 * hidden].tanh_()


def _finish_states(o: Tensor, c: Tensor, tanh_c: Tensor, h: Tensor) -> None:
    """Squash the output gate in place and fill h from the cells."""
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)


def _gates_backward(dh: Tensor, dc: Tensor, gates: Tensor, tanh_c: Tensor, dgates: Tensor) -> None:
    """Add what h gives to the gradient of the cells and fill that of the gates i, g, o."""
    i, g, o = gates.chunk(3, 1)
    di, dg, do = dgates.chunk(3, 1)
    sigmoid_gradient(dh * tanh_c, o, out=do)
    dc += tanh_gradient(dh * o, tanh_c)
    sigmoid_gradient(dc * g, i, out=di)
    tanh_gradient(dc * i, g, out=dg)
