"""Finds the tokens of a text as `scan_tokens` does, several times as fast: words that it has seen are looked up.

A text is cut at its spaces. The tokens of most pieces (`film`, `It's`, `good,`) depend on nothing around them, and
natural text repeats itself, so they are remembered. Only the others are scanned where they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from lexitree.limits import TextCache
from lexitree.text.scanner import QuoteSides, scan_between, scan_tokens
from lexitree.text.tokens import Token, Tokens

_MAX_CHARACTERS, _MAX_TOKENS = 32, 4
"""Longer pieces, or those of more tokens, are scanned where they stand: most do not come again."""

_QUOTES = frozenset(("``", "''", "`", "'"))
"""Forms of marks that may open or close, which depends on those before them."""


class _KnownToken(NamedTuple):
    """A token of a piece, with its place in it."""

    text: str
    start: int
    end: int
    form: str


_Known = tuple[_KnownToken, ...] | None
"""The tokens of a piece; None if they depend on what is around it."""


def _know(piece: str) -> _Known:
    """What is known of a piece between spaces."""
    if len(piece) > _MAX_CHARACTERS:
        return None
    tokens = list(scan_tokens(piece))
    if len(tokens) > _MAX_TOKENS or _depends_on_others(piece, tokens):
        return None
    return tuple(_KnownToken(token.text, token.start, token.end, token.form) for token in tokens)


def _depends_on_others(piece: str, tokens: list[Token]) -> bool:
    """Whether the tokens of a piece could be others elsewhere.

    Those are quotation marks, a period before a number (`no. 5`) or after that of a list (`1. Open`), and what is
    another kind of token before a space than at the end of a text (`ol' time`).
    """
    if piece.isalpha():
        return False
    if any(token.form in _QUOTES for token in tokens):
        return True
    *before_number, _ = scan_tokens(f"{piece} 5")
    return tokens != before_number


_pieces = TextCache(_know, 1 << 15)


def find_tokens(text: str) -> Tokens:
    """The tokens of a text in order, as `scan_tokens` gives them."""
    found = Tokens([], [], [], [])
    texts, starts, ends, forms = found.texts, found.starts, found.ends, found.forms
    quotes: QuoteSides | None = None
    place = 0
    for piece in text.split(" "):
        known = _pieces[piece]
        if known is None:
            quotes = quotes or QuoteSides(text)
            # With the space after it, which some tokens need.
            for token in scan_between(text, place, place + len(piece) + 1, quotes):
                found.add(token)
        else:
            for word, start, end, form in known:
                texts.append(word)
                starts.append(place + start)
                ends.append(place + end)
                forms.append(form)
        place += len(piece) + 1
    return found
