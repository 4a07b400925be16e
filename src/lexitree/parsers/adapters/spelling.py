"""Spells words as parsers expect them, and checks that the words of a tree are those of the sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from lexitree.trees.brackets import surface_form

Spelling = Callable[[Sequence[str]], list[str]]
"""Turns the words of a sentence into tokens that the parser knows, one each."""

_STAND_IN = "_"
"""Replaces a space inside a word."""

_PENN_ESCAPES = str.maketrans(
    {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
    | {"‘": "'", "’": "'", "…": "...", "–": "--", "—": "--"}
)
_PENN_QUOTES = {"“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "`"}
_UNESCAPED_SIGN = re.compile(r"\\.|[/*]", re.DOTALL)

# Parsers exchange these characters for one another, so words that differ only in them are equal.
_FOLDED = str.maketrans(
    dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’`´", "'") | dict.fromkeys("–—", "--") | {"…": "..."}
)

# Parsers disagree on what white space is: Stanford's also splits at these, which are not spaces.
_INVISIBLE = "\u180e\u200b\u2060\ufeff"


def plain_spelling(words: Sequence[str]) -> list[str]:
    """Keep words as they are, except for spaces and brackets inside them."""
    return [_as_one_token(word).replace("(", "-LRB-").replace(")", "-RRB-") for word in words]


def penn_spelling(words: Sequence[str]) -> list[str]:
    """Spell words as the Penn Treebank does: `-LRB-`, `\\/`, and opening and closing quotes.

    Words already in Penn's spelling are kept.
    """
    spelled = [_spell_penn(word) for word in words]
    quotes = [place for place, word in enumerate(spelled) if word == '"']
    # Like Stanford's escaper: quotes alternate, and one at the very end closes.
    first_closes = bool(quotes) and quotes[-1] == len(spelled) - 1 and len(quotes) % 2 == 1
    for number, place in enumerate(quotes):
        spelled[place] = "''" if (number % 2 == 1) != first_closes else "``"
    return spelled


def _spell_penn(word: str) -> str:
    word = _as_one_token(word)
    if word in _PENN_QUOTES:
        return _PENN_QUOTES[word]
    escaped = word.translate(_PENN_ESCAPES)
    # A sign after a backslash is already escaped.
    return _UNESCAPED_SIGN.sub(lambda match: match[0] if len(match[0]) > 1 else f"\\{match[0]}", escaped)


@lru_cache(maxsize=4096)
def _as_one_token(word: str) -> str:
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    return "".join(_STAND_IN if _separates(character) else character for character in word)


def _separates(character: str) -> bool:
    return (
        character.isspace()
        or character in _INVISIBLE
        or unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp")
    )


def same_words(words: Sequence[str], spelled: Sequence[str], found: Sequence[str]) -> bool:
    """Return whether a tree has the words of a sentence, in its own spelling, the parser's or Penn's."""
    if len(found) != len(words):
        return False
    return all(
        given in (word, sent) or _fold(given) in (_fold(word), _fold(sent))
        for word, sent, given in zip(words, spelled, found, strict=True)
    )


@lru_cache(maxsize=4096)
def _fold(word: str) -> str:
    return surface_form(word).translate(_FOLDED).replace("''", '"')
