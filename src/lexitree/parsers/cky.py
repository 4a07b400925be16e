"""Scores of spans in, the best tree of every sentence out: exact, all spans of one width at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.parsers.chart import ChartOrder, SplitCharts
from lexitree.parsers.inside import num_words_of
from lexitree.parsers.penn_spans import NO_PHRASE

LabelledSpan = tuple[int, int, int]
"""Start, end and the number of the label."""


@dataclass(frozen=True, slots=True)
class BestTrees:
    """The best tree of each sentence, as pointers from every span to its parts."""

    num_words: int
    splits: npt.NDArray[np.int64]  # [spans, trees]
    labels: npt.NDArray[np.int64]  # [spans, trees]
    """The best label of the span as a phrase; of a word, also NO_PHRASE."""
    is_closed: npt.NDArray[np.bool_]  # [spans, trees]
    """Whether the span, where it is a left part, had better be a phrase."""
    scores: Float[Tensor, " trees"]

    def spans(self, tree: int, length: int) -> list[LabelledSpan]:
        """The phrases of the best tree of a sentence in pre-order."""
        order = ChartOrder(self.num_words)
        splits, labels, is_closed = self.splits[:, tree], self.labels[:, tree], self.is_closed[:, tree]
        found: list[LabelledSpan] = []
        waiting = [(0, length, True)]
        while waiting:
            start, width, closed = waiting.pop()
            row = order.row(start, width)
            if (closed or is_closed[row]) and labels[row] != NO_PHRASE:
                found.append((start, start + width, int(labels[row])))
            if width > 1:
                left = int(splits[row]) + 1
                waiting.append((start + left, width - left, True))
                waiting.append((start, left, left == 1))
        return found


@torch.no_grad()
def find_best_trees(scores: Float[Tensor, "spans trees labels"], lengths: Int[Tensor, " trees"]) -> BestTrees:
    """The tree with the highest score for each sentence of a batch (Cocke, Kasami and Younger)."""
    order = ChartOrder(num_words_of(len(scores)))
    phrase_scores, labels = best_labels(scores, order.num_words)
    part_scores = scores[:, :, NO_PHRASE]
    either_scores = torch.maximum(phrase_scores, part_scores)
    charts = SplitCharts(order.num_words, (len(lengths),), scores)
    splits = torch.zeros_like(labels)
    charts.as_left(1).copy_(phrase_scores[order.rows(1)])
    charts.as_right(1).copy_(phrase_scores[order.rows(1)])
    for width in range(2, order.num_words + 1):
        rows = order.rows(width)
        best, splits[rows] = (charts.left_parts(width) + charts.right_parts(width)).max(1)
        torch.add(best, either_scores[rows], out=charts.as_left(width))
        torch.add(best, phrase_scores[rows], out=charts.as_right(width))
    return BestTrees(
        order.num_words,
        splits.numpy(force=True),
        labels.numpy(force=True),
        (phrase_scores >= part_scores).numpy(force=True),
        charts.rights[charts.sentences(lengths)],
    )


def best_labels(
    scores: Float[Tensor, "spans trees labels"], num_words: int
) -> tuple[Float[Tensor, "spans trees"], Int[Tensor, "spans trees"]]:
    """The best label of each span that is closed, with its score: any label for a word, a phrase's for others."""
    word_scores, word_labels = scores[:num_words].max(2)
    phrase_scores, phrase_labels = scores[num_words:, :, NO_PHRASE + 1 :].max(2)
    return torch.cat([word_scores, phrase_scores]), torch.cat([word_labels, phrase_labels + NO_PHRASE + 1])
