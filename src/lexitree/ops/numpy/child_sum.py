"""The child-sum tree LSTM of Tai et al. (2015) in NumPy, level by level, for any arity."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.functions import columns, levels_of, run_leaves, squash
from lexitree.ops.weights import ChildSumWeights


def numpy_run_child_sum(x: RealArray, weights: ChildSumWeights, layout: TreeLayout) -> RealArray:
    """The state h of every node, [nodes, hidden]; see `reference_run_child_sum`.

    Args:
        x: [nodes, word]
        weights: The rows of f see one child, the others the sum of all.
        layout: Trees of any arity.
    """
    dtype, hidden, num_leaves = weights.bias.dtype, weights.hidden, layout.num_leaves
    inputs = x.astype(dtype, copy=False) @ weights.x.T
    inputs += weights.bias
    h, c = (np.empty((layout.num_nodes, hidden), dtype) for _ in range(2))
    run_leaves(inputs[:num_leaves, hidden:], h[:num_leaves], c[:num_leaves])
    U_f, U_igo = weights.h[:hidden], weights.h[hidden:]
    for start, end in levels_of(layout):
        offsets = layout.children_offset[start - num_leaves : end - num_leaves + 1]
        children = layout.children_index[offsets[0] : offsets[-1]]
        # Every inner node has a child, so no segment of the sums is empty.
        segments, arity = offsets[:-1] - offsets[0], np.diff(offsets)
        child_h, level = h[children], inputs[start:end]
        forget = np.repeat(level[:, :hidden], arity, axis=0)
        forget += child_h @ U_f.T
        i_g_o = level[:, hidden:]
        i_g_o += np.add.reduceat(child_h, segments, axis=0) @ U_igo.T
        i, g, o = columns(i_g_o, hidden)
        new_c = squash(i) * np.tanh(g)
        new_c += np.add.reduceat(squash(forget) * c[children], segments, axis=0)
        c[start:end] = new_c
        np.multiply(squash(o), np.tanh(new_c), out=h[start:end])
    return h
