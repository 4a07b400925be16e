"""A dense layer in NumPy."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import RealArray
from lexitree.ops.weights import DenseWeights


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
