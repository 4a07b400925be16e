"""Unicode's categories in, the character classes that the patterns are built of out.

Python's expressions know letters and spaces, but neither combining marks nor pictographs; they are read from the
Unicode tables once, when the first text is met that is not plain ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

_JOINERS = "\u00ad\u200c\u200d\u200e\u200f\u2060"
"""Characters without width that stand inside words: the soft hyphen, joiners and marks of direction."""

_MARKS = frozenset(("Mn", "Mc", "Me"))
"""The categories of combining marks."""

_TABLES = (
    range(0x3400),
    range(0xA000, 0xAC00),
    range(0xD7FC, 0x12000),
    range(0x16A00, 0x17000),
    range(0x1B000, 0x1F000),
)
"""Where marks, punctuation and symbols stand; between and above are ideographs and the blocks named here."""
_SUPPLEMENT = "\U000e0000-\U000e01ef"
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"
_PICTOGRAPHS = "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
"""Whole blocks, so that pictographs younger than Python's tables are known."""
_NO_WORDS_ABOVE = "\U0001f000-\U0001faff\U00040000-\U000e00ff\U000e01f0-\U0010ffff"


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a character class for ascending codes."""
    pieces: list[str] = []
    run = list(codes)
    starts = [
        0,
        *(place + 1 for place, (left, right) in enumerate(pairwise(run)) if right != left + 1),
        len(run),
    ]
    for first, after in pairwise(starts):
        left, right = re.escape(chr(run[first])), re.escape(chr(run[after - 1]))
        pieces.append(left if left == right else f"{left}-{right}")
    return "".join(pieces)


@cache
def _codes_by_category() -> dict[str, list[int]]:
    """The characters of the tables that are neither letters nor digits nor white space."""
    table = "".join(map(chr, chain(*_TABLES)))
    found: dict[str, list[int]] = {}
    for character in re.findall(r"[^\w\s]", table):
        found.setdefault(unicodedata.category(character), []).append(ord(character))
    return found


def _invisible_codes() -> list[int]:
    codes = _codes_by_category()
    return [*codes["Cc"], *codes["Cf"]]


class Alphabet(NamedTuple):
    """Classes of characters, each as it stands in an expression."""

    word: str
    """A letter or digit of any script, or what continues one: a combining mark, a joiner."""
    extension: str
    """What never stands alone where a token precedes it: marks, invisible characters, skin tones."""
    pictograph: str
    """An emoji or another symbol that is a picture."""


ASCII = Alphabet(word="[A-Za-z0-9]", extension=r"[\x00-\x08\x0e-\x1b\x7f]", pictograph="(?!)")
"""What plain ASCII has of each class. Expressions made of it are the same there, and are compiled at once."""


@cache
def unicode_alphabet() -> Alphabet:
    """The classes for text of any script."""
    codes = _codes_by_category()
    marks = [code for category in _MARKS for code in codes[category]]
    no_word = [
        code
        for category in codes.keys() - _MARKS
        for code in codes[category]
        # Above the basic plane only whole blocks are left out: a class with many ranges there is slow.
        if chr(code) not in _JOINERS and code < 0x10000
    ]
    pictographs = _ranges(code for code in codes["So"] if code < 0x1F000)
    return Alphabet(
        word=f"[^\\s_{_ranges(sorted(no_word))}{_NO_WORDS_ABOVE}]",
        extension=f"[{_ranges(sorted([*marks, *_invisible_codes()]))}{_SKIN_TONES}{_SUPPLEMENT}]",
        pictograph=f"[{pictographs}{_PICTOGRAPHS}]",
    )


@cache
def not_in_forms() -> re.Pattern[str]:
    """What no dictionary holds. Joiners stay: they tell words of Persian apart and hold emoji together."""
    dropped = [code for code in sorted(_invisible_codes()) if chr(code) not in "\u200c\u200d"]
    return re.compile(f"[{_ranges(dropped)}]+")
