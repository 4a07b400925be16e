"""A piece of text in, a token with its place and its Penn form out; sentences are runs of tokens."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from lexitree.text.patterns import not_in_forms

BRACKET_FORMS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
"""Brackets as treebanks write them, whose own brackets are these."""

_FORMS_OF_WHOLE_TOKENS = {
    **dict.fromkeys("“„‟«", "``"),
    **dict.fromkeys("”»", "''"),
    **dict.fromkeys("‘‚‛‹", "`"),
    **dict.fromkeys("’›", "'"),
    **dict.fromkeys("—―–", "--"),
    "（": "-LRB-",
    "）": "-RRB-",
    "，": ",",
    "。": ".",
    "！": "!",
    "？": "?",
    "：": ":",
    "；": ";",
}
_FORMS_OF_CHARACTERS = str.maketrans(
    {
        **BRACKET_FORMS,
        "/": "\\/",
        "*": "\\*",
        **dict.fromkeys("’‘ʼ＇", "'"),
        **dict.fromkeys("‐‑–−", "-"),
    }
)
_ESCAPED = re.compile(r"[()\[\]{}/*]")
_ELLIPSIS = re.compile(r"[.…]{2,}|…")
_DASHES = re.compile(r"[-‐‑–—―]{2,}")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number, a sign: a piece of the user's text without white space at its ends."""

    text: str
    """The exact slice of the text."""
    start: int
    """The place of its first character."""
    end: int
    """The place after its last character."""
    form: str
    """What the parser and the model look up, as the Penn treebanks write it: `-LRB-` for `(`."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of one sentence, in their order; there is at least one."""

    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        """The place of the first character."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The place after the last character."""
        return self.tokens[-1].end

    @property
    def forms(self) -> list[str]:
        """What the parser and the model look up."""
        return [token.form for token in self.tokens]


def penn_form(text: str) -> str:
    """A token as the Penn treebanks write it. A straight quotation mark stays: its side is a matter of context."""
    if text.isascii() and text.isprintable():
        if text.startswith(("..", "--")) and len(set(text)) == 1:
            return text[:2] if text[0] == "-" else text[:3]
        return text.translate(_FORMS_OF_CHARACTERS) if _ESCAPED.search(text) else text
    # What is invisible altogether has no other form than itself.
    visible = not_in_forms().sub("", text) or text
    if visible in _FORMS_OF_WHOLE_TOKENS:
        return _FORMS_OF_WHOLE_TOKENS[visible]
    if _ELLIPSIS.fullmatch(visible):
        return "..."
    if _DASHES.fullmatch(visible):
        return "--"
    return unicodedata.normalize("NFC", visible).translate(_FORMS_OF_CHARACTERS)
