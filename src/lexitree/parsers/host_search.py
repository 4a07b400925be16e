"""Finds the best trees with NumPy: of a few sentences, where its calls cost the least, or if there are no kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lexitree.arrays import FloatArray, IndexArray
from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.pointers import ChartOrder, pack_pointers

FEW_TREES = 4
"""The trees of so few sentences are found here, and followed one by one: that takes fewer and cheaper calls."""


def best_labels_on_host(scores: FloatArray) -> tuple[FloatArray, IndexArray]:  # [spans, trees] each
    """Return the score and the number of the best label of each closed span; see `best_trees.best_labels`.

    Args:
        scores: [spans, trees, labels].
    """
    num_words = ChartOrder.of_spans(len(scores)).num_words
    labels = scores.argmax(2)
    # Only words may take NO_PHRASE.
    labels[num_words:] = scores[num_words:, :, NO_PHRASE + 1 :].argmax(2) + NO_PHRASE + 1
    return np.take_along_axis(scores, labels[:, :, None], 2)[:, :, 0], labels


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
