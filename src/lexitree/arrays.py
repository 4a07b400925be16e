"""Array types used throughout the package, and the index that means "none"."""

from __future__ import annotations

from typing import Any, overload

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
RealArray = npt.NDArray[np.floating[Any]]
"""What is computed in the precision of a model's weights, float32 or float64."""

NO_INDEX = -1
""""None" in an index array: the parent of a root, the label of an unlabelled node."""

DIGITS = 6
"""Probabilities are rounded to so many decimals: a model's last bits mean nothing, and files stay small."""


def rounded(values: npt.ArrayLike | None) -> Any:
    """Numbers as JSON has them: a float for a number, nested lists for an array, None for None."""
    if values is None:
        return None
    # In single precision, rounded numbers would still be written with all their digits; -0.0 becomes 0.0.
    return (np.asarray(values).astype(np.float64).round(DIGITS) + 0.0).tolist()


@overload
def rounded_number(value: float) -> float: ...


@overload
def rounded_number(value: None) -> None: ...


def rounded_number(value: float | None) -> float | None:
    """One number as JSON has it: `rounded` without NumPy, which takes ten times as long for a single number."""
    return None if value is None else round(value * 10.0**DIGITS) / 10.0**DIGITS
