"""The number of words in, the order of the spans in all charts out.

Spans stand by width, then by start: the spans of one width are a slice, and so are the parts of all of them. A table
of scores is `[spans, trees]`, for the longest sentence of the batch; what lies beyond a shorter one is ignored.

A tree has one derivation (see `penn_spans.derive`): a span is *closed* when it is a phrase or a word, and *open* when
it only holds the first parts of a wider phrase. The left part of a span may be either, the right part is closed, and
so is the whole sentence. For a span over several words, `closed = splits + phrase score` and
`open = splits + part score`, where `splits` sums, or chooses, over the places where it can be split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class ChartOrder:
    """Where each span of a sentence of `num_words` words stands."""

    num_words: int

    @property
    def num_spans(self) -> int:
        return self.num_words * (self.num_words + 1) // 2

    def first(self, width: int) -> int:
        """The row of the first span of a width; width + start counts on from there."""
        return (width - 1) * self.num_words - (width - 1) * (width - 2) // 2

    def rows(self, width: int) -> slice:
        """The rows of all spans of a width."""
        return slice(self.first(width), self.first(width + 1))

    def row(self, start: int, width: int) -> int:
        return self.first(width) + start


def span_borders(
    num_words: int, device: torch.device | str = "cpu"
) -> tuple[Int[Tensor, " spans"], Int[Tensor, " spans"]]:
    """The start and the end of every span, in the order of the chart."""
    starts, ends = _span_borders(num_words)
    return torch.from_numpy(starts).to(device), torch.from_numpy(ends).to(device)


@lru_cache(maxsize=512)
def _span_borders(num_words: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Kept as arrays: a tensor made where nothing is trained could not be used where something is."""
    widths = np.arange(1, num_words + 1)
    counts = num_words + 1 - widths
    starts: npt.NDArray[np.int64] = np.arange(int(counts.sum())) - np.repeat(counts.cumsum() - counts, counts)
    return starts, starts + np.repeat(widths, counts)


class SplitCharts:
    """Two charts `[words, widths, trees]`, in which the left and the right parts of all spans of a width are slices.

    `lefts[start, width - 1]` is what a span counts as a left part, `rights[end - 1, words - width]` as a right part:
    for a fixed width of the whole, the widths of the left parts run up as those of the right parts run down.
    More dimensions may follow: ranks, where a sentence has several trees.
    """

    def __init__(self, num_words: int, trees: tuple[int, ...], like: Tensor) -> None:
        self.num_words = num_words
        self.lefts = like.new_zeros(num_words, num_words, *trees)
        self.rights = like.new_zeros(num_words, num_words, *trees)

    def left_parts(self, width: int) -> Float[Tensor, "starts splits ..."]:
        return self.lefts[: self.num_words + 1 - width, : width - 1]

    def right_parts(self, width: int) -> Float[Tensor, "starts splits ..."]:
        return self.rights[width - 1 :, self.num_words + 1 - width :]

    def as_left(self, width: int) -> Float[Tensor, "starts ..."]:
        return self.lefts[: self.num_words + 1 - width, width - 1]

    def as_right(self, width: int) -> Float[Tensor, "starts ..."]:
        return self.rights[width - 1 :, self.num_words - width]

    def sentences(self, lengths: Int[Tensor, " trees"]) -> tuple[Tensor, Tensor, Tensor]:
        """The places in `rights` of the spans that are whole sentences."""
        return lengths - 1, self.num_words - lengths, torch.arange(len(lengths), device=lengths.device)
