"""The tree LSTM of Le and Zuidema (2015) in NumPy, level by level."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.functions import columns, levels_of, squash
from lexitree.ops.weights import GatedChildrenWeights


def numpy_run_gated_children(x: RealArray, weights: GatedChildrenWeights, layout: TreeLayout) -> RealArray:
    """The state h of every node, [nodes, hidden]; see `reference_run_gated_children`.

    Args:
        x: [leaves, word]
        weights: Those of words and those of phrases.
        layout: The trees.
    """
    dtype, hidden, num_leaves = weights.bias.dtype, weights.hidden, layout.num_leaves
    x = x.astype(dtype, copy=False)
    h, c = (np.empty((layout.num_nodes, hidden), dtype) for _ in range(2))
    # Words are in the inputs already and add nothing to the levels.
    h[:num_leaves], c[:num_leaves] = 0, 0
    gates = _word_inputs(x, weights, layout)
    output = weights.output.reshape(hidden, 2, hidden).swapaxes(0, 1)
    weight_h = np.concatenate(_both_sides(weights.own_h, weights.sister_h, weights.candidate, output), 1)
    weight_c = np.concatenate(_both_sides(weights.own_c, weights.sister_c), 1)
    b_c = columns(weights.bias, hidden)[2]
    for start, end in levels_of(layout):
        first, last = start - num_leaves, end - num_leaves
        children = layout.children_index[2 * first : 2 * last]
        level, pair_c = gates[first:last], c[children].reshape(-1, 2 * hidden)
        level += h[children].reshape(-1, 2 * hidden) @ weight_h.T
        f_i = level[:, : 4 * hidden]
        f_i += pair_c @ weight_c.T
        squash(f_i)
        f_1, f_2, i_1, i_2, u_1, u_2, o = columns(level, hidden)
        c_1, c_2 = columns(pair_c, hidden)
        new_c = f_1 * c_1 + f_2 * c_2 + np.tanh(u_1 * i_1 + u_2 * i_2 + b_c)
        o += new_c @ weights.peephole.T
        c[start:end] = new_c
        np.multiply(squash(o), np.tanh(new_c), out=h[start:end])
    h[:num_leaves] = x @ weights.x.T + weights.x_bias
    return h


def _both_sides(
    own: RealArray, sister: RealArray, candidate: RealArray | None = None, output: RealArray | None = None
) -> tuple[RealArray, RealArray]:
    """The weights of f_1, f_2, i_1, i_2 and, where there are, u_1, u_2, o for the first child and for the second."""
    (f_own, i_own), (f_sister, i_sister) = np.split(own, 2), np.split(sister, 2)
    first, second = [f_own, f_sister, i_own, i_sister], [f_sister, f_own, i_sister, i_own]
    if candidate is not None and output is not None:
        nothing = np.zeros_like(candidate[0])
        first += [candidate[0], nothing, output[0]]
        second += [nothing, candidate[1], output[1]]
    return np.concatenate(first), np.concatenate(second)


def _word_inputs(x: RealArray, weights: GatedChildrenWeights, layout: TreeLayout) -> RealArray:
    """What the gates of each phrase have before its children's states: biases, and children that are words."""
    b_f, b_i, _, b_o = columns(weights.bias, weights.hidden)
    nothing = np.zeros_like(b_f)
    bias = np.concatenate([b_f, b_f, b_i, b_i, nothing, nothing, b_o])
    inputs = np.tile(bias, (layout.num_nodes - layout.num_leaves, 1))
    sides = _both_sides(weights.own_x, weights.sister_x, weights.candidate_x, weights.output_x)
    for weight, child in zip(sides, layout.children_index.reshape(-1, 2).T, strict=True):
        parent = np.flatnonzero(child < layout.num_leaves)
        inputs[parent] += x[child[parent]] @ weight.T
    return inputs
