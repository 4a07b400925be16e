"""Takes the texts out of what holds many of them: lists, NumPy arrays, and columns of data frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, cast

from lexitree.errors import TextError

_WAYS_TO_A_LIST = ("to_list", "tolist", "to_pylist")
"""The methods of polars and pandas, NumPy, and Arrow; none of these packages is imported."""

_NOT_COLUMNS: tuple[type, ...] = (str, bytes, bytearray, memoryview)
"""Sequences whose items are no texts."""

_NULL_TYPES = ("NAType", "NaTType")
"""pandas' own null values, which cannot be compared with anything."""


class ListedColumn(Protocol):
    """A column of pandas or polars, or an array of NumPy."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...


TextColumn = Sequence[str | None] | ListedColumn
"""Many texts, some of which may be missing."""


def is_null(value: object) -> bool:
    """Whether a value of a column stands for nothing: None, NaN, or a null of pandas."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in _NULL_TYPES
    )


def column_values(column: Any) -> list[Any]:
    """The values of a column, in their order.

    Args:
        column: A list, tuple or other sequence, a NumPy array of one dimension, or a column of pandas, polars, Arrow
            or Hugging Face datasets.

    Raises:
        TextError: It is none of these, such as a whole table, a dictionary or a generator.
    """
    if _is_sequence(column):
        return list(column)
    if getattr(column, "ndim", 1) != 1 or hasattr(column, "columns") or hasattr(column, "column_names"):
        raise TextError(
            "is a whole table",
            remedy='Give one column of it, such as table["comment"].',
            subject=f"this {type(column).__name__}",
        )
    for name in _WAYS_TO_A_LIST:
        if callable(way := getattr(column, name, None)):
            values = way()
            if isinstance(values, list):
                return cast("list[Any]", values)
    raise TextError(
        f"is not a string but of type {type(column).__name__}",
        remedy="Give one text, or a list or column of texts; `stream` takes any other iterable.",
    )


def _is_sequence(column: object) -> bool:
    return isinstance(column, Sequence) and not isinstance(column, _NOT_COLUMNS)


def texts_of_column(column: Any) -> list[Any]:
    """The texts of a column, with an empty text where there is none; see `column_values`."""
    return ["" if is_null(value) else value for value in column_values(column)]
