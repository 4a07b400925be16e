"""Tokens and sentences, and the form in which treebanks write a token."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from lexitree.text.patterns import RATING_STARS, not_in_forms

BRACKET_FORMS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
"""Brackets as treebanks write them, since their own syntax uses brackets."""

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
_REPEATED_SIGN = re.compile(rf"(?![{RATING_STARS}])(\W{{1,16}}?)\1+")
"""The same pictograph several times; stars are counted."""

_MAX_NORMALIZED = 1_000
"""Longer tokens are not normalized: Unicode's ordering of marks takes quadratic time."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign: a piece of the user's text without white space at its ends."""

    text: str
    """The exact slice of the text."""
    start: int
    """The position of its first character."""
    end: int
    """The position after its last character."""
    form: str
    """What the parser and the model look up, as the Penn treebanks write it: `-LRB-` for `(`."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TokenizedSentence:
    """The tokens of one sentence, in order; there is at least one."""

    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        """The position of the first character."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The position after the last character."""
        return self.tokens[-1].end

    @property
    def forms(self) -> list[str]:
        """What the parser and the model look up."""
        return [token.form for token in self.tokens]


def penn_form(text: str) -> str:
    """Return a token as the Penn treebanks write it, except straight quotes, whose side depends on context."""
    if text.isascii() and text.isprintable():
        if text.startswith(("..", "--")) and len(set(text)) == 1:
            return text[:2] if text[0] == "-" else text[:3]
        if len(text) > 1 and text[0] in "!?":
            # How often an exclamation mark is repeated says nothing about the parse, and little about the meaning.
            return "?" if "?" in text else "!"
        return text.translate(_FORMS_OF_CHARACTERS) if _ESCAPED.search(text) else text
    # An entirely invisible token is its own form.
    visible = not_in_forms().sub("", text) or text
    if visible in _FORMS_OF_WHOLE_TOKENS:
        return _FORMS_OF_WHOLE_TOKENS[visible]
    if _ELLIPSIS.fullmatch(visible):
        return "..."
    if _DASHES.fullmatch(visible):
        return "--"
    if repeated := _REPEATED_SIGN.fullmatch(visible):
        visible = repeated[1]
    if len(visible) <= _MAX_NORMALIZED:
        visible = unicodedata.normalize("NFC", visible)
    return visible.translate(_FORMS_OF_CHARACTERS)
