"""Words in, the forms in which a parser reads them out, and whether a word that comes back is the one that went."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from lexitree.trees.brackets import surface_form

Spelling = Callable[[Sequence[str]], list[str]]
"""The words of a sentence, each as one token that the parser knows."""

STAND_IN = "_"
"""What a parser sees in the place of a space inside of a word."""

_PENN_ESCAPES = str.maketrans(
    {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
    | {"‘": "'", "’": "'", "…": "...", "–": "--", "—": "--"}
)
_PENN_QUOTES = {"“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "`"}
_UNESCAPED_SIGN = re.compile(r"\\.|[/*]", re.DOTALL)

# What Penn's spelling makes alike is alike: parsers exchange these characters for one another.
_FOLDED = str.maketrans(
    dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’`´", "'") | dict.fromkeys("–—", "--") | {"…": "..."}
)

# Parsers that read white space disagree on what it is: Stanford's takes these, too, though they are no spaces.
_INVISIBLE = "\u180e\u200b\u2060\ufeff"


def plain_spelling(words: Sequence[str]) -> list[str]:
    """The words as they are, except what would break a line of words or a bracket."""
    return [_as_one_token(word).replace("(", "-LRB-").replace(")", "-RRB-") for word in words]


def penn_spelling(words: Sequence[str]) -> list[str]:
    """The words as the Penn Treebank writes them: `-LRB-`, `\\/`, and quotes that open or close.

    Words that are in Penn's spelling already stay as they are.
    """
    spelled = [_spell_penn(word) for word in words]
    quotes = [place for place, word in enumerate(spelled) if word == '"']
    # As Stanford's escaper does: quotes alternate, and one at the very end closes.
    first_closes = bool(quotes) and quotes[-1] == len(spelled) - 1 and len(quotes) % 2 == 1
    for number, place in enumerate(quotes):
        spelled[place] = "''" if (number % 2 == 1) != first_closes else "``"
    return spelled


def _spell_penn(word: str) -> str:
    word = _as_one_token(word)
    if word in _PENN_QUOTES:
        return _PENN_QUOTES[word]
    escaped = word.translate(_PENN_ESCAPES)
    # A sign after a backslash is escaped already.
    return _UNESCAPED_SIGN.sub(lambda match: match[0] if len(match[0]) > 1 else f"\\{match[0]}", escaped)


@lru_cache(maxsize=4096)
def _as_one_token(word: str) -> str:
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    return "".join(STAND_IN if _separates(character) else character for character in word)


def _separates(character: str) -> bool:
    return (
        character.isspace()
        or character in _INVISIBLE
        or unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp")
    )


def same_words(words: Sequence[str], spelled: Sequence[str], found: Sequence[str]) -> bool:
    """Whether the words of a tree are those of a sentence, in its own spelling, the parser's or Penn's."""
    if len(found) != len(words):
        return False
    return all(
        given in (word, sent) or _fold(given) in (_fold(word), _fold(sent))
        for word, sent, given in zip(words, spelled, found, strict=True)
    )


@lru_cache(maxsize=4096)
def _fold(word: str) -> str:
    return surface_form(word).translate(_FOLDED).replace("''", '"')
