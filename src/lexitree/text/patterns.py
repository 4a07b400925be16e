"""The regular expression that finds the next token of a text, with one alternative per kind of token.

Every alternative takes linear time: whatever repeats is possessive, bounded, or certain to match once it has begun.
Groups that repeat are atomic, `(?>(?:...)*)`, not possessive, which Python 3.11.0 to 3.11.4 matches wrongly.
Python's expressions have classes for letters and spaces, but not for combining marks or pictographs, which are built
from the Unicode tables. The expression for any script contains large classes several times and is slow to compile, so
it is built only for text that is not ASCII; on plain ASCII, the other one gives the same result.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

_JOINERS = "\u00ad\u200c\u200d\u200e\u200f\u2060"
"""Zero-width characters inside words: the soft hyphen, joiners and direction marks."""

_MARKS = frozenset(("Mn", "Mc", "Me"))
"""The categories of combining marks."""

_TABLES = (
    range(0x3400),
    range(0xA000, 0xAC00),
    range(0xD7FC, 0x12000),
    range(0x16A00, 0x17000),
    range(0x1B000, 0x1F000),
)
"""Where marks, punctuation and symbols are; the rest are ideographs and the blocks below."""
_SUPPLEMENT = "\U000e0000-\U000e01ef"
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"
_PICTOGRAPHS = "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
"""Whole blocks, so that pictographs newer than Python's tables are included."""
_NO_WORDS_ABOVE = "\U0001f000-\U0001faff\U00040000-\U000e00ff\U000e01f0-\U0010ffff"


def _ranges(codes: Iterable[int]) -> str:
    """Return the inside of a character class for ascending code points."""
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
    """Return the characters of the tables that are neither letters, digits nor white space."""
    table = "".join(map(chr, chain(*_TABLES)))
    found: dict[str, list[int]] = {}
    for character in re.findall(r"[^\w\s]", table):
        found.setdefault(unicodedata.category(character), []).append(ord(character))
    return found


def _invisible_codes() -> list[int]:
    codes = _codes_by_category()
    return [*codes["Cc"], *codes["Cf"]]


class Alphabet(NamedTuple):
    """Classes of characters, as regular expressions."""

    word: str
    """A letter or digit of any script, or what continues one: a combining mark, a joiner."""
    extension: str
    """What always belongs to the token before it: marks, invisible characters, skin tones."""
    pictograph: str
    """An emoji or another pictorial symbol."""


ASCII = Alphabet(word="[A-Za-z0-9]", extension=r"[\x00-\x08\x0e-\x1b\x7f]", pictograph="(?!)")
"""The part of each class within ASCII. Expressions built from it give the same result there and compile fast."""


@cache
def _unicode_alphabet() -> Alphabet:
    """Return the classes for text of any script."""
    codes = _codes_by_category()
    marks = [code for category in _MARKS for code in codes[category]]
    no_word = [
        code
        for category in codes.keys() - _MARKS
        for code in codes[category]
        # Above the basic plane only whole blocks are excluded: a class with many ranges there is slow.
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
    """Match what token forms leave out. Joiners stay: they separate Persian words and hold emoji together."""
    dropped = [code for code in sorted(_invisible_codes()) if chr(code) not in "\u200c\u200d"]
    return re.compile(f"[{_ranges(dropped)}]+")


RATING_STARS = "★⭐🌟"
"""Stars that count in a rating such as ★★★☆☆."""

_APOSTROPHE = "['’]"
_LETTER = r"[^\W\d_]"
_ADDRESS_TAIL = r"(?:[^\s()<>\"“”]++|\([^\s()<>\"“”]*+\))"
_ENDINGS = (
    r"(?:co\.uk|ac\.uk|com|org|net|edu|gov|mil|info|biz|io|tv|uk|de|fr|ca|au|jp|ru|ch|nl|eu|COM|ORG|NET"
    r"|js|py|html?|pdf|jpe?g|png|gif|txt|csv|zip|exe|mp[34]|avi|docx?)"
)
"""Of domains and file names, except those that are English words (`it`, `is`), which would join sentences."""


@cache
def next_token(is_ascii: bool) -> re.Pattern[str]:
    """Match white space and the token after it.

    The match's `lastgroup` is the kind of token; None if it consists of marks or invisible characters only.
    """
    extension = _alphabet(is_ascii).extension
    kinds = _kinds(_alphabet(is_ascii)).items()
    return re.compile(
        f"(\\s*+)(?:{extension}*+(?:"
        + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds)
        + f"){extension}*+|{extension}++)",
        re.VERBOSE,
    )


@cache
def trailing_extension(is_ascii: bool) -> re.Pattern[str]:
    """Match marks and invisible characters, which belong to what they follow; possibly none."""
    return re.compile(f"{_alphabet(is_ascii).extension}*+")


def is_emoticon(token: str) -> bool:
    """Return whether a whole token is an emoticon or a pictograph."""
    return _emoticon_pattern(token.isascii()).fullmatch(token) is not None


@cache
def _emoticon_pattern(is_ascii: bool) -> re.Pattern[str]:
    alphabet = _alphabet(is_ascii)
    return re.compile(f"{_emoticon(alphabet)}|{alphabet.pictograph}.*", re.VERBOSE | re.DOTALL)


def _alphabet(is_ascii: bool) -> Alphabet:
    return ASCII if is_ascii else _unicode_alphabet()


def _kinds(alphabet: Alphabet) -> dict[str, str]:
    """Return the kinds of tokens and their patterns, in order of precedence."""
    word, extension, pictograph = alphabet
    end_of_word = f"(?!{word})"
    clitic = rf"{_APOSTROPHE}(?i:s|re|ve|ll|d|m){end_of_word}"
    return {
        "plain": r"[A-Za-z]++(?=[ ,\n])",
        "penn": r"-[LR][RSC]B-|``|''",
        "address": rf"(?i:https?|ftp)://(?>{_ADDRESS_TAIL}+)|(?i:www)\.(?=\w)(?>{_ADDRESS_TAIL}+)",
        "mail": r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@(?:[A-Za-z0-9-]{1,63}+\.){1,8}[A-Za-z]{2,24}+",
        "domain": (
            rf"(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}+\.){{1,8}}{_ENDINGS}(?![\w@])(?:/(?>{_ADDRESS_TAIL}*))?"
        ),
        "rating": rf"(?>(?:[{RATING_STARS}]\ufe0f?)+)½?☆*+|☆{{2,}}+|[0-5](?:\.5)?\*(?![\w*])",
        "pictograph": rf"""(?P<once>
            [0-9#*]\ufe0f?\u20e3 | [\U0001f1e6-\U0001f1ff]{{2}}
          | {pictograph}{extension}*+(?>(?:(?<=\u200d){pictograph}{extension}*+)*)
        )(?>(?:(?P=once))*)""",
        "emoticon": _emoticon(alphabet),
        "tag": rf"\#(?=\d*+{_LETTER})(?>(?:{word}|_)+)|(?<!{word})@\w{{1,64}}+{end_of_word}",
        "dotted": (
            rf"{_LETTER}(?:\.{_LETTER})+{end_of_word}(?:\.(?!\.))?|(?:Ph|Ed|M|B)\.(?:Sc|D)\b(?:\.(?!\.))?"
        ),
        "currency": r"(?:US|NZ|HK|A|C|R)\$(?=\d)",
        "elision": rf"""
            ['’‘](?:
                (?i:em|til|tis|twas|twere|twill|cause|cuz|cos|bout|round|nuff|neath|tween){end_of_word}
              | \d\d(?:s|S)?{end_of_word} | [nN](?:{_APOSTROPHE}|{end_of_word})
            )""",
        "clitic": clitic,
        "word": rf"""
            (?:(?<![^\s(\[{{])[-+−]?\.?(?=\d))?
            {word}++(?>(?:{_inner_sign(clitic)}(?={word}){word}++)*)(?:-(?=[\s,]|\Z))?""",
        "quote": "[\"＂'’`]",
        "sign": r"[!?]{2,}+(?:1++[!?]*+(?!\w))?|[.…]{2,}+|…|[-‐‑–—―]{2,}+|\*++|_++|~++|=++|\S",
    }


def _inner_sign(clitic: str) -> str:
    """Match what may connect two parts of one word."""
    return rf"""(?:
        [-‐‑–&/_]
      | (?!{clitic}){_APOSTROPHE}
      | (?<=\d)(?:,(?=\d{{3}}(?!\d))|[.:](?=\d))
    )"""


def _emoticon(alphabet: Alphabet) -> str:
    word, end_of_word = alphabet.word, f"(?!{alphabet.word})"
    return rf"""(?:
        (?<!{word})(?:
            >?[:;=]['’]?[-o^*]?(?:[DPpOoSs3cC/\\|@$*]{end_of_word}|[)(\[\]}}{{]++)
          | [8xXB]-[)D]{end_of_word}
          | [xX]D++{end_of_word}
          | D[:;]{end_of_word}
          | <3++{end_of_word} | </3{end_of_word}
          | \^[_.-]?\^ | -_++- | >[_.]< | \\o/
          | (?:[oO0]_[oO0]|[tT]_[tT]|[uU]_[uU]){end_of_word}
        )
      | ¯\\_++\([^\s()]{{1,9}}\)_++/¯
      | \([:;]-?(?=\s|\Z)
      | (?<={word})[:;]-?[)(]++(?=\s|\Z)
    )"""
