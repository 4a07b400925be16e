"""Tokens and sentences, and the form in which treebanks write a token."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self, overload

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


class Tokens(Sequence[Token]):
    """A sequence of tokens, kept in four lists; `Token` objects are created lazily.

    Making the objects takes several times as long as finding the tokens, and most of them are never looked at.
    """

    __slots__ = ("ends", "forms", "starts", "texts")

    def __init__(self, texts: list[str], starts: list[int], ends: list[int], forms: list[str]) -> None:
        self.texts = texts
        self.starts = starts
        self.ends = ends
        self.forms = forms

    @classmethod
    def of(cls, tokens: Iterable[Token]) -> Self:
        """The same tokens."""
        if isinstance(tokens, cls):
            return tokens
        found = cls([], [], [], [])
        for token in tokens:
            found.add(token)
        return found

    def add(self, token: Token) -> None:
        """Put one more token at the end."""
        self.texts.append(token.text)
        self.starts.append(token.start)
        self.ends.append(token.end)
        self.forms.append(token.form)

    def __len__(self) -> int:
        return len(self.forms)

    def __iter__(self) -> Iterator[Token]:
        return map(Token, self.texts, self.starts, self.ends, self.forms)

    @overload
    def __getitem__(self, place: int) -> Token: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Token | Self:
        if isinstance(place, int):
            return Token(self.texts[place], self.starts[place], self.ends[place], self.forms[place])
        return type(self)(self.texts[place], self.starts[place], self.ends[place], self.forms[place])


@dataclass(frozen=True, slots=True)
class TokenizedSentence:
    """The tokens of one sentence, in order; there is at least one."""

    tokens: Sequence[Token]
    """A tuple, or `Tokens`, which creates `Token` objects lazily."""

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
