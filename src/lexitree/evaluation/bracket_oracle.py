"""How good the best choice among several candidate trees would be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.errors import OnError
from lexitree.evaluation.bracket_counts import (
    COLLINS,
    BracketRules,
    SentenceCounts,
    TagSource,
    check_tag_source,
    count_sentence,
)
from lexitree.evaluation.bracket_score import BracketScores, pair_trees, sum_up
from lexitree.trees.tree import Tree

NO_CHOICE = -1


@dataclass(frozen=True, slots=True)
class RandomScore:
    """What drawing one of the candidates of each sentence by chance gives.

    The shares are those of the mean numbers of brackets, which is what F1 over many sentences comes to.
    """

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class OracleScores:
    """The range in which a reranker moves."""

    best: BracketScores
    """With the candidate of the highest F1 for each sentence, the earlier one of equals."""
    first: BracketScores
    """With the first candidate for each: what the parser gives without a reranker."""
    random: RandomScore
    chosen: npt.NDArray[np.int64]
    """[sentences]: the place of the best candidate, from 0; -1 where there is none."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "best": self.best.as_dict(),
            "first": self.first.as_dict(),
            "random": {name: getattr(self.random, name) for name in RandomScore.__slots__},
        }


def oracle_score(
    gold: Iterable[Tree],
    candidates: Iterable[Sequence[Tree]],
    *,
    tags: TagSource = "gold",
    on_error: OnError = "raise",
    rules: BracketRules = COLLINS,
) -> OracleScores:
    """Score the best, the first and any of the candidates that a parser has for each sentence.

    A sentence without candidates is skipped. With `on_error="skip"` candidates over other words are never chosen; a
    sentence that has no others is an error. See `score_brackets` for the rest.
    """
    check_tag_source(tags)
    lists = [
        # A sentence without candidates counts as one without a tree.
        [count_sentence(tree, guess, tags, rules) for guess in guesses or (None,)]
        for tree, guesses in pair_trees(gold, candidates)
    ]
    return sum_up_candidates(lists, on_error)


def sum_up_candidates(lists: Sequence[Sequence[SentenceCounts]], on_error: OnError = "raise") -> OracleScores:
    """The same of candidates that were counted one by one; those of a sentence from the parser's first on."""
    if on_error == "raise":
        sum_up(_with_errors_first(lists))
    chosen = [_find_best(counts) for counts in lists]
    return OracleScores(
        best=sum_up((counts[max(best, 0)] for counts, best in zip(lists, chosen, strict=True)), on_error),
        first=sum_up((counts[0] for counts in lists), on_error),
        random=_mean_score(lists),
        chosen=np.array(chosen, dtype=np.int64),
    )


def _with_errors_first(lists: Sequence[Sequence[SentenceCounts]]) -> Iterator[SentenceCounts]:
    """One of the candidates of each sentence, an erroneous one where there is one."""
    return (next((sentence for sentence in counts if sentence.is_error), counts[0]) for counts in lists)


def _find_best(counts: Sequence[SentenceCounts]) -> int:
    """The place of the valid candidate with the highest F1; of equals, max takes the first."""
    valid = [place for place, sentence in enumerate(counts) if sentence.is_valid]
    return max(valid, key=lambda place: counts[place].f1, default=NO_CHOICE)


def _mean_score(lists: Sequence[Sequence[SentenceCounts]]) -> RandomScore:
    """Every valid candidate of a sentence is drawn as often as any other of its candidates."""
    means = np.zeros(3)
    for counts in lists:
        rows = [
            (sentence.matched, sentence.gold, sentence.guessed) for sentence in counts if sentence.is_valid
        ]
        if rows:
            means += np.mean(rows, axis=0)
    matched, gold, guessed = means.tolist()
    return RandomScore(
        precision=matched / guessed if guessed else 0.0,
        recall=matched / gold if gold else 0.0,
        f1=2 * matched / (gold + guessed) if gold + guessed else 0.0,
    )
