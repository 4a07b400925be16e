"""Finds the best tree, or the k best trees, of every sentence from the scores of its spans; the search is exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.arrays import IndexArray
from lexitree.parsers.chart import SplitCharts
from lexitree.parsers.native_network import runs_natively
from lexitree.parsers.native_network import search_trees as search_natively
from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.pointers import ChartOrder, LabelledSpan, follow_pointers, pack_pointers


@dataclass(frozen=True, slots=True)
class BestTrees:
    """The best tree of each sentence, stored as pointers from every span to its parts."""

    num_words: int
    pointers: npt.NDArray[np.int32]  # [spans, trees]
    """See `Pointers`, which are packed here."""
    scores: Float[Tensor, " trees"]

    def spans(self, tree: int, length: int) -> list[LabelledSpan]:
        """Return the phrases of a sentence's best tree in pre-order."""
        return follow_pointers(self.pointers[:, tree], ChartOrder(self.num_words), length)


@torch.no_grad()
def find_best_trees(scores: Float[Tensor, "spans trees labels"], lengths: Int[Tensor, " trees"]) -> BestTrees:
    """Find the highest-scoring tree of each sentence in a batch (the CKY algorithm)."""
    pointers, best = search_trees(scores, lengths)
    return BestTrees(ChartOrder.of_spans(len(scores)).num_words, pointers.numpy(force=True), best)


@torch.no_grad()
def search_trees(
    scores: Float[Tensor, "spans trees labels"], lengths: Int[Tensor, " trees"]
) -> tuple[Int[Tensor, "spans trees"], Float[Tensor, " trees"]]:
    """Return the packed pointers of each sentence's best tree and its score, both where the scores are.

    Nothing waits for the device.
    """
    order = ChartOrder.of_spans(len(scores))
    if runs_natively(scores):
        splits, labels, is_closed, best = search_natively(scores, lengths, order.num_words)
        return pack_pointers(splits, is_closed, labels).int(), best
    phrase_scores, labels = best_labels(scores)
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
    pointers = pack_pointers(splits, phrase_scores >= part_scores, labels).int()
    return pointers, charts.rights[charts.sentences(lengths)]


def best_labels(
    scores: Float[Tensor, "spans trees labels"],
) -> tuple[Float[Tensor, "spans trees"], Int[Tensor, "spans trees"]]:
    """Return the score and the number of the best label of each closed span; only words may take NO_PHRASE."""
    num_words = ChartOrder.of_spans(len(scores)).num_words
    word_scores, word_labels = scores[:num_words].max(2)
    phrase_scores, phrase_labels = scores[num_words:, :, NO_PHRASE + 1 :].max(2)
    return torch.cat([word_scores, phrase_scores]), torch.cat([word_labels, phrase_labels + NO_PHRASE + 1])


@dataclass(frozen=True, slots=True)
class KBestTrees:
    """The k best trees of each sentence, stored as pointers from each rank of a span to ranks of its parts."""

    num_words: int
    pairs: list[tuple[int, int]]
    """The pairs of ranks that pointers refer to."""
    splits: IndexArray  # [spans, trees, ranks]
    """Split and pair of ranks, encoded as one number."""
    closings: IndexArray  # [spans, trees, ranks]
    """For a phrase of this rank: the pair (rank of its split, rank of its label)."""
    labels: IndexArray  # [spans, trees, ranks]
    """The labels of a phrase, best first."""
    choices: IndexArray  # [spans, trees, ranks]
    """For a left part of this rank: its rank as a phrase or, offset by k, its rank as an open span."""
    scores: Float[Tensor, "trees ranks"]
    """Best first; -inf where there are no more trees."""

    def num_trees(self, tree: int) -> int:
        """Return the number of distinct trees found; a short sentence can have fewer than k."""
        return int(self.scores[tree].isfinite().sum())

    def spans(self, tree: int, length: int, rank: int) -> list[LabelledSpan]:
        """Return the phrases of a sentence's tree of the given rank, in pre-order."""
        order = ChartOrder(self.num_words)
        num_ranks = self.labels.shape[2]
        found: list[LabelledSpan] = []
        waiting = [(0, length, True, rank)]
        while waiting:
            start, width, closed, rank = waiting.pop()
            row = order.row(start, width), tree
            if not closed:
                closed, rank = self.choices[row][rank] < num_ranks, int(self.choices[row][rank]) % num_ranks
            if width == 1:
                label = int(self.labels[row][rank])
            else:
                label = NO_PHRASE
                if closed:
                    rank, label_rank = self.pairs[int(self.closings[row][rank])]
                    label = int(self.labels[row][label_rank])
                split, pair = divmod(int(self.splits[row][rank]), len(self.pairs))
                left_rank, right_rank = self.pairs[pair]
                waiting.append((start + split + 1, width - split - 1, True, right_rank))
                waiting.append((start, split + 1, False, left_rank))
            if label != NO_PHRASE:
                found.append((start, start + width, label))
        return found


@torch.no_grad()
def find_k_best_trees(
    scores: Float[Tensor, "spans trees labels"], lengths: Int[Tensor, " trees"], k: int
) -> KBestTrees:
    """Find the k highest-scoring trees of each sentence, best first.

    Every tree has one derivation, so the best derivations are the best distinct trees. When two sorted lists are
    added, only pairs of ranks with fewer than k pairs before them can be among the k best sums.
    """
    order = ChartOrder.of_spans(len(scores))
    pairs = [(first, second) for first in range(k) for second in range(k // (first + 1))]
    firsts, seconds = (torch.tensor(ranks, device=scores.device) for ranks in zip(*pairs, strict=True))
    label_scores, labels = _k_best_labels(scores, order.num_words, k)
    part_scores = scores[:, :, NO_PHRASE].unsqueeze(2)
    charts = SplitCharts(order.num_words, (len(lengths), k), scores)
    splits, closings, choices = (torch.zeros_like(labels) for _ in range(3))
    charts.as_left(1).copy_(label_scores[order.rows(1)])
    charts.as_right(1).copy_(label_scores[order.rows(1)])
    choices[order.rows(1)] = torch.arange(k, device=scores.device)
    for width in range(2, order.num_words + 1):
        rows = order.rows(width)
        sums = charts.left_parts(width)[..., firsts] + charts.right_parts(width)[..., seconds]
        best, splits[rows] = sums.transpose(1, 2).flatten(2).topk(k, 2)
        closed, closings[rows] = (best[..., firsts] + label_scores[rows][..., seconds]).topk(k, 2)
        either, choices[rows] = torch.cat([closed, best + part_scores[rows]], 2).topk(k, 2)
        charts.as_left(width).copy_(either)
        charts.as_right(width).copy_(closed)
    return KBestTrees(
        order.num_words,
        pairs,
        splits.numpy(force=True),
        closings.numpy(force=True),
        labels.numpy(force=True),
        choices.numpy(force=True),
        charts.rights[charts.sentences(lengths)].cpu(),
    )


def _k_best_labels(
    scores: Float[Tensor, "spans trees labels"], num_words: int, k: int
) -> tuple[Float[Tensor, "spans trees ranks"], Int[Tensor, "spans trees ranks"]]:
    """Return the k best labels of each closed span and their scores, padded with -inf."""
    missing = scores.new_full((*scores.shape[:2], k), -torch.inf)
    words = torch.cat([scores, missing], 2)[:num_words].topk(k, 2)
    phrases = torch.cat([scores[:, :, NO_PHRASE + 1 :], missing], 2)[num_words:].topk(k, 2)
    numbers = torch.cat([words.indices, phrases.indices + NO_PHRASE + 1])
    return torch.cat([words.values, phrases.values]), numbers
