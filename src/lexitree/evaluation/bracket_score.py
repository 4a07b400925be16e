"""Labelled precision, recall and F1 of parses, as evalb computes them.

Brackets are summed over all sentences before dividing. See `bracket_counts` for what counts as a bracket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lexitree.errors import ConfigError, OnError, TreeError
from lexitree.evaluation.bracket_counts import (
    COLLINS,
    BracketRules,
    SentenceCounts,
    TagSource,
    check_tag_source,
    count_sentence,
)
from lexitree.evaluation.bracket_figures import BracketScore, LabelScore, LengthScore, SentenceTable
from lexitree.evaluation.significance import (
    CONFIDENCE,
    NUM_RESAMPLES,
    BootstrapResult,
    check_settings,
    draw_resamples,
    summarize_resamples,
)
from lexitree.trees.tree import Tree

_LONGEST_SHORT = 40
"""evalb prints its figures a second time for sentences of up to this many words."""
WORDS_PER_BIN = 10

Guess = TypeVar("Guess")

_NONE_LEFT: Any = object()


@dataclass(frozen=True, slots=True)
class SentenceFault:
    """A sentence that does not count: its number, from 1, and why."""

    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class BracketScores:
    """The figures of all sentences, of short ones, by length and by label, and the counts of each sentence."""

    overall: BracketScore
    short: BracketScore
    """Sentences of up to 40 words, counting punctuation but not traces."""
    by_label: tuple[LabelScore, ...]
    """Most frequent gold label first. ADVP includes PRT, which counts as equal."""
    sentences: SentenceTable
    faults: tuple[SentenceFault, ...]
    """Sentences that do not count: errors and skipped ones."""

    @property
    def precision(self) -> float:
        return self.overall.precision

    @property
    def recall(self) -> float:
        return self.overall.recall

    @property
    def f1(self) -> float:
        return self.overall.f1

    def by_length(self, words_per_bin: int = WORDS_PER_BIN) -> list[LengthScore]:
        """Return the figures of sentences of 1 to 10 words, 11 to 20 and so on, without empty bins."""
        if words_per_bin < 1:
            raise ConfigError("words_per_bin must be at least 1")
        # A tree of nothing but traces has no words; it is counted among the shortest.
        bin_index = np.maximum(self.sentences.length - 1, 0) // words_per_bin
        return [
            LengthScore(
                number * words_per_bin + 1,
                (number + 1) * words_per_bin,
                self.sentences.summarize(bin_index == number),
            )
            for number in np.unique(bin_index).tolist()
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "overall": self.overall.as_dict(),
            "short": self.short.as_dict(),
            "by_length": [score.as_dict() for score in self.by_length()],
            "by_label": [score.as_dict() for score in self.by_label],
            "faults": [asdict(fault) for fault in self.faults],
        }


def score_brackets(
    gold: Iterable[Tree],
    guessed: Iterable[Tree | None],
    *,
    tags: TagSource = "gold",
    on_error: OnError = "raise",
    rules: BracketRules = COLLINS,
) -> BracketScores:
    """Score predicted trees against gold trees of the same sentences, as evalb does with COLLINS.prm.

    Args:
        gold: Gold trees.
        guessed: Predicted trees; None for a sentence without one, which is skipped as in evalb.
        tags: Which tags mark punctuation, which is removed. "gold": the gold tree's tags for both trees. "own": each
            tree's own, as in evalb; a parser that mistags a punctuation mark then has other words than the gold
            tree, and the sentence is an error.
        on_error: If the words of two trees differ (`-LRB-` and `(` are the same): raise an error, or skip the
            sentence and list it among the faults.
        rules: What counts as a bracket.

    Returns:
        Precision, recall, F1 and evalb's other figures, overall, by length and by label.

    Raises:
        TreeError: The numbers of sentences differ, or words differ and `on_error` is "raise".
    """
    check_tag_source(tags)
    counts = (count_sentence(tree, guess, tags, rules) for tree, guess in pair_trees(gold, guessed))
    return sum_up(counts, on_error)


def bracket_bootstrap(
    first: BracketScores,
    second: BracketScores,
    *,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> BootstrapResult:
    """Test the difference in F1 between two parsers by the paired bootstrap.

    Sentences are drawn with replacement, the same for both, and F1 is recomputed for every sample. Sentences that are
    not valid in both are skipped.

    Args:
        first: Scores of the first parser.
        second: Scores of the second parser on the same sentences.
        num_resamples: Number of bootstrap samples.
        confidence: Confidence level of the interval.
        seed: Seed of the random generator.

    Returns:
        The difference, its confidence interval and p values.

    Raises:
        ConfigError: The scores are of different sentences, or no sentence is valid in both.
    """
    tables = (first.sentences, second.sentences)
    if not np.array_equal(tables[0].length, tables[1].length):
        raise ConfigError("a paired test needs the scores of two systems on the same sentences")
    is_valid = tables[0].is_valid & tables[1].is_valid
    if not is_valid.any():
        raise ConfigError("no sentence is valid in both systems")
    check_settings(num_resamples, confidence)
    pairs = [(2 * table.matched[is_valid], (table.gold + table.guessed)[is_valid]) for table in tables]
    num_sentences = int(is_valid.sum())
    differences = [
        np.subtract(*(_f1(matched[drawn].sum(1), brackets[drawn].sum(1)) for matched, brackets in pairs))
        for drawn in draw_resamples(num_sentences, num_resamples, seed)
    ]
    measured = np.subtract(*(_f1(matched.sum(), brackets.sum()) for matched, brackets in pairs))
    return summarize_resamples(float(measured), np.concatenate(differences), confidence, num_sentences)


def share_f1(scores: BracketScores) -> npt.NDArray[np.float64]:
    """Return what each sentence adds to F1: numbers whose mean is F1, and whose spread is that of F1.

    F1 is a ratio of two sums, so the share of a sentence is its part in the linear approximation of F1. With these
    numbers, tests of means (`lexitree.compare_recipes`) are tests of F1.
    """
    table = scores.sentences
    twice_matched, brackets = 2 * table.matched, table.gold + table.guessed
    f1 = _f1(twice_matched.sum(), brackets.sum())
    return f1 + (twice_matched - f1 * brackets) / max(brackets.mean(), 1e-9)


def _f1(twice_matched: npt.ArrayLike, num_brackets: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """F1, or 0 without brackets."""
    return np.asarray(twice_matched) / np.maximum(num_brackets, 1)


def pair_trees(gold: Iterable[Tree], guessed: Iterable[Guess]) -> Iterator[tuple[Tree, Guess]]:
    """Pair gold trees with predictions.

    Raises:
        TreeError: One of them has fewer sentences.
    """
    for number, (tree, guess) in enumerate(zip_longest(gold, guessed, fillvalue=_NONE_LEFT), 1):
        if tree is _NONE_LEFT or guess is _NONE_LEFT:
            raise TreeError(
                f"sentence {number}: there is no {'gold' if tree is _NONE_LEFT else 'predicted'} tree left",
                remedy="Use None for a sentence that the parser has no tree for.",
            )
        yield tree, guess


@dataclass(slots=True)
class _LabelTotals:
    matched: Counter[str] = field(default_factory=Counter[str])
    gold: Counter[str] = field(default_factory=Counter[str])
    guessed: Counter[str] = field(default_factory=Counter[str])

    def add(self, sentence: SentenceCounts) -> None:
        self.matched.update(sentence.matched_labels)
        self.gold.update(sentence.gold_labels)
        self.guessed.update(sentence.guessed_labels)

    def scores(self) -> tuple[LabelScore, ...]:
        labels = sorted(self.gold | self.guessed, key=lambda label: (-self.gold[label], label))
        return tuple(
            LabelScore(
                label=label,
                matched=self.matched[label],
                gold=self.gold[label],
                guessed=self.guessed[label],
            )
            for label in labels
        )


def sum_up(counts: Iterable[SentenceCounts], on_error: OnError = "raise") -> BracketScores:
    """Compute the figures from the counts of sentences."""
    labels = _LabelTotals()
    faults: list[SentenceFault] = []
    table = SentenceTable.from_counts(_noted(counts, labels, faults, on_error))
    return BracketScores(
        overall=table.summarize(np.ones_like(table.is_valid)),
        short=table.summarize(table.length <= _LONGEST_SHORT),
        by_label=labels.scores(),
        sentences=table,
        faults=tuple(faults),
    )


def _noted(
    counts: Iterable[SentenceCounts], labels: _LabelTotals, faults: list[SentenceFault], on_error: OnError
) -> Iterator[SentenceCounts]:
    """Pass sentences on, adding up their labels and listing or raising their faults."""
    for number, sentence in enumerate(counts, 1):
        if sentence.is_error and on_error == "raise":
            raise TreeError(
                f"sentence {number}: {sentence.problem}",
                remedy="Score trees over the same words, or skip such sentences with on_error='skip'.",
            )
        if sentence.problem:
            faults.append(SentenceFault(number, sentence.problem))
        labels.add(sentence)
        yield sentence
