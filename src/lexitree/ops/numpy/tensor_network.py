"""The recursive neural tensor network of Socher et al. (2013) in NumPy, level by level."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.functions import levels_of
from lexitree.ops.weights import TensorWeights


def numpy_run_tensor_network(x: RealArray, weights: TensorWeights, layout: TreeLayout) -> RealArray:
    """The vector of every node, [nodes, hidden]; see `reference_run_tensor_network`.

    Args:
        x: [leaves, hidden]
        weights: V, W and b.
        layout: The trees.
    """
    num_leaves, size = x.shape
    p = np.empty((layout.num_nodes, size), weights.bias.dtype)
    np.tanh(x.astype(p.dtype, copy=False), out=p[:num_leaves])
    # ab^T V ab + W ab = (ab^T V + W) ab: for all slices the bracket is one product, to which W is the bias.
    times_pair = weights.slices.swapaxes(0, 1).reshape(2 * size, -1)
    for start, end in levels_of(layout):
        children = layout.children_index[2 * (start - num_leaves) : 2 * (end - num_leaves)]
        pairs = p[children].reshape(-1, 2 * size)
        bracket = (pairs @ times_pair).reshape(-1, size, 2 * size) + weights.matrix
        np.tanh((bracket @ pairs[:, :, np.newaxis])[:, :, 0] + weights.bias, out=p[start:end])
    return p
