"""The vocabulary: the look-up rules (the paper's: the word, else its lower-case form, else unknown), and coverage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np

from lexitree.arrays import IndexArray
from lexitree.errors import LexitreeError, ModelFileError
from lexitree.lexicon.normal_forms import Lookup, normal_forms
from lexitree.limits import TextCache
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import Tree

UNK = "<unk>"
"""How row 0 is displayed. It is not a word: `<unk>` in a text is an unknown word."""

UNK_INDEX = 0

LookupKind = Literal["exact", "lower", "normal", "unknown"]

_MAX_CACHED_WORDS = 1 << 18


class Vocabulary:
    """An immutable list of words; word i has index i + 1, and 0 is every other word.

    >>> vocabulary = Vocabulary(["the", "film", "("])
    >>> vocabulary.indices(["The", "film", "-LRB-", "zzz"]).tolist()
    [1, 2, 3, 0]

    Args:
        words: The words, each once.
        lookup: The rule by which words are found. "written" is the paper's: as written, else in lower case. "typed"
            then tries the normal forms of the word, `soooo` as `so`. "folded" does so too, but starts with lower
            case, so that `Awful` and `awful` are one word.

    Raises:
        LexitreeError: A word occurs twice or is `<unk>`.
    """

    __slots__ = ("_cache", "_index", "_words", "lookup")

    def __init__(self, words: Iterable[str], lookup: Lookup = "written") -> None:
        self._words = tuple(words)
        self.lookup: Lookup = lookup
        self._index = {word: index for index, word in enumerate(self._words, UNK_INDEX + 1)}
        self._check()
        self._cache = TextCache(self.index, _MAX_CACHED_WORDS)

    def _check(self) -> None:
        if len(self._index) != len(self._words):
            word, count = Counter(self._words).most_common(1)[0]
            first = self._words.index(word)
            second = self._words.index(word, first + 1)
            problem = f"{word!r} occurs {count} times (first at {first} and {second})"
            raise LexitreeError(f"the words of a vocabulary must be distinct, but {problem}")
        if UNK in self._index:
            raise LexitreeError(f"{UNK!r} cannot be a word of a vocabulary: row 0 is for unknown words")

    @classmethod
    def from_trees(cls, trees: Iterable[Tree], min_count: int = 1, lookup: Lookup = "written") -> Vocabulary:
        """Make a vocabulary of the words of some trees, the most frequent first.

        Args:
            trees: The trees.
            min_count: Rarer words are left to the unknown word.
            lookup: The rule by which words are found.
        """
        counts = count_words(trees)
        frequent = [word for word, count in counts.items() if count >= min_count and word != UNK]
        return cls(sorted(frequent, key=lambda word: (-counts[word], word)), lookup)

    @property
    def words(self) -> tuple[str, ...]:
        """The words in order, without the unknown word: `words[i]` has index i + 1."""
        return self._words

    def __len__(self) -> int:
        """Return the number of words, not counting the unknown word."""
        return len(self._words)

    @property
    def num_rows(self) -> int:
        """The number of table rows: one per word, and one for the unknown word."""
        return len(self._words) + 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __contains__(self, word: object) -> bool:
        """Return whether the vocabulary contains exactly this word, without the look-up rule."""
        return word in self._index

    def with_words(self, words: Iterable[str]) -> Vocabulary:
        """A vocabulary of other words, which are looked up by the same rule."""
        return Vocabulary(words, self.lookup)

    def index(self, word: str) -> int:
        """Return the row of a word, by the look-up rule: of its surface form, else of that in lower case, else 0."""
        surface = surface_form(word)
        first, second = surface, surface.lower()
        if self.lookup == "folded":
            first, second = second, first
        index = self._index.get(first)
        if index is None:
            index = self._index.get(second, UNK_INDEX)
        return index or self._normal_index(surface)

    def _normal_index(self, surface: str) -> int:
        """The row of the first of a word's normal forms that is known."""
        if self.lookup == "written":
            return UNK_INDEX
        return next((row for form in normal_forms(surface) if (row := self._index.get(form))), UNK_INDEX)

    def indices(self, words: Collection[str]) -> IndexArray:  # [words]
        """Return the row of every word."""
        return np.fromiter(map(self._cache.__getitem__, words), dtype=np.int64, count=len(words))

    def count_unknown(self, words: Iterable[str]) -> int:
        """Return how many of some words are not found."""
        return list(map(self._cache.__getitem__, words)).count(UNK_INDEX)

    def lookup_kind(self, word: str) -> LookupKind:
        """Return how a word is found: "exact", "lower" (case only), "normal" (by a normal form) or "unknown"."""
        surface = surface_form(word)
        if surface in self._index:
            return "exact"
        if surface.lower() in self._index:
            return "lower"
        return "normal" if self._normal_index(surface) else "unknown"

    def word(self, index: int) -> str:
        """Return the word at an index; `<unk>` at 0."""
        return UNK if index == UNK_INDEX else self._words[index - 1]

    def to_json(self) -> str:
        """Return a JSON list of the words, one per line, exact for any character; the inverse of `from_json`."""
        return json.dumps(self._words, indent=0) + "\n"

    @classmethod
    def from_json(
        cls, text: str | bytes, path: str | Path = "vocabulary.json", lookup: Lookup = "written"
    ) -> Vocabulary:
        """Read the vocabulary that `to_json` wrote.

        Args:
            text: The JSON list.
            path: The name of the file for error messages.
            lookup: The rule by which words are found, which the list does not say.

        Raises:
            ModelFileError: It is not a list of distinct words.
        """
        try:
            words: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelFileError(path, f"is not JSON ({error})", remedy=_RELOAD) from error
        if not isinstance(words, list):
            raise ModelFileError(path, "is not a list of words", remedy=_RELOAD)
        words = cast(list[object], words)
        for position, word in enumerate(words):
            if not isinstance(word, str):
                raise ModelFileError(
                    path, f"entry {position} of the list is not a word: {word!r:.60}", remedy=_RELOAD
                )
        try:
            return cls(cast(list[str], words), lookup)
        except LexitreeError as error:
            raise ModelFileError(path, error.message, remedy=_RELOAD) from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return (self._words, self.lookup) == (other._words, other.lookup)

    def __hash__(self) -> int:
        return hash(self._words)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._words[:6])) + (", …" if len(self._words) > 6 else "")
        return f"Vocabulary({len(self._words)} words: {shown})"

    def __reduce__(self) -> tuple[object, ...]:
        return Vocabulary, (self._words, self.lookup)


_RELOAD = "The file is damaged or was edited; copy or save the model again."


def count_words(trees: Iterable[Tree]) -> Counter[str]:
    """Count every word (by surface form) of the trees."""
    written: Counter[str] = Counter()
    for tree in trees:
        written.update(tree.words)
    return _by_surface(written)


def _by_surface(written: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word, count in written.items():
        counts[surface_form(word)] += count
    return counts


_SHOWN_UNKNOWN = 20
"""How many of the most frequent unknown words a report lists by default."""


@dataclass(frozen=True, slots=True)
class LookupCounts:
    """How many words were found as written, in lower case only, by a normal form only, or not at all."""

    exact: int = 0
    lower: int = 0
    normal: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return self.exact + self.lower + self.normal + self.unknown

    @property
    def covered(self) -> float:
        """The share of words with a row of their own; 1 if there are no words."""
        return 1.0 - self.share("unknown")

    def share(self, kind: LookupKind) -> float:
        """Return the share of one kind, from 0 to 1."""
        return getattr(self, kind) / self.total if self.total else 0.0

    def as_dict(self) -> dict[str, int | float]:
        return {
            "total": self.total,
            "exact": self.exact,
            "lower": self.lower,
            "normal": self.normal,
            "unknown": self.unknown,
            "exact_share": self.share("exact"),
            "lower_share": self.share("lower"),
            "normal_share": self.share("normal"),
            "unknown_share": self.share("unknown"),
            "covered": self.covered,
        }


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """What a vocabulary covers of a text: of its distinct words (types) and its running words (tokens)."""

    types: LookupCounts
    tokens: LookupCounts
    most_frequent_unknown: tuple[tuple[str, int], ...]
    """Unknown words with their counts, the most frequent first."""

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain values for JSON."""
        return {
            "types": self.types.as_dict(),
            "tokens": self.tokens.as_dict(),
            "most_frequent_unknown": [
                {"word": word, "count": count} for word, count in self.most_frequent_unknown
            ],
        }


def coverage(
    text: Mapping[str, int] | Iterable[Tree], vocabulary: Vocabulary, *, num_shown: int = _SHOWN_UNKNOWN
) -> CoverageReport:
    """Compute how much of a text a vocabulary covers.

    Args:
        text: Word counts or trees; words are counted by surface form, so `-LRB-` and `(` are one word.
        vocabulary: The vocabulary.
        num_shown: How many of the most frequent unknown words to list.
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
    return _by_surface(cast(Mapping[str, int], text)) if isinstance(text, Mapping) else count_words(text)
