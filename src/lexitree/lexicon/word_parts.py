"""The words that a word is made of: those of a hashtag, of a joined word, and of a pictograph's name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from lexitree.lexicon.normal_forms import words_of_sign

MAX_LETTERS = 48
"""What comes after is not looked at: a word of a million letters must not cost more than others."""
MAX_PARTS = 16
"""Nor are more parts of a joined word."""

_JOINTS = re.compile(r"[-/–—]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_LONGEST_WORD = 16

RowOf = Callable[[str], int]
"""The row of a word; 0 for a word without one."""


class WordParts(NamedTuple):
    """The words that a word is made of."""

    words: list[str]
    is_all: bool
    """Whether they say all about the word, as in a hashtag; its letters then say nothing more."""


def joined_parts(word: str) -> list[str]:
    """The words that hyphens or slashes join; none if there are none."""
    parts = [part for part in _JOINTS.split(word[: MAX_PARTS * MAX_LETTERS], MAX_PARTS) if part][:MAX_PARTS]
    return parts if len(parts) > 1 else []


def typed_parts(word: str, row_of: RowOf) -> WordParts:
    """The words of a hashtag, the words for a pictograph, or the joined parts of any other word.

    Args:
        word: The word as a reader sees it.
        row_of: Tells words of the vocabulary; of two ways to divide a hashtag, the one with fewer words counts.
    """
    if len(word) > 1 and word[0] == "#":
        return WordParts(_hashtag_words(word[1:MAX_LETTERS], row_of), is_all=True)
    if not word[:1].isalnum() and (words := words_of_sign(word[:MAX_LETTERS])):
        return WordParts(words, is_all=True)
    return WordParts(joined_parts(word), is_all=False)


def _hashtag_words(tag: str, row_of: RowOf) -> list[str]:
    """`LoveIt` by its capitals, `loveit` by the words that are known."""
    pieces = _CAMEL.findall(tag)
    if len(pieces) > 1:
        return [word for piece in pieces for word in ([piece] if row_of(piece) else _divide(piece, row_of))]
    return _divide(tag, row_of)


def _divide(letters: str, row_of: RowOf) -> list[str]:
    """Known words that make up the letters, as few and as long as can be; the letters as they are, if none do."""
    text = letters.lower()
    if row_of(text):
        return [letters]
    best: list[tuple[float, list[str]]] = [(0.0, [])]
    for end in range(1, len(text) + 1):
        found: tuple[float, list[str]] = (math.inf, [])
        for start in range(max(0, end - _LONGEST_WORD), end):
            word = text[start:end]
            # Single letters other than "a" and "i" make words of anything.
            is_word = (len(word) > 1 or word in "ai") and row_of(word) > 0
            cost = best[start][0] + 1 + 1 / len(word)
            if is_word and cost < found[0]:
                found = (cost, [*best[start][1], word])
        best.append(found)
    return best[-1][1] or [letters]
