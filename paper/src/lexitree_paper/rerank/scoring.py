"""Scoring candidates with a model, and weighting its scores against those of the parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from lexitree.arrays import DoubleArray
from lexitree.errors import NotFiniteError
from lexitree.evaluation.significance import TIE_DECIMALS
from lexitree.models.tensor_inference import without_dropout
from lexitree.ops.openmp import one_thread
from lexitree_paper.rerank.batches import batch_lists
from lexitree_paper.rerank.examples import GoldCounts, ListExample
from lexitree_paper.rerank.model import RerankerModel

WEIGHTS: tuple[float, ...] = (0.0, *(round(2.0 ** (step / 4), 4) for step in range(-20, 25)))
"""The weights that are tried: none, and from 1/32 to 64."""

NEIGHBOURS = 8
"""A weight is judged with as many on each side of it: one that is good by chance stands alone."""


@dataclass(frozen=True, slots=True)
class ScoredList:
    """A list with what both sides think of its candidates."""

    tree_scores: DoubleArray  # [candidates]
    base_scores: DoubleArray  # [candidates]
    counts: GoldCounts | None

    def choose(self, weight: float) -> int:
        """The place of the candidate with the highest sum."""
        return rank_places(self.tree_scores + weight * self.base_scores, self.base_scores)[0]


def rank_places(totals: DoubleArray, base_scores: DoubleArray) -> list[int]:
    """Places from the highest total on; of equals first what the parser likes more, then what comes earlier."""
    return np.lexsort((-base_scores, -totals)).tolist()


def weight_f1(lists: Sequence[ScoredList], weight: float) -> float:
    """The labelled F1 of the candidates that a weight chooses, over all lists together."""
    matched = brackets = 0
    for scored in lists:
        assert scored.counts is not None
        choice = scored.choose(weight)
        matched += int(scored.counts.matched[choice])
        brackets += int(scored.counts.guessed[choice]) + scored.counts.gold
    return 2 * matched / brackets if brackets else 0.0


class WeightChoice(NamedTuple):
    """The weight that development lists like best."""

    weight: float
    f1: float
    """What it gives on them."""
    mean_f1: float
    """The mean of what it and its neighbours give: the steadier figure, by which it was chosen."""


def choose_weight(lists: Sequence[ScoredList], weights: Sequence[float] = WEIGHTS) -> WeightChoice:
    """The weight whose neighbourhood has the best mean F1; of equals the larger one, nearer to the parser."""
    scores = [weight_f1(lists, weight) for weight in weights]
    means = [
        # Rounded: what differs by less is no difference.
        round(float(np.mean(scores[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1])), TIE_DECIMALS)
        for place in range(len(scores))
    ]
    best = max(range(len(weights)), key=lambda place: (means[place], weights[place]))
    return WeightChoice(weights[best], scores[best], means[best])


LISTS_AT_ONCE = 256
"""So many lists are read ahead, to be sorted by length."""

MAX_BATCH_NODES = 12_000
"""A batch takes lists until it has this many nodes, so memory is bounded by the longest list."""


def score_lists(
    model: RerankerModel, examples: Iterable[ListExample], *, read_ahead: int = LISTS_AT_ONCE
) -> Iterator[ScoredList]:
    """What the model and the parser think of the candidates of each list, in the order of the lists."""
    waiting = iter(examples)
    with without_dropout(model):
        while window := list(islice(waiting, read_ahead)):
            yield from _score_window(model, window)


def _score_window(model: RerankerModel, window: Sequence[ListExample]) -> list[ScoredList]:
    """Lists of about one length go together: their levels are equally wide."""
    order = sorted(range(len(window)), key=lambda place: len(window[place].word_index))
    found: dict[int, DoubleArray] = {}
    for places in _group_by_nodes(order, [_num_nodes(model, example) for example in window]):
        found.update(zip(places, _score_batch(model, [window[place] for place in places]), strict=True))
    return [
        ScoredList(found[place], example.base_scores, example.counts) for place, example in enumerate(window)
    ]


def _num_nodes(model: RerankerModel, example: ListExample) -> int:
    shared = model.shares_subtrees and not model.goes_down
    return example.binary.forest.num_nodes if shared else len(example.label_index)


def _group_by_nodes(order: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    num_nodes = 0
    for place in order:
        if group and num_nodes + sizes[place] > MAX_BATCH_NODES:
            yield group
            group, num_nodes = [], 0
        group.append(place)
        num_nodes += sizes[place]
    if group:
        yield group


@torch.inference_mode()
@one_thread()
def _score_batch(model: RerankerModel, examples: Sequence[ListExample]) -> list[DoubleArray]:
    batch = batch_lists(examples, model.device, goes_down=model.goes_down, shares=model.shares_subtrees)
    scores = model(batch).double().cpu().numpy()
    if not np.isfinite(scores).all():
        raise NotFiniteError(
            "the reranker's scores are not numbers: its weights are not finite",
            remedy="Train it anew, with a smaller learning rate, or copy it again.",
        )
    ends = np.cumsum([example.num_candidates for example in examples])
    return np.split(scores, ends[:-1])
