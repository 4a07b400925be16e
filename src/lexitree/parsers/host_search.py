"""Finds the best trees of a few sentences with NumPy: where levels are narrow, its calls cost the least."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lexitree.arrays import FloatArray
from lexitree.parsers.pointers import ChartOrder, pack_pointers


def search_on_host(
    phrase_scores: FloatArray, part_scores: FloatArray, labels: npt.NDArray[np.integer]
) -> npt.NDArray[np.int32]:  # [spans, trees]
    """Return the packed pointers of each sentence's best tree; see `best_trees.search_trees`, which explains it.

    Args:
        phrase_scores: [spans, trees]: the score of each span with its best label.
        part_scores: [spans, trees]: its score as the first parts of a wider phrase.
        labels: [spans, trees]: the best label of each span.
    """
    order = ChartOrder.of_spans(len(phrase_scores))
    num_words, num_trees = order.num_words, phrase_scores.shape[1]
    either_scores = np.maximum(phrase_scores, part_scores)
    # As in `SplitCharts`: by start and width as left parts, by end and width, from the widest, as right parts.
    lefts, rights = (np.zeros((num_words, num_words, num_trees), dtype=np.float32) for _ in range(2))
    lefts[:, 0] = rights[:, num_words - 1] = phrase_scores[:num_words]
    splits = np.zeros(labels.shape, dtype=np.int64)
    for width in range(2, num_words + 1):
        rows, last = order.rows(width), num_words + 1 - width
        sums = lefts[:last, : width - 1] + rights[width - 1 :, last:]
        splits[rows] = found = sums.argmax(1)
        best = np.take_along_axis(sums, found[:, None], 1)[:, 0]
        lefts[:last, width - 1] = best + either_scores[rows]
        rights[width - 1 :, last - 1] = best + phrase_scores[rows]
    return pack_pointers(splits, phrase_scores >= part_scores, labels.astype(np.int64)).astype(np.int32)
