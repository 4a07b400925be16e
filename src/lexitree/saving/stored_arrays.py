"""Saved weights as NumPy arrays, which stay in their file, in the form that it has, until they are used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from lexitree.arrays import FloatArray
from lexitree.errors import ModelFileError

TableForm = Literal["float32", "float16", "int8"]
"""How the numbers of a table are written; with float16 and int8, all other weights are float16."""

SCALE = ".scale"
"""The suffix of the array that holds the scale of each row of an int8 table."""

RELOAD = "Copy or download the model again."
"""What to do about a damaged file."""

StoredArray = (
    npt.NDArray[np.float16] | npt.NDArray[np.float32] | npt.NDArray[np.float64] | npt.NDArray[np.int8]
)

_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "i1"}
_HEADER_SIZE = 8
"""A safetensors file begins with the size of its header, in so many bytes."""


def read_stored_arrays(path: Path) -> dict[str, StoredArray]:
    """Map the arrays of a safetensors file into memory, without reading their numbers.

    Raises:
        ModelFileError: The file is damaged, or holds numbers of another kind than weights.
    """
    try:
        # The library checks the header and the offsets in it, which are trusted below.
        with safe_open(path, framework="numpy"):
            return _map_arrays(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(path, f"is damaged or cut off ({error})", remedy=RELOAD) from error


def _map_arrays(path: Path) -> dict[str, StoredArray]:
    content = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    first = _HEADER_SIZE + int.from_bytes(content[:_HEADER_SIZE].tobytes(), "little")
    header: dict[str, Any] = json.loads(content[_HEADER_SIZE:first].tobytes())
    return {
        name: _view(path, content[first:], name, about)
        for name, about in header.items()
        if name != "__metadata__"
    }


def _view(path: Path, content: npt.NDArray[np.uint8], name: str, about: Mapping[str, Any]) -> StoredArray:
    if about["dtype"] not in _DTYPES:
        raise ModelFileError(path, f"holds numbers of type {about['dtype']} ({name})", remedy=RELOAD)
    start, end = about["data_offsets"]
    return content[start:end].view(_DTYPES[about["dtype"]]).reshape(about["shape"])


@dataclass(frozen=True, eq=False, slots=True)
class StoredTable:
    """Weights of any shape, in the form in which they are stored; what is asked for comes in 32 bits."""

    values: StoredArray
    scale: npt.NDArray[np.float16] | None = None
    """What the bytes of each row are multiplied by; None if the values are not bytes."""

    @classmethod
    def of(cls, arrays: Mapping[str, StoredArray], name: str) -> StoredTable:
        """The weights of this name in 16 bits, or in bytes with their scale.

        Raises:
            ValueError: The array is of another type, or an int8 table has no scale.
        """
        values, scale = arrays[name], arrays.get(name + SCALE)
        if values.dtype == np.float16:
            return cls(values)
        if values.dtype != np.int8:
            raise ValueError(f"{name} must be float16, or int8 with a scale")
        if values.ndim != 2 or scale is None or scale.dtype != np.float16 or scale.shape != values.shape[:1]:
            raise ValueError(f"{name} has no scale for each of its rows")
        return cls(values, cast("npt.NDArray[np.float16]", scale))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, index: npt.NDArray[np.integer] | slice) -> FloatArray:  # [..., size]
        """The rows of these numbers: they are chosen first, and only they are converted."""
        found = self.values[index].astype(np.float32)
        if self.scale is not None:
            found *= self.scale[index].astype(np.float32)[..., None]
        return found

    def all(self) -> FloatArray:
        """A copy of all weights."""
        return self.rows(slice(None)) if self.values.ndim else self.values.astype(np.float32)


def stored_tables(arrays: Mapping[str, StoredArray], form: TableForm) -> dict[str, StoredTable]:
    """The weights of a file, each with its scale if it has one.

    Args:
        arrays: What the file holds.
        form: How the weights were saved.

    Raises:
        ValueError: They are not in this form.
    """
    if form == "float32":
        dtypes = {values.dtype for values in arrays.values()}
        if len(dtypes) != 1 or not np.issubdtype(dtypes.pop(), np.floating):
            raise ValueError("must hold floating-point numbers of one precision")
        return {name: StoredTable(values) for name, values in arrays.items()}
    scales = {name + SCALE for name, values in arrays.items() if values.dtype == np.int8}
    return {name: StoredTable.of(arrays, name) for name in arrays if name not in scales}
