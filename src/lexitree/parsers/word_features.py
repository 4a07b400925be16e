"""Words in, the numbers under which a parser looks up what it knows of them out: even of words never seen."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lexitree.arrays import IndexArray
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.trees.brackets import surface_form

AFFIX_LENGTHS = (1, 2, 3, 4)
SENTENCE_START, SENTENCE_END = "\x02", "\x03"
"""What stands before the first and after the last word: characters that no word of a text is."""

MAX_CACHED_WORDS = 1 << 16
"""Beyond it the cache starts anew: an endless text must not fill the memory."""

_SHAPES = ((re.compile(r"[A-ZÀ-ÖØ-Þ]+"), "X"), (re.compile(r"\d+"), "9"), (re.compile(r"[^\W\d_X]+"), "x"))
_MAX_SHAPE = 12


class WordNumbers(NamedTuple):
    """A sentence in numbers, with its start and its end: words + 2 rows."""

    vectors: IndexArray  # [words + 2]
    """Rows of the fixed vectors."""
    words: IndexArray  # [words + 2]
    """Rows of the trained vectors."""
    affixes: IndexArray  # [words + 2, affixes]


class WordFeatures:
    """Looks words up: fixed and trained vectors by vocabulary, affixes by a hash; each word is worked on once."""

    def __init__(self, vector_words: Vocabulary, trained_words: Vocabulary, affix_rows: int) -> None:
        self.vector_words = vector_words
        self.trained_words = trained_words
        self.affix_rows = affix_rows
        self._cache: dict[str, tuple[int, int, tuple[int, ...]]] = {}

    def number(self, words: Sequence[str]) -> WordNumbers:
        """The numbers of a sentence."""
        found = [self._look_up(word) for word in (SENTENCE_START, *words, SENTENCE_END)]
        vectors, trained, affixes = zip(*found, strict=True)
        return WordNumbers(
            np.array(vectors, dtype=np.int64),
            np.array(trained, dtype=np.int64),
            np.array(affixes, dtype=np.int64),
        )

    def _look_up(self, word: str) -> tuple[int, int, tuple[int, ...]]:
        found = self._cache.get(word)
        if found is None:
            if len(self._cache) >= MAX_CACHED_WORDS:
                self._cache.clear()
            affixes = tuple(hash_affix(affix, self.affix_rows) for affix in affixes_of(word))
            found = self.vector_words.index(word), self.trained_words.index(word), affixes
            self._cache[word] = found
        return found


def affixes_of(word: str) -> list[str]:
    """Beginnings, endings and shape of a word, each marked for what it is."""
    surface = surface_form(word)
    lower = surface.lower()
    beginnings = [f"<{lower[:length]}" for length in AFFIX_LENGTHS]
    endings = [f"{lower[-length:]}>" for length in AFFIX_LENGTHS]
    return [*beginnings, *endings, f"={word_shape(surface)}"]


def word_shape(word: str) -> str:
    """What kinds of characters a word has, one after the other: `Mr.` is `Xx.`, `1990s` is `9x`."""
    for characters, kind in _SHAPES:
        word = characters.sub(kind, word)
    return word[:_MAX_SHAPE]


def hash_affix(affix: str, num_rows: int) -> int:
    """A row for an affix: the same in every process and on every machine."""
    return zlib.crc32(affix.encode("utf-8", "surrogatepass")) % num_rows
