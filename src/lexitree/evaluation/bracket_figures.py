"""Precision, recall, F1 and evalb's other figures from the counts of many sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from typing import Any

import numpy as np

from lexitree.arrays import BoolArray, IndexArray
from lexitree.evaluation.bracket_counts import SentenceCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Matched, gold and predicted brackets, or mean numbers of them; shares are 0 if there are none."""

    matched: float
    gold: float
    guessed: float

    @property
    def precision(self) -> float:
        return _share(self.matched, self.guessed)

    @property
    def recall(self) -> float:
        return _share(self.matched, self.gold)

    @property
    def f1(self) -> float:
        return _share(2 * self.matched, self.gold + self.guessed)

    def shares(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("precision", "recall", "f1")}

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | self.shares()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelScore(Matches):
    """Scores of the brackets with one label."""

    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BracketScore(Matches):
    """The figures of a set of sentences as evalb prints them, but as fractions of 1.

    Only valid sentences count. As in evalb, errors and sentences without a prediction do not lower any figure, so the
    figures mean little if there are many of them.
    """

    num_sentences: int
    num_errors: int
    """Sentences whose two trees have different words."""
    num_skipped: int
    """Sentences without a predicted tree, or with nothing but punctuation."""
    unlabelled: int
    """Brackets that match when labels are ignored."""
    crossing: int
    """Predicted brackets that cross a gold bracket."""
    num_complete: int
    """Sentences all of whose brackets match."""
    num_uncrossed: int
    num_hardly_crossed: int
    """Sentences with at most two crossing brackets."""
    num_words: int
    """Words without punctuation."""
    num_right_tags: int

    @property
    def num_valid(self) -> int:
        return self.num_sentences - self.num_errors - self.num_skipped

    @property
    def unlabelled_f1(self) -> float:
        return _share(2 * self.unlabelled, self.gold + self.guessed)

    @property
    def complete_match(self) -> float:
        return _share(self.num_complete, self.num_valid)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per sentence; a number, not a share."""
        return _share(self.crossing, self.num_valid)

    @property
    def no_crossing(self) -> float:
        return _share(self.num_uncrossed, self.num_valid)

    @property
    def two_or_less_crossing(self) -> float:
        return _share(self.num_hardly_crossed, self.num_valid)

    @property
    def tagging_accuracy(self) -> float:
        return _share(self.num_right_tags, self.num_words)

    def as_dict(self) -> dict[str, Any]:
        names = (
            *("num_valid", "precision", "recall", "f1", "unlabelled_f1", "complete_match"),
            *("average_crossing", "no_crossing", "two_or_less_crossing", "tagging_accuracy"),
        )
        return asdict(self) | {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class LengthScore:
    """The sentences of `first` to `last` words."""

    first: int
    last: int
    score: BracketScore

    def as_dict(self) -> dict[str, Any]:
        return {"first": self.first, "last": self.last, **self.score.as_dict()}


@dataclass(frozen=True, slots=True)
class SentenceTable:
    """The counts of all sentences as arrays; see `SentenceCounts`."""

    is_valid: BoolArray
    is_error: BoolArray
    length: IndexArray
    matched: IndexArray
    gold: IndexArray
    guessed: IndexArray
    unlabelled: IndexArray
    crossing: IndexArray
    words: IndexArray
    right_tags: IndexArray

    @classmethod
    def from_counts(cls, counts: Iterable[SentenceCounts]) -> SentenceTable:
        names = [column.name for column in fields(cls)]
        rows = list(map(attrgetter(*names), counts))
        is_valid, is_error, *numbers = np.array(rows, dtype=np.int64).reshape(-1, len(names)).T
        return cls(is_valid.astype(np.bool_), is_error.astype(np.bool_), *numbers)

    def summarize(self, chosen: BoolArray) -> BracketScore:
        """Return the figures of the chosen sentences."""
        counted = chosen & self.is_valid
        summed = ("matched", "gold", "guessed", "unlabelled", "crossing")
        is_complete = (self.matched == self.gold) & (self.matched == self.guessed)
        return BracketScore(
            num_sentences=int(chosen.sum()),
            num_errors=int((chosen & self.is_error).sum()),
            num_skipped=int((chosen & ~self.is_valid & ~self.is_error).sum()),
            **{name: int(getattr(self, name)[counted].sum()) for name in summed},
            num_complete=int((counted & is_complete).sum()),
            num_uncrossed=int((counted & (self.crossing == 0)).sum()),
            num_hardly_crossed=int((counted & (self.crossing <= 2)).sum()),
            num_words=int(self.words[counted].sum()),
            num_right_tags=int(self.right_tags[counted].sum()),
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
