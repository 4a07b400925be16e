"""Charts over all spans of a sentence, and the sum over all its trees (the inside algorithm).

Spans are ordered by width, then by start, so the spans of one width are a slice, and so are their parts. A table of
scores is `[spans, trees]`, sized for the longest sentence of the batch; rows beyond a shorter sentence are ignored.

A tree has exactly one derivation (see `penn_spans.derive`). A span is *closed* when it is a phrase or a word, and
*open* when it only holds the first parts of a wider phrase. The left part of a span may be either, the right part is
closed, and so is the whole sentence. For a span over several words, `closed = splits + phrase score` and
`open = splits + part score`, where `splits` sums (or maximizes) over the places where the span can be split.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.pointers import ChartOrder

_LONGEST_KEPT = 100
"""Borders are cached up to this sentence length: those of longer sentences are large and rarely needed."""


Borders = tuple[Int[Tensor, " spans"], Int[Tensor, " spans"]]


def span_borders(num_words: int, device: torch.device | str = "cpu") -> Borders:
    """Return the start and the end of every span, in chart order."""
    if num_words > _LONGEST_KEPT:
        return _make_borders(num_words, device)
    return _kept_borders(num_words, str(device))


@lru_cache(maxsize=512)
def _kept_borders(num_words: int, device: str) -> Borders:
    """Cached on the device: sending them with every batch would make the host wait for the GPU."""
    return _make_borders(num_words, device)


def _make_borders(num_words: int, device: torch.device | str) -> Borders:
    # Tensors created in inference mode could not be used in training later.
    with torch.inference_mode(False):
        starts, ends = ChartOrder(num_words).borders()
        return torch.from_numpy(starts).to(device), torch.from_numpy(ends).to(device)


class SplitCharts:
    """Two charts `[words, widths, trees]` in which the left and right parts of all spans of one width are slices.

    `lefts[start, width - 1]` scores a span as a left part, `rights[end - 1, words - width]` as a right part: for a
    given total width, the widths of the left parts increase as those of the right parts decrease. More dimensions
    may follow, such as ranks where a sentence has several trees.
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
        """Return the index into `rights` of the spans that are whole sentences."""
        return lengths - 1, self.num_words - lengths, torch.arange(len(lengths), device=lengths.device)


def sum_labels(
    scores: Float[Tensor, "spans trees labels"], num_words: int
) -> tuple[Float[Tensor, "spans trees"], Float[Tensor, "spans trees"]]:
    """Return the scores of each span as a phrase with any label, and as the first parts of a wider phrase.

    A word is closed even if it is not a phrase by itself, so all labels count for words.
    """
    words = scores[:num_words].logsumexp(2)
    phrases = scores[num_words:, :, NO_PHRASE + 1 :].logsumexp(2)
    return torch.cat([words, phrases]), scores[:, :, NO_PHRASE]


def log_partition(
    phrase_scores: Float[Tensor, "spans trees"],
    part_scores: Float[Tensor, "spans trees"],
    lengths: Int[Tensor, " trees"],
) -> Float[Tensor, " trees"]:
    """Return, for each sentence, the log of the sum of exp(score) over all its trees.

    Its gradient is the probability of each span.
    """
    return cast(Tensor, _LogPartition.apply(phrase_scores, part_scores, lengths))


def _sum_of_exponentials(x: Float[Tensor, "starts splits trees"]) -> Float[Tensor, "starts trees"]:
    """logsumexp over the splits, in place; torch's own also handles infinite scores, at twice the cost."""
    largest = x.amax(1)
    return x.sub_(largest.unsqueeze(1)).exp_().sum(1).log_().add_(largest)


class _LogPartition(torch.autograd.Function):
    """The inside algorithm, width by width; its backward pass is the outside algorithm.

    Both are written by hand: autograd cannot follow a chart that is filled in place, and rebuilding the chart at
    every width would cost as much as everything else.
    """

    @staticmethod
    def forward(ctx: Any, phrase_scores: Tensor, part_scores: Tensor, lengths: Tensor) -> Tensor:
        order = ChartOrder.of_spans(len(phrase_scores))
        either_scores = torch.logaddexp(phrase_scores, part_scores)
        charts = SplitCharts(order.num_words, (len(lengths),), phrase_scores)
        splits = torch.zeros_like(phrase_scores)
        charts.as_left(1).copy_(phrase_scores[order.rows(1)])
        charts.as_right(1).copy_(phrase_scores[order.rows(1)])
        for width in range(2, order.num_words + 1):
            rows = order.rows(width)
            sums = _sum_of_exponentials(charts.left_parts(width) + charts.right_parts(width))
            splits[rows] = sums
            torch.add(sums, either_scores[rows], out=charts.as_left(width))
            torch.add(sums, phrase_scores[rows], out=charts.as_right(width))
        ctx.save_for_backward(phrase_scores, part_scores, splits, charts.lefts, charts.rights, lengths)
        return charts.rights[charts.sentences(lengths)]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        phrase_scores, part_scores, splits, lefts, rights, lengths = ctx.saved_tensors
        order = ChartOrder.of_spans(len(phrase_scores))
        charts = SplitCharts(order.num_words, (len(lengths),), phrase_scores)
        outside = SplitCharts(order.num_words, (len(lengths),), phrase_scores)
        charts.lefts, charts.rights = lefts, rights
        outside.rights[charts.sentences(lengths)] = gradients[0]
        closed_shares = torch.sigmoid(phrase_scores - part_scores)
        d_phrase, d_part = torch.zeros_like(phrase_scores), torch.zeros_like(part_scores)
        for width in range(order.num_words, 1, -1):
            rows = order.rows(width)
            closed = outside.as_left(width) * closed_shares[rows]
            torch.add(outside.as_right(width), closed, out=d_phrase[rows])
            torch.sub(outside.as_left(width), closed, out=d_part[rows])
            d_splits = outside.as_left(width) + outside.as_right(width)
            shares = charts.left_parts(width) + charts.right_parts(width)
            shares.sub_(splits[rows].unsqueeze(1)).exp_().mul_(d_splits.unsqueeze(1))
            outside.left_parts(width).add_(shares)
            outside.right_parts(width).add_(shares)
        torch.add(outside.as_left(1), outside.as_right(1), out=d_phrase[order.rows(1)])
        return d_phrase, d_part, None
