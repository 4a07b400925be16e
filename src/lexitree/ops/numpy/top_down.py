"""The top-down tree LSTM in NumPy, level by level from the roots to the leaves."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import IndexArray, RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.functions import columns, run_leaves, squash
from lexitree.ops.weights import TopDownWeights


def numpy_run_top_down(
    x: RealArray, weights: TopDownWeights, layout: TreeLayout, source: IndexArray | None = None
) -> RealArray:
    """The state h of every node, [nodes, hidden]; see `reference_run_top_down`.

    Args:
        x: [rows, word]
        weights: Those of x for one side or for both.
        layout: The trees.
        source: [nodes], the row of x of each node, where nodes have rows in common.
    """
    dtype, hidden, num_roots = weights.bias.dtype, weights.hidden, layout.num_trees
    row_of = layout.down_order if source is None else source[layout.down_order]
    gates = _project_inputs(x.astype(dtype, copy=False), weights, row_of, num_roots)
    h, c = (np.empty((layout.num_nodes, hidden), dtype) for _ in range(2))
    # A root has no parent: no forget gate and no peephole.
    run_leaves(gates[:num_roots, hidden:], h[:num_roots], c[:num_roots])
    first = num_roots
    for size in layout.depth_sizes[1:]:
        level = slice(first, first + size)
        # Both children of a parent stand side by side.
        parents = layout.down_parent_index[first - num_roots : first + size - num_roots : 2]
        _run_level(gates[level], h[parents], c[parents], weights, h[level], c[level])
        first += size
    return h[layout.up_to_down]


def _project_inputs(x: RealArray, weights: TopDownWeights, row_of: IndexArray, num_roots: int) -> RealArray:
    """What biases and word vectors give to the gates, [nodes, 4 * hidden] in down order."""
    if len(weights.x) == 1:
        # Each row is multiplied once, however many nodes have it.
        gates = x @ weights.x[0].T
        gates += weights.bias[0]
        return gates[row_of]
    gates = np.empty((len(row_of), weights.x.shape[1]), x.dtype)
    # After the roots, left and right children alternate; a root takes the left side's weights.
    roots_and_left = np.append(np.arange(num_roots), np.arange(num_roots, len(row_of), 2))
    for side, places in enumerate((roots_and_left, slice(num_roots + 1, None, 2))):
        gates[places] = x[row_of[places]] @ weights.x[side].T + weights.bias[side]
    return gates


def _run_level(
    gates: RealArray,
    parent_h: RealArray,
    parent_c: RealArray,
    weights: TopDownWeights,
    new_h: RealArray,
    new_c: RealArray,
) -> None:
    """Squash the gates of a level in place, and fill its states; all of them by parent and side."""
    hidden = weights.hidden
    by_side = gates.reshape(-1, 2, 4 * hidden)
    gates.reshape(-1, 8 * hidden)[:] += parent_h @ weights.h.reshape(8 * hidden, hidden).T
    f_i = by_side[:, :, : 2 * hidden]
    f_i += (parent_c @ weights.c.reshape(4 * hidden, hidden).T).reshape(-1, 2, 2 * hidden)
    squash(f_i)
    f, i, g, o = columns(by_side, hidden)
    h, c = new_h.reshape(-1, 2, hidden), new_c.reshape(-1, 2, hidden)
    np.multiply(i, np.tanh(g, out=g), out=c)
    c += f * parent_c[:, np.newaxis]
    for side in (0, 1):
        o[:, side] += c[:, side] @ weights.peephole[side].T
    np.multiply(squash(o), np.tanh(c), out=h)
