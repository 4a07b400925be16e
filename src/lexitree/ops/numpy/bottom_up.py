"""The bottom-up tree LSTM in NumPy, level by level from the leaves to the roots."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.functions import columns, levels_of, run_leaves, squash
from lexitree.ops.weights import BottomUpWeights


def numpy_run_bottom_up(x: RealArray, weights: BottomUpWeights, layout: TreeLayout) -> RealArray:
    """The state h of every node, [nodes, hidden]; see `reference_run_bottom_up`.

    Args:
        x: [nodes, word] (+Lex), or [leaves, word].
        weights: With the cells' peepholes or without.
        layout: The trees.
    """
    dtype = weights.bias.dtype
    x = x.astype(dtype, copy=False)
    hidden, num_leaves = weights.hidden, layout.num_leaves
    h, c = (np.empty((layout.num_nodes, hidden), dtype) for _ in range(2))
    leaf_gates = x[:num_leaves] @ weights.x[-3 * hidden :].T
    leaf_gates += weights.bias[2 * hidden :]
    run_leaves(leaf_gates, h[:num_leaves], c[:num_leaves])
    gates = _inner_inputs(x[num_leaves:], weights, layout.num_nodes - num_leaves)
    for start, end in levels_of(layout):
        first, last = start - num_leaves, end - num_leaves
        children = layout.children_index[2 * first : 2 * last]
        level_gates = gates[first:last]
        level_gates += h[children].reshape(-1, 2 * hidden) @ weights.h.T
        _run_level(level_gates, c[children].reshape(-1, 2 * hidden), weights, h[start:end], c[start:end])
    return h


def _inner_inputs(x: RealArray, weights: BottomUpWeights, num_inner: int) -> RealArray:
    """What the biases and, where words reach the phrases, x give to their gates, [phrases, 5 * hidden]."""
    hidden = weights.hidden
    gates = np.empty((num_inner, 5 * hidden), weights.bias.dtype)
    gates[:] = weights.bias
    if weights.is_lexical:
        from_words = x @ weights.x.T
        gates[:, hidden:] += from_words
        # One W_xf serves both forget gates.
        gates[:, :hidden] += from_words[:, :hidden]
    return gates


def _run_level(
    gates: RealArray,
    pair_c: RealArray,
    weights: BottomUpWeights,
    new_h: RealArray,
    new_c: RealArray,
) -> None:
    """Squash the gates of a level in place, and fill its states; `pair_c` is c_L beside c_R."""
    hidden = weights.hidden
    f_i = gates[:, : 3 * hidden]
    if weights.c is not None:
        f_i += pair_c @ weights.c.T
    squash(f_i)
    f_L, f_R, i, g, o = columns(gates, hidden)
    c_L, c_R = columns(pair_c, hidden)
    np.multiply(i, np.tanh(g, out=g), out=new_c)
    new_c += f_L * c_L
    new_c += f_R * c_R
    if weights.peephole is not None:
        o += new_c @ weights.peephole.T
    np.multiply(squash(o), np.tanh(new_c), out=new_h)
