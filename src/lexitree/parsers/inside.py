"""Scores of spans in, the logarithm of the sum over all trees out, with the spans' probabilities as its gradient."""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.parsers.chart import ChartOrder, SplitCharts
from lexitree.parsers.penn_spans import NO_PHRASE


def sum_labels(
    scores: Float[Tensor, "spans trees labels"], num_words: int
) -> tuple[Float[Tensor, "spans trees"], Float[Tensor, "spans trees"]]:
    """The scores of each span as a phrase of whatever label, and as the first parts of one.

    A word without a phrase of its own is closed all the same, so for words all labels count.
    """
    words = scores[:num_words].logsumexp(2)
    phrases = scores[num_words:, :, NO_PHRASE + 1 :].logsumexp(2)
    return torch.cat([words, phrases]), scores[:, :, NO_PHRASE]


def log_partition(
    phrase_scores: Float[Tensor, "spans trees"],
    part_scores: Float[Tensor, "spans trees"],
    lengths: Int[Tensor, " trees"],
) -> Float[Tensor, " trees"]:
    """For each sentence, the logarithm of the sum of exp(score) over all its trees."""
    return cast(Tensor, _LogPartition.apply(phrase_scores, part_scores, lengths))


def num_words_of(num_spans: int) -> int:
    """The number of words of a chart with so many spans."""
    num_words = int((2 * num_spans) ** 0.5)
    assert num_words * (num_words + 1) == 2 * num_spans
    return num_words


def _sum_of_exponentials(x: Float[Tensor, "starts splits trees"]) -> Float[Tensor, "starts trees"]:
    """logsumexp over the splits, in place: torch's own looks out for infinite scores, at twice the price."""
    largest = x.amax(1)
    return x.sub_(largest.unsqueeze(1)).exp_().sum(1).log_().add_(largest)


class _LogPartition(torch.autograd.Function):
    """The inside algorithm, width by width, and backwards the outside algorithm.

    Both are written out: a chart that is filled in place is beyond automatic differentiation, and one that is put
    together anew at every width would cost as much as all the rest.
    """

    @staticmethod
    def forward(ctx: Any, phrase_scores: Tensor, part_scores: Tensor, lengths: Tensor) -> Tensor:
        order = ChartOrder(num_words_of(len(phrase_scores)))
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
        order = ChartOrder(num_words_of(len(phrase_scores)))
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
