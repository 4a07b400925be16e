"""Straight quotation marks in, the side each stands on out: ``opening'' or closing."""

from __future__ import annotations

import re

_PARAGRAPH = re.compile(r"\n[^\S\n]*+\n|\u2029")
_BEFORE_OPENING = frozenset("([{<“‘„«`—–-/=")
_AFTER_CLOSING = frozenset(".,;:!?)]}>”’»…")
_DOUBLE = frozenset('"＂')
_ONE_SIDED = {"`": "`", "’": "'"}
_SIGNS = _DOUBLE | {"'", *_ONE_SIDED}


class QuoteSides:
    """The sides of the straight quotation marks of a text, asked for from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_open = {'"': False, "'": False}
        self._last = 0
        self._opened_at = -1

    def note(self, form: str) -> None:
        """Take notice of a mark whose side is plain to see."""
        if form in ("``", "''"):
            self._is_open['"'] = form == "``"

    def form(self, mark: str, start: int, end: int) -> str:
        """The Penn form of the mark at that place."""
        sign = next(character for character in mark if character in _SIGNS)
        if sign in _ONE_SIDED:
            return _ONE_SIDED[sign]
        is_double = sign in _DOUBLE
        opens = self._opens('"' if is_double else "'", start, end)
        if opens:
            self._opened_at = end
        if is_double:
            return "``" if opens else "''"
        return "`" if opens else "'"

    def _opens(self, mark: str, start: int, end: int) -> bool:
        # A quotation that was never closed ends with its paragraph.
        if _PARAGRAPH.search(self._text, self._last, start):
            self._is_open = dict.fromkeys(self._is_open, False)
        self._last = end
        before = self._text[start - 1 : start]
        after = self._text[end : end + 1]
        free_before = not before or before.isspace() or before in _BEFORE_OPENING or self._opened_at == start
        free_after = not after or after.isspace() or after in _AFTER_CLOSING
        if free_before != free_after:
            opens = free_before
        elif mark == "'" and before.isspace():
            # Text that is already cut into tokens: the ` dogs ' of it opens with another sign.
            opens = False
        else:
            # Space on both sides, or on neither: it closes what is open. After a number it means inches.
            opens = not self._is_open[mark] and not (before.isdigit() and not free_before)
        self._is_open[mark] = opens
        return opens
