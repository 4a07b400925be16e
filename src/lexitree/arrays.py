"""Array types used throughout the package, and the index that means "none"."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IndexArray = npt.NDArray[np.int64]
"""Row numbers, node numbers and counts."""
NodeArray = npt.NDArray[np.int32]
"""One number for each node of a `Tree`."""
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
"""Vectors, weights and probabilities."""
DoubleArray = npt.NDArray[np.float64]
"""Scores and statistics that are sums of many numbers."""

NO_INDEX = -1
""""None" in an index array: the parent of a root, the label of an unlabelled node."""
