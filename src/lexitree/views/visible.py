"""Make any text safe to show: control characters are spelled out, so no input can steer a terminal or a page."""

from __future__ import annotations

from html import escape

from lexitree.trees.brackets import surface_form

_JOINERS = "\u200c\u200d"
"""They join letters, as in Persian and in emoji, and move nothing else."""


MAX_SHOWN_CHARACTERS = 1_000
"""A longer phrase or head word is shortened where every phrase around it would repeat it."""


def shorten_text(text: str, start: int = 0, end: int | None = None) -> str:
    """`text[start:end]`; of a long piece, its beginning and its end, with `…` between them."""
    end = len(text) if end is None else end
    if end - start <= MAX_SHOWN_CHARACTERS:
        return text[start:end]
    half = MAX_SHOWN_CHARACTERS // 2
    return f"{text[start : start + half - 1]}…{text[end - half : end]}"


def shown_word(word: str) -> str:
    """A word of a tree as a terminal shows it: `-LRB-` is `(`, and an escape character is `\\x1b`."""
    return printable(surface_form(word))


def printable(text: str) -> str:
    """Text for a terminal, with control characters spelled out: an escape character is `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(map(_printable_character, text))


def visible(text: str) -> str:
    """Text for a page, on one line, with control characters spelled out: a change of direction is `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def html_text(text: str) -> str:
    """Text that can stand between tags, or between the quotes of an attribute."""
    return escape(visible(text), quote=True)


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character == "\u00a0" else _spelled_out(character)


def _visible_character(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if character.isspace() else _spelled_out(character)


def _spelled_out(character: str) -> str:
    return character.encode("unicode_escape").decode()
