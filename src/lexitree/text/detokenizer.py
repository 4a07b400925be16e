"""Join treebank words into text as people write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lexitree.text.tokens import BRACKET_FORMS

_BRACKETS = {form: bracket for bracket, form in BRACKET_FORMS.items()}
_BRACKET = re.compile("|".join(_BRACKETS))
_QUOTES = {"``": '"', "''": '"', "`": "'"}
_OPENING = frozenset(("``", "`", "“", "‘", "-LRB-", "-LSB-", "-LCB-", "(", "[", "{"))
_CLOSING = frozenset(("''", "'", "”", "’", "-RRB-", "-RSB-", "-RCB-", ")", "]", "}"))
_ATTACHED = re.compile(r"[,.;:!?%…]|\.\.\.?|[!?]+|n['’]t|['’](?:s|re|ve|ll|d|m)", re.IGNORECASE)
_BEFORE_NUMBERS = frozenset(("$", "#", "£", "€", "¥", "US$", "C$", "A$", "HK$", "NZ$"))
_JOINED = frozenset(
    [
        *(("can", "not"), ("gon", "na"), ("wan", "na"), ("got", "ta"), ("lem", "me"), ("gim", "me")),
        *(("'t", "is"), ("'t", "was"), ("y'", "all"), ("d'", "ye"), ("d'", "you")),
    ]
)


def detokenize(forms: Iterable[str]) -> str:
    """Join treebank words: contractions are joined, quotes and brackets restored, punctuation attached.

    Args:
        forms: The words as treebanks write them.

    Returns:
        The text; a final period that treebanks write twice, as in `etc. .`, occurs once.
    """
    return _join(_without_second_period(_sided(forms)))[0]


def detokenize_with_spans(forms: Iterable[str]) -> tuple[str, list[tuple[int, int]]]:
    """Join treebank words, and return where each is in the text; none is dropped."""
    return _join(_sided(forms))


def _join(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    length = 0
    for place, word in enumerate(words):
        if place and _is_apart(words, place):
            pieces.append(" ")
            length += 1
        pieces.append(_surface(word))
        spans.append((length, length + len(pieces[-1])))
        length = spans[-1][1]
    return "".join(pieces), spans


def _sided(forms: Iterable[str]) -> list[str]:
    """Return the words, with straight double quotes alternately opening and closing."""
    words: list[str] = []
    is_open = False
    for form in forms:
        if form in ('"', "``", "''"):
            is_open = not is_open if form == '"' else form == "``"
            form = "``" if is_open else "''"
        words.append(form)
    return words


def _is_apart(words: Sequence[str], place: int) -> bool:
    """Return whether a space precedes this word."""
    left, word = words[place - 1], words[place]
    if left in _OPENING:
        return False
    if left in _BEFORE_NUMBERS and word[:1].isdigit():
        return False
    if (left.lower(), word.lower()) in _JOINED:
        return False
    if word in _CLOSING:
        # Two adjacent apostrophes would look like a double quote.
        return word == left == "'"
    if not _ATTACHED.fullmatch(word):
        return True
    if word[0] == ".":
        return left[-1:] == "."
    return word[0] in "'’" and left == "'"


def _surface(word: str) -> str:
    word = _QUOTES.get(word, word)
    if "-" in word:
        word = _BRACKET.sub(lambda found: _BRACKETS[found[0]], word)
    return word.replace("\\/", "/").replace("\\*", "*") if "\\" in word else word


def _without_second_period(words: list[str]) -> list[str]:
    """Drop a final period after an abbreviation, which treebanks write twice: `etc. .`."""
    last = len(words) - 1
    while last > 0 and words[last] in _CLOSING:
        last -= 1
    if last <= 0 or words[last] != "." or words[last - 1][-1:] != "." or not words[last - 1].strip("."):
        return words
    return words[:last] + words[last + 1 :]
