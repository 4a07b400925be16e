"""Every tree of a short sentence, written out: what the charts must agree with."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from lexitree.parsers.penn_spans import derive
from lexitree.parsers.pointers import ChartOrder, LabelledSpan
from lexitree.trees.flat_parses import ParseLabels, SentenceParse
from lexitree.trees.tree import Tree


def all_trees(num_words: int, num_labels: int) -> Iterator[Tree]:
    """All trees over words, each phrase with one of the labels "1", "2", ...; words may have a phrase or not."""
    for spans in _phrases(0, num_words, num_labels):
        yield tree_of_spans(spans, num_words)


def tree_of_spans(spans: Iterable[LabelledSpan], num_words: int) -> Tree:
    """The tree of phrases in pre-order, which have their numbers as labels."""
    phrases = np.array(list(spans), dtype=np.int32).reshape(-1, 3)
    labels = ParseLabels.joined([str(label) for label in range(10)], ["T"])
    parse = SentenceParse(labels, np.zeros(num_words, dtype=np.int32), phrases)
    return parse.tree([f"w{number}" for number in range(num_words)])


def _phrases(start: int, end: int, num_labels: int) -> Iterator[tuple[LabelledSpan, ...]]:
    labels = range(1, num_labels + 1)
    if end - start == 1:
        yield ()
        yield from (((start, end, label),) for label in labels)
        return
    for borders in _divisions(start, end):
        parts = [list(_phrases(*part, num_labels)) for part in itertools.pairwise(borders)]
        for choice in itertools.product(*parts):
            below = tuple(itertools.chain(*choice))
            yield from (((start, end, label), *below) for label in labels)


def _divisions(start: int, end: int) -> Iterator[tuple[int, ...]]:
    inner = range(start + 1, end)
    for count in range(1, len(inner) + 1):
        for borders in itertools.combinations(inner, count):
            yield (start, *borders, end)


def score_tree(tree: Tree, scores: Tensor, column: int = 0) -> Tensor:
    """The sum of the scores of its derivation's spans; the chart may be one of a longer sentence."""
    num_spans, _, num_labels = scores.shape
    order = ChartOrder(int((2 * num_spans) ** 0.5))
    numbers = {str(label): label for label in range(1, num_labels)}
    starts, widths, labels = derive(tree, numbers)
    rows = [order.row(start, width) for start, width in zip(starts.tolist(), widths.tolist(), strict=True)]
    return scores[rows, column, labels.tolist()].sum()


def random_scores(num_words: int, num_trees: int, num_labels: int, seed: int = 0) -> Tensor:
    """Scores of all spans, with `num_labels` phrase labels beside "no phrase"."""
    generator = torch.Generator().manual_seed(seed)
    num_spans = num_words * (num_words + 1) // 2
    return torch.randn(num_spans, num_trees, num_labels + 1, generator=generator, dtype=torch.float64)
