"""Labelled precision, recall and F1 of parses, as evalb computes them.

Brackets are summed over all sentences before anything is divided. See `bracket_counts` for what a bracket is.
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
    sum_up_resamples,
)
from lexitree.trees.tree import Tree

LONGEST_SHORT = 40
"""evalb prints its figures a second time for the sentences of up to so many words."""
WORDS_PER_BIN = 10

Guess = TypeVar("Guess")

_NONE_LEFT: Any = object()


@dataclass(frozen=True, slots=True)
class SentenceFault:
    """A sentence that does not count, by its number from 1, and why."""

    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class BracketScores:
    """The figures of all sentences, of the short ones, by length and by label, and the counts of each sentence."""

    overall: BracketScore
    short: BracketScore
    """Of the sentences of up to 40 words; punctuation counts as words here, traces do not."""
    by_label: tuple[LabelScore, ...]
    """The most frequent gold label first. ADVP holds PRT, to which it is equal."""
    sentences: SentenceTable
    faults: tuple[SentenceFault, ...]
    """The sentences that do not count, errors and skipped ones."""

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
        """The figures of sentences of 1 to 10 words, 11 to 20 and so on; a bin without sentences is left out."""
        if words_per_bin < 1:
            raise ConfigError("a bin holds at least one length")
        # A tree of nothing but traces has no words; it stands with the shortest.
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
    """Score guessed trees against gold trees of the same sentences, as evalb does with COLLINS.prm.

    `tags` says whose tags tell which words are punctuation and so leave no trace in the spans. With "gold", the gold
    tree's decide for both. With "own", as in evalb, each tree's own do: then a parser that tags one punctuation mark
    as something else has other words than the gold tree, and the sentence is an error, which counts for nothing.

    Words may be written differently where they read the same, as `-LRB-` and `(`. Where they differ, the sentence is
    an error: with `on_error="skip"` it is counted and listed among the faults. None stands for a sentence that the
    parser has no tree for; like evalb, the figures pass over it.
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
    """How sure it is that the F1 of the first system differs from that of the second: the paired bootstrap.

    Sentences are drawn with replacement, the same ones for both, and F1 is computed anew of each drawing. Sentences
    that are not valid in both are left out of both.
    """
    tables = (first.sentences, second.sentences)
    if not np.array_equal(tables[0].length, tables[1].length):
        raise ConfigError("a paired test needs the scores of two systems on the same sentences")
    is_valid = tables[0].is_valid & tables[1].is_valid
    if not is_valid.any():
        raise ConfigError("there is no sentence that is valid in both systems")
    one, other = ((table.matched[is_valid], (table.gold + table.guessed)[is_valid]) for table in tables)
    return f1_bootstrap(one, other, num_resamples=num_resamples, confidence=confidence, seed=seed)


SentenceBrackets = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Of each sentence, the brackets that match, and those of both trees together; of several seeds, their sums."""


def f1_bootstrap(
    first: SentenceBrackets,
    second: SentenceBrackets,
    *,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> BootstrapResult:
    """The same from the brackets of each sentence, which may be summed up over several runs of a system."""
    check_settings(num_resamples, confidence)
    num_sentences = len(first[0])
    pairs = [(2 * matched, brackets) for matched, brackets in (first, second)]
    differences = [
        np.subtract(*(_f1(matched[drawn].sum(1), brackets[drawn].sum(1)) for matched, brackets in pairs))
        for drawn in draw_resamples(num_sentences, num_resamples, seed)
    ]
    measured = np.subtract(*(_f1(matched.sum(), brackets.sum()) for matched, brackets in pairs))
    return sum_up_resamples(float(measured), np.concatenate(differences), confidence, num_sentences)


def _f1(twice_matched: npt.ArrayLike, num_brackets: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """0 where there are no brackets, and so none that match."""
    return np.asarray(twice_matched) / np.maximum(num_brackets, 1)


def pair_trees(gold: Iterable[Tree], guessed: Iterable[Guess]) -> Iterator[tuple[Tree, Guess]]:
    """Each gold tree with its guess; there must be as many of both."""
    for number, (tree, guess) in enumerate(zip_longest(gold, guessed, fillvalue=_NONE_LEFT), 1):
        if tree is _NONE_LEFT or guess is _NONE_LEFT:
            raise TreeError(
                f"sentence {number}: there is no {'gold' if tree is _NONE_LEFT else 'guessed'} tree left",
                remedy="A sentence that the parser has no tree for needs a None in its place.",
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
    """The figures of sentences that were counted one by one."""
    labels = _LabelTotals()
    faults: list[SentenceFault] = []
    table = SentenceTable.from_counts(_noted(counts, labels, faults, on_error))
    return BracketScores(
        overall=table.summarize(np.ones_like(table.is_valid)),
        short=table.summarize(table.length <= LONGEST_SHORT),
        by_label=labels.scores(),
        sentences=table,
        faults=tuple(faults),
    )


def _noted(
    counts: Iterable[SentenceCounts], labels: _LabelTotals, faults: list[SentenceFault], on_error: OnError
) -> Iterator[SentenceCounts]:
    """The sentences as they come; their labels are added up and their faults listed or raised on the way."""
    for number, sentence in enumerate(counts, 1):
        if sentence.is_error and on_error == "raise":
            raise TreeError(
                f"sentence {number}: {sentence.problem}",
                remedy="Score trees over the same words, or leave such sentences out with on_error='skip'.",
            )
        if sentence.problem:
            faults.append(SentenceFault(number, sentence.problem))
        labels.add(sentence)
        yield sentence
