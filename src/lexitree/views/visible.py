"""Text of any origin in, text that a page shows and never obeys out: escaped, with control characters spelled out."""

from __future__ import annotations

from html import escape

_JOINERS = "\u200c\u200d"
"""They make one sign of several, as in Persian and in emoji, and move nothing else."""


def visible(text: str) -> str:
    """The text on one line: white space as spaces, and controls that turn or hide text as `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()


def html_text(text: str) -> str:
    """Text between tags or between quotes of an attribute."""
    return escape(visible(text), quote=True)
