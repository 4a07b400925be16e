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
from lexitree.evaluation.bracket_figures import Matches
from lexitree.evaluation.bracket_score import BracketScores, pair_trees, sum_up
from lexitree.trees.tree import Tree

NO_CHOICE = -1


@dataclass(frozen=True, slots=True)
class OracleScores:
    """The bounds of what a reranker can reach."""

    best: BracketScores
    """Choosing the candidate with the highest F1; the first of equals."""
    first: BracketScores
    """Choosing the first candidate, as the parser does without a reranker."""
    random: Matches
    """Choosing a candidate at random: the mean counts of brackets, whose F1 that of many sentences approaches."""
    chosen: npt.NDArray[np.int64]
    """[sentences]: index of the best candidate, -1 without one."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "best": self.best.as_dict(),
            "first": self.first.as_dict(),
            "random": self.random.shares(),
        }


def oracle_score(
    gold: Iterable[Tree],
    candidates: Iterable[Sequence[Tree]],
    *,
    tags: TagSource = "gold",
    on_error: OnError = "raise",
    rules: BracketRules = COLLINS,
) -> OracleScores:
    """Score the best, the first and a random candidate of each sentence.

    Args:
        gold: Gold trees.
        candidates: The candidate trees of each sentence; a sentence without candidates is skipped.
        tags: Which tags mark punctuation; see `score_brackets`.
        on_error: On candidates with other words: raise an error, or never choose them.
        rules: What counts as a bracket.

    Returns:
        The three scores, and the index of the best candidate of each sentence.

    Raises:
        TreeError: The numbers of sentences differ, or words differ and `on_error` is "raise".
    """
    check_tag_source(tags)
    lists = [
        # A sentence without candidates counts as one without a tree.
        [count_sentence(tree, guess, tags, rules) for guess in guesses or (None,)]
        for tree, guesses in pair_trees(gold, candidates)
    ]
    return summarize_candidates(lists, on_error)


def summarize_candidates(
    lists: Sequence[Sequence[SentenceCounts]], on_error: OnError = "raise"
) -> OracleScores:
    """Compute the oracle scores from counts; the candidates of a sentence are in the parser's order."""
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
    """Yield one candidate per sentence, an erroneous one if there is one."""
    return (next((sentence for sentence in counts if sentence.is_error), counts[0]) for counts in lists)


def _find_best(counts: Sequence[SentenceCounts]) -> int:
    """Return the index of the valid candidate with the highest F1; max takes the first of equals."""
    valid = [place for place, sentence in enumerate(counts) if sentence.is_valid]
    return max(valid, key=lambda place: counts[place].f1, default=NO_CHOICE)


def _mean_score(lists: Sequence[Sequence[SentenceCounts]]) -> Matches:
    """Average over the valid candidates of each sentence, all equally likely."""
    means = np.zeros(3)
    for counts in lists:
        rows = [
            (sentence.matched, sentence.gold, sentence.guessed) for sentence in counts if sentence.is_valid
        ]
        if rows:
            means += np.mean(rows, axis=0)
    matched, gold, guessed = means.tolist()
    return Matches(matched=matched, gold=gold, guessed=guessed)
