"""Words with counts and a vocabulary in, a report out: how much of a text the vocabulary knows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from lexitree.errors import LexitreeError, ModelFileError
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import Tree

UNK = "<unk>"
"""How row 0 is shown. It is no word: a text that says `<unk>` says something unknown."""

UNK_INDEX = 0

LookupKind = Literal["exact", "lower", "unknown"]

MAX_CACHED_WORDS = 1 << 18
"""Beyond it the cache of looked-up words starts anew: an endless text must not fill the memory."""


class _IndexCache(dict[str, int]):
    """Every word looked up once; a hit costs one dictionary access."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> int:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        index = self[word] = self._vocabulary.index(word)
        return index


class Vocabulary:
    """A list of words that never changes; word number i has index i + 1, and 0 stands for every other word.

    >>> vocabulary = Vocabulary(["the", "film", "("])
    >>> vocabulary.indices(["The", "film", "-LRB-", "zzz"]).tolist()
    [1, 2, 3, 0]
    """

    __slots__ = ("_cache", "_index", "_words")

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(words)
        self._index = {word: index for index, word in enumerate(self._words, UNK_INDEX + 1)}
        self._check()
        self._cache = _IndexCache(self)

    def _check(self) -> None:
        if len(self._index) != len(self._words):
            word, count = Counter(self._words).most_common(1)[0]
            first = self._words.index(word)
            second = self._words.index(word, first + 1)
            problem = f"{word!r} occurs {count} times (first at {first} and {second})"
            raise LexitreeError(f"a vocabulary has every word once, but {problem}")
        if UNK in self._index:
            raise LexitreeError(
                f"{UNK!r} is no word of a vocabulary: row 0 is there for unknown words already"
            )

    @classmethod
    def from_trees(cls, trees: Iterable[Tree], min_count: int = 1) -> Vocabulary:
        """The words (surface forms) that occur `min_count` times or more, the most frequent first."""
        counts = count_words(trees)
        frequent = [word for word, count in counts.items() if count >= min_count and word != UNK]
        return cls(sorted(frequent, key=lambda word: (-counts[word], word)))

    @property
    def words(self) -> tuple[str, ...]:
        """The words in their order, without the unknown word: `words[i]` has index i + 1."""
        return self._words

    def __len__(self) -> int:
        """The number of words; the unknown word is none of them."""
        return len(self._words)

    @property
    def num_rows(self) -> int:
        """The number of indices, that is of table rows: the words and the unknown word."""
        return len(self._words) + 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __contains__(self, word: object) -> bool:
        """Whether the word stands in the vocabulary as it is, without the look-up rule."""
        return word in self._index

    def index(self, word: str) -> int:
        """The row of a word of a tree or text: its surface form, else that in lower case, else 0."""
        surface = surface_form(word)
        index = self._index.get(surface)
        return self._index.get(surface.lower(), UNK_INDEX) if index is None else index

    def indices(self, words: Collection[str]) -> npt.NDArray[np.int64]:  # [words]
        """The row of every word."""
        return np.fromiter(map(self._cache.__getitem__, words), dtype=np.int64, count=len(words))

    def lookup_kind(self, word: str) -> LookupKind:
        """How a word is found: "exact" as written, "lower" in lower case only, or not at all."""
        surface = surface_form(word)
        if surface in self._index:
            return "exact"
        return "lower" if surface.lower() in self._index else "unknown"

    def word(self, index: int) -> str:
        """The word at an index; `<unk>` at 0."""
        return UNK if index == UNK_INDEX else self._words[index - 1]

    def to_json(self) -> str:
        """A JSON list of the words, one a line; the inverse of `from_json`, exact for any character."""
        return json.dumps(self._words, indent=0) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, path: str | Path = "vocabulary.json") -> Vocabulary:
        """The vocabulary that `to_json` wrote; `path` is named in the errors."""
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
            return cls(cast(list[str], words))
        except LexitreeError as error:
            raise ModelFileError(path, error.message, remedy=_RELOAD) from error

    def __eq__(self, other: object) -> bool:
        return self._words == other._words if isinstance(other, Vocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._words)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._words[:6])) + (", …" if len(self._words) > 6 else "")
        return f"Vocabulary({len(self._words)} words: {shown})"

    def __reduce__(self) -> tuple[object, ...]:
        return Vocabulary, (self._words,)


_RELOAD = "The file is damaged or was edited; copy or save the model again."


def count_words(trees: Iterable[Tree]) -> Counter[str]:
    """How often every word (surface form) occurs in the trees."""
    written: Counter[str] = Counter()
    for tree in trees:
        written.update(tree.words)
    counts: Counter[str] = Counter()
    for word, count in written.items():
        counts[surface_form(word)] += count
    return counts


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
