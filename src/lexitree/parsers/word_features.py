"""Turns words into the row numbers of a parser's tables; prefixes, suffixes and shapes cover unseen words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lexitree.arrays import IndexArray
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.limits import TextCache
from lexitree.trees.brackets import surface_form

_AFFIX_LENGTHS = (1, 2, 3, 4)
NUM_FEATURES = 2 + 2 * len(_AFFIX_LENGTHS) + 1
"""Row numbers per word: of two vectors, of prefixes and suffixes, and of the shape."""
SENTENCE_START, SENTENCE_END = "\x02", "\x03"
"""Mark the start and the end of a sentence: characters that are never a word of a text."""

_MAX_CACHED_WORDS = 1 << 16
"""The cache is cleared at this size, so that an endless text does not fill the memory."""

_SHAPES = ((re.compile(r"[A-ZÀ-ÖØ-Þ]+"), "X"), (re.compile(r"\d+"), "9"), (re.compile(r"[^\W\d_X]+"), "x"))
_MAX_SHAPE = 12


class WordNumbers(NamedTuple):
    """A sentence as row numbers, including its start and its end."""

    vectors: IndexArray  # [words + 2]
    """Rows of the fixed vectors."""
    words: IndexArray  # [words + 2]
    """Rows of the trained vectors."""
    affixes: IndexArray  # [words + 2, affixes]


class WordFeatures:
    """Looks up words: fixed and trained vectors by vocabulary, affixes by a hash. Results are cached."""

    def __init__(self, vector_words: Vocabulary, trained_words: Vocabulary, affix_rows: int) -> None:
        self.vector_words = vector_words
        self.trained_words = trained_words
        self.affix_rows = affix_rows
        self._cache = TextCache(self._row_bytes, _MAX_CACHED_WORDS)

    def number(self, words: Sequence[str]) -> WordNumbers:
        """Return the row numbers of a sentence."""
        rows = self.rows((SENTENCE_START, *words, SENTENCE_END))
        return WordNumbers(rows[:, 0], rows[:, 1], rows[:, 2:])

    def rows(self, words: Iterable[str]) -> IndexArray:  # [words, 2 + affixes]
        """Return the row of each word's fixed vector, of its trained vector, and of each of its affixes."""
        found = b"".join(map(self._cache.__getitem__, words))
        return np.frombuffer(found, dtype=np.int64).reshape(-1, NUM_FEATURES)

    def look_up(self, word: str) -> IndexArray:  # [2 + affixes]
        """Return the row numbers of one word."""
        affixes = (hash_affix(affix, self.affix_rows) for affix in affixes_of(word))
        return np.array([self.vector_words.index(word), self.trained_words.index(word), *affixes], np.int64)

    def _row_bytes(self, word: str) -> bytes:
        """Its row numbers as bytes, which are put together for many words in one call."""
        return self.look_up(word).tobytes()


def affixes_of(word: str) -> list[str]:
    """Return the prefixes, suffixes and shape of a word, each marked by kind."""
    surface = surface_form(word)
    lower = surface.lower()
    beginnings = [f"<{lower[:length]}" for length in _AFFIX_LENGTHS]
    endings = [f"{lower[-length:]}>" for length in _AFFIX_LENGTHS]
    return [*beginnings, *endings, f"={word_shape(surface)}"]


def word_shape(word: str) -> str:
    """Return the kinds of characters of a word in order: `Mr.` is `Xx.`, `1990s` is `9x`."""
    for characters, kind in _SHAPES:
        word = characters.sub(kind, word)
    return word[:_MAX_SHAPE]


def hash_affix(affix: str, num_rows: int) -> int:
    """Return the row of an affix; the same in every process and on every machine."""
    return zlib.crc32(affix.encode("utf-8", "surrogatepass")) % num_rows
