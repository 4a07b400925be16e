"""Words with counts and a vocabulary in, a report out: how much of a text the vocabulary knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from lexitree.lexicon.vocabulary import LookupKind, Vocabulary, count_words
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import Tree

SHOWN_UNKNOWN = 20
"""How many of the most frequent unknown words a report names."""


@dataclass(frozen=True, slots=True)
class LookupCounts:
    """How many words were found as written, in lower case only, and not at all."""

    exact: int = 0
    lower: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return self.exact + self.lower + self.unknown

    @property
    def covered(self) -> float:
        """The share that has a row of its own; 1 where there are no words."""
        return 1.0 - self.share("unknown")

    def share(self, kind: LookupKind) -> float:
        """The share of one kind, from 0 to 1."""
        return getattr(self, kind) / self.total if self.total else 0.0

    def as_dict(self) -> dict[str, int | float]:
        return {
            "total": self.total,
            "exact": self.exact,
            "lower": self.lower,
            "unknown": self.unknown,
            "exact_share": self.share("exact"),
            "lower_share": self.share("lower"),
            "unknown_share": self.share("unknown"),
            "covered": self.covered,
        }


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """What a vocabulary knows of a text: of its distinct words (types) and of its running words (tokens)."""

    types: LookupCounts
    tokens: LookupCounts
    most_frequent_unknown: tuple[tuple[str, int], ...]
    """Unknown words with their counts, the most frequent first."""

    def as_dict(self) -> dict[str, object]:
        """The report as plain values, ready for JSON."""
        return {
            "types": self.types.as_dict(),
            "tokens": self.tokens.as_dict(),
            "most_frequent_unknown": [
                {"word": word, "count": count} for word, count in self.most_frequent_unknown
            ],
        }


def coverage(
    text: Mapping[str, int] | Iterable[Tree], vocabulary: Vocabulary, *, num_shown: int = SHOWN_UNKNOWN
) -> CoverageReport:
    """How a vocabulary covers a text, given as word counts or as trees.

    Words are counted by surface form: `-LRB-` and `(` are one word.
    """
    counts = _surface_counts(text)
    types: Counter[LookupKind] = Counter()
    tokens: Counter[LookupKind] = Counter()
    unknown: list[tuple[str, int]] = []
    for word, count in counts.items():
        kind = vocabulary.lookup_kind(word)
        types[kind] += 1
        tokens[kind] += count
        if kind == "unknown":
            unknown.append((word, count))
    unknown.sort(key=lambda entry: (-entry[1], entry[0]))
    return CoverageReport(LookupCounts(**types), LookupCounts(**tokens), tuple(unknown[:num_shown]))


def _surface_counts(text: Mapping[str, int] | Iterable[Tree]) -> Counter[str]:
    if not isinstance(text, Mapping):
        return count_words(text)
    counts: Counter[str] = Counter()
    for word, count in cast(Mapping[str, int], text).items():
        counts[surface_form(word)] += count
    return counts
