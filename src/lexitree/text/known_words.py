"""Finds the tokens of a text as `scan_tokens` does, several times as fast: words that it has seen are looked up.

A text is cut at its spaces. The tokens of most pieces (`film`, `It's`, `good,`) depend on nothing around them, and
natural text repeats itself, so they are remembered. Only the others are scanned where they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from lexitree.text.scanner import QuoteSides, scan_between, scan_tokens
from lexitree.text.tokens import Token, Tokens

_MAX_PIECES = 1 << 15
"""The memory is cleared at this size ..."""
_MAX_CHARACTERS = 32
"""... and longer pieces, or those of more tokens, are not remembered, so that it stays small."""
_MAX_TOKENS = 4

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


class _Pieces(dict[str, _Known]):
    """What is known of each piece between spaces."""

    def __missing__(self, piece: str) -> _Known:
        if len(piece) > _MAX_CHARACTERS:
            return None
        if len(self) >= _MAX_PIECES:
            self.clear()
        tokens = list(scan_tokens(piece))
        known = None
        if len(tokens) <= _MAX_TOKENS and not _depends_on_others(piece, tokens):
            known = tuple(_KnownToken(token.text, token.start, token.end, token.form) for token in tokens)
        self[piece] = known
        return known


def _depends_on_others(piece: str, tokens: list[Token]) -> bool:
    """Whether the tokens of a piece could be others elsewhere.

    Those are quotation marks, a period before a number (`no. 5`) or after that of a list (`1. Open`), and what is
    another kind of token before a space than at the end of a text (`ol' time`).
    """
    if any(token.form in _QUOTES for token in tokens):
        return True
    *before_number, _ = scan_tokens(f"{piece} 5")
    return tokens != before_number


_pieces = _Pieces()


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
