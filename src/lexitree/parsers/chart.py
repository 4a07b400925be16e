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

import torch
from jaxtyping import Float, Int
from torch import Tensor

LONGEST_KEPT = 100
"""For how many words the spans' borders are kept: those of longer sentences are many and seldom needed."""


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


Borders = tuple[Int[Tensor, " spans"], Int[Tensor, " spans"]]


def span_borders(num_words: int, device: torch.device | str = "cpu") -> Borders:
    """The start and the end of every span, in the order of the chart."""
    if num_words > LONGEST_KEPT:
        return _make_borders(num_words, device)
    return _kept_borders(num_words, str(device))


@lru_cache(maxsize=512)
def _kept_borders(num_words: int, device: str) -> Borders:
    """Kept where they are needed: sent anew for every batch, they would make the host wait for a GPU."""
    return _make_borders(num_words, device)


def _make_borders(num_words: int, device: torch.device | str) -> Borders:
    # Tensors made where nothing is trained could not be used later where something is.
    with torch.inference_mode(False):
        widths = torch.arange(1, num_words + 1)
        counts = num_words + 1 - widths
        starts = torch.arange(int(counts.sum())) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        ends = starts + widths.repeat_interleave(counts)
        return starts.to(device), ends.to(device)


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
