"""The order of spans in a chart, and the pointers by which the best tree is found in it, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lexitree.arrays import BoolArray, IndexArray
from lexitree.parsers.penn_spans import NO_PHRASE

if TYPE_CHECKING:
    from torch import Tensor

LabelledSpan = tuple[int, int, int]
"""Start, end and label number."""


@dataclass(frozen=True, slots=True)
class ChartOrder:
    """The row of every span of a sentence of `num_words` words."""

    num_words: int

    @property
    def num_spans(self) -> int:
        return self.num_words * (self.num_words + 1) // 2

    def first(self, width: int) -> int:
        """Return the row of the first span of a width; starts count on from there."""
        return (width - 1) * self.num_words - (width - 1) * (width - 2) // 2

    def rows(self, width: int) -> slice:
        """Return the rows of all spans of a width."""
        return slice(self.first(width), self.first(width + 1))

    def row(self, start: int, width: int) -> int:
        return self.first(width) + start

    def borders(self) -> tuple[IndexArray, IndexArray]:
        """Return the start and the end of every span."""
        widths = np.arange(1, self.num_words + 1)
        counts = self.num_words + 1 - widths
        starts = np.arange(self.num_spans) - np.repeat(np.cumsum(counts) - counts, counts)
        return starts, starts + np.repeat(widths, counts)

    @classmethod
    def of_spans(cls, num_spans: int) -> ChartOrder:
        """The order of a chart with this many spans."""
        num_words = int((2 * num_spans) ** 0.5)
        assert num_words * (num_words + 1) == 2 * num_spans
        return cls(num_words)


_SPLIT_BITS = 10
"""A pointer holds the split of a span in its lowest bits: sentences have fewer than 2^10 words."""
_SPLIT_MASK = (1 << _SPLIT_BITS) - 1
_LABEL_SHIFT = _SPLIT_BITS + 1


class Pointers(NamedTuple):
    """What the search has found for some spans, taken apart."""

    splits: IndexArray
    """The width of each span's left part, less 1."""
    is_closed: BoolArray
    """Whether a span scores higher as a phrase where it is a left part."""
    labels: IndexArray
    """The best label of the span as a phrase; for a word possibly NO_PHRASE."""

    @classmethod
    def unpack(cls, packed: npt.NDArray[np.int32]) -> Pointers:
        numbers = packed.astype(np.int64)
        return cls(numbers & _SPLIT_MASK, (numbers & (1 << _SPLIT_BITS)) != 0, numbers >> _LABEL_SHIFT)


Numbers = TypeVar("Numbers", npt.NDArray[np.integer], "Tensor")


def pack_pointers(splits: Numbers, is_closed: Any, labels: Numbers) -> Numbers:
    """Pack what the search has found into one number for each span, so that it leaves a GPU in one piece.

    The arrays, of NumPy or torch, have integers of 64 bits; the result fits into 32.
    """
    return splits + (is_closed << _SPLIT_BITS) + (labels << _LABEL_SHIFT)


def follow_pointers(
    pointers: npt.NDArray[np.int32], order: ChartOrder, length: int
) -> list[LabelledSpan]:  # [spans]
    """Return the phrases of one sentence's best tree in pre-order; `flat_parsing` follows those of many at once."""
    splits, is_closed, labels = (each.tolist() for each in Pointers.unpack(pointers))
    found: list[LabelledSpan] = []
    waiting = [(0, length, True)]
    while waiting:
        start, width, closed = waiting.pop()
        row = order.row(start, width)
        if (closed or is_closed[row]) and labels[row] != NO_PHRASE:
            found.append((start, start + width, labels[row]))
        if width > 1:
            left = splits[row] + 1
            waiting.append((start + left, width - left, True))
            waiting.append((start, left, left == 1))
    return found
