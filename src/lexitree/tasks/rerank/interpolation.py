"""Scores of the tree model and of the parser in, the weight of the parser's score that development data likes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lexitree.arrays import DoubleArray
from lexitree.evaluation.significance import TIE_DECIMALS
from lexitree.tasks.rerank.examples import GoldCounts

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


def choice_f1(lists: Sequence[ScoredList], choices: Sequence[int]) -> float:
    """The labelled F1 of one choice from each list; brackets are added up before anything is divided."""
    matched = brackets = 0
    for scored, choice in zip(lists, choices, strict=True):
        assert scored.counts is not None
        matched += int(scored.counts.matched[choice])
        brackets += int(scored.counts.guessed[choice]) + scored.counts.gold
    return 2 * matched / brackets if brackets else 0.0


def weight_f1(lists: Sequence[ScoredList], weight: float) -> float:
    return choice_f1(lists, [scored.choose(weight) for scored in lists])


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
