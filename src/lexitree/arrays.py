"""The array types that the package uses, each declared once, and the number that stands for "none"."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IndexArray = npt.NDArray[np.int64]
"""Row numbers, node numbers and counts."""
NodeArray = npt.NDArray[np.int32]
"""What a `Tree` holds for each of its nodes."""
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
"""Vectors, weights and probabilities."""
DoubleArray = npt.NDArray[np.float64]
"""Scores and statistics that many numbers are added up for."""

NO_INDEX = -1
"""Stands for "none" in an index: the parent of a root, the label of an unlabelled node."""
