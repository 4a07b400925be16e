"""The recursive neural tensor network of Socher et al. (2013), level by level.

Each recurrence has its own module here, as in the other implementations.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.levels import EdgeOrder, apply, arrive, cut, level_by_level, tanh_gradient
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import TensorWeights


def levelwise_run_tensor_network(
    x: Float[Tensor, "leaves hidden"], weights: TensorWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The vector of every node; see `reference_run_tensor_network`."""
    return apply(_TensorNetwork, x.tanh(), *weights, batch)


class _TensorNetwork(torch.autograd.Function):
    """p = tanh(ab^T V ab + W ab + b), where ab is the vectors of both children, one after the other."""

    @staticmethod
    @one_thread()
    def forward(
        ctx: Any, leaves: Tensor, slices: Tensor, matrix: Tensor, bias: Tensor, batch: TreeBatch
    ) -> Tensor:
        num_leaves, size = leaves.shape
        p = leaves.new_empty(batch.num_nodes, size)
        p[:num_leaves] = leaves
        pairs = leaves.new_empty(batch.num_nodes - num_leaves, 2 * size)
        # ab^T V ab + W ab = (ab^T V + W) ab: for all slices the bracket is one product, to which W is the bias.
        times_pair = slices.transpose(0, 1).reshape(2 * size, -1)
        widths = batch.level_sizes[1:]
        for (index, rows), (pair, p_t) in level_by_level(
            cut([2 * width for width in widths], batch.children_index, pairs.view(-1, size)),
            cut(widths, pairs, p[num_leaves:]),
        ):
            torch.index_select(p, 0, index, out=rows)
            bracket = torch.addmm(matrix.view(-1), pair, times_pair).view(-1, size, 2 * size)
            torch.tanh(torch.baddbmm(bias.unsqueeze(1), bracket, pair.unsqueeze(2)).squeeze(2), out=p_t)
        ctx.save_for_backward(slices, matrix, pairs, p)
        ctx.batch = batch
        return p

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        slices, matrix, pairs, p = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        num_leaves, size, num_edges = batch.num_leaves, p.shape[1], len(batch.children_index)
        edges = EdgeOrder.of(batch)
        dp_edges = edges.spread(gradients[0])
        dpre = torch.empty_like(p[num_leaves:])
        # Both factors ab have a gradient: V and its transpose act at once.
        symmetric = (slices + slices.mT).view(-1, 2 * size)
        dpairs = dp_edges[:num_edges].view(-1, 2 * size)
        for places, (p_t, dpre_t, pair, dpair) in level_by_level(
            edges.levels,
            cut(batch.level_sizes[1:], p[num_leaves:], dpre, pairs, dpairs),
            backwards=True,
        ):
            tanh_gradient(arrive(dp_edges, places, torch.empty_like(p_t)), p_t, out=dpre_t)
            products = (dpre_t.unsqueeze(2) * pair.unsqueeze(1)).flatten(1)
            dpair.addmm_(products, symmetric).addmm_(dpre_t, matrix)
        dleaves = arrive(dp_edges, edges.leaves, p.new_empty(num_leaves, size))
        # Slice by slice: the products of all nodes at once would be d times as large as all that is kept of them.
        dslices = torch.stack([(pairs * dpre_k.unsqueeze(1)).t() @ pairs for dpre_k in dpre.unbind(1)])
        return dleaves, dslices, dpre.t() @ pairs, dpre.sum(0), None
