"""What the recurrences in NumPy share: levels of a layout, the sigmoid, states from gates, and a dense layer."""

from __future__ import annotations

import itertools

import numpy as np

from lexitree.arrays import RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.weights import DenseWeights


def levels_of(layout: TreeLayout) -> list[tuple[int, int]]:
    """(first node, node after the last) of each level above the leaves, from the bottom."""
    return list(itertools.pairwise(itertools.accumulate(layout.level_sizes)))


def squash(x: RealArray) -> RealArray:
    """The sigmoid, in place: as a tanh it overflows nowhere and takes few passes."""
    x *= 0.5
    np.tanh(x, out=x)
    x *= 0.5
    x += 0.5
    return x


def sigmoid(x: RealArray) -> RealArray:
    """The sigmoid of each number."""
    return squash(x.copy())


def log_softmax(scores: RealArray) -> RealArray:
    """The logarithms of the probabilities that scores stand for, along the last dimension."""
    shifted = scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def log_sum_exp(scores: RealArray) -> RealArray:
    """The logarithm of the sum of exp(score), along the last dimension."""
    largest = scores.max(axis=-1, keepdims=True)
    return np.log(np.exp(scores - largest).sum(axis=-1)) + largest[..., 0]


def softmax(scores: RealArray) -> RealArray:
    """The probabilities that scores stand for, along the last dimension."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def columns(rows: RealArray, size: int) -> list[RealArray]:
    """Columns in blocks of one size, such as the gates, without a copy."""
    return [rows[..., first : first + size] for first in range(0, rows.shape[-1], size)]


def run_leaves(gates: RealArray, h: RealArray, c: RealArray) -> None:
    """Squash the gates i, g, o in place and fill the states of nodes without children."""
    i, g, o = columns(gates, h.shape[1])
    np.multiply(squash(i), np.tanh(g, out=g), out=c)
    np.multiply(squash(o), np.tanh(c), out=h)


def numpy_run_dense(x: RealArray, weights: DenseWeights, relu: bool = False) -> RealArray:
    """W x + b of every row, [rows, columns]; with `relu`, what is negative becomes 0.

    Args:
        x: [rows, size]
        weights: W and b.
        relu: Whether a ReLU follows.
    """
    out = x.astype(weights.bias.dtype, copy=False) @ weights.weight.T
    out += weights.bias
    return np.maximum(out, 0, out=out) if relu else out
