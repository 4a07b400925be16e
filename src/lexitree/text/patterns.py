"""Whether a text is plain ASCII in; out comes the expression that finds its next token, an alternative for each kind.

Every alternative takes linear time: what may repeat is possessive, bounded, or sure to match once it has begun. The
expression for any script holds large classes of characters many times and is slow to compile, so it waits until it is
needed; on plain ASCII the other one finds the same.
"""

from __future__ import annotations

import re
from functools import cache

from lexitree.text.characters import ASCII, Alphabet, unicode_alphabet

_APOSTROPHE = "['’]"
_LETTER = r"[^\W\d_]"
_ADDRESS_TAIL = r"(?:[^\s()<>\"“”]++|\([^\s()<>\"“”]*+\))"
_ENDINGS = (
    r"(?:co\.uk|ac\.uk|com|org|net|edu|gov|mil|info|biz|io|tv|uk|de|fr|ca|au|jp|ru|ch|nl|eu|COM|ORG|NET"
    r"|js|py|html?|pdf|jpe?g|png|gif|txt|csv|zip|exe|mp[34]|avi|docx?)"
)
"""Of domains and of file names; those that are English words (`it`, `is`) would join sentences."""


@cache
def next_token(is_ascii: bool) -> re.Pattern[str]:
    """White space and the token after it. `lastgroup` is its kind; none where it is all marks or invisible."""
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
    """Marks and invisible characters, which belong to what they follow; there may be none."""
    return re.compile(f"{_alphabet(is_ascii).extension}*+")


def is_emoticon(token: str) -> bool:
    """Whether a whole token is a face or a picture."""
    return _emoticon_pattern(token.isascii()).fullmatch(token) is not None


@cache
def _emoticon_pattern(is_ascii: bool) -> re.Pattern[str]:
    alphabet = _alphabet(is_ascii)
    return re.compile(f"{_emoticon(alphabet)}|{alphabet.pictograph}.*", re.VERBOSE | re.DOTALL)


def _alphabet(is_ascii: bool) -> Alphabet:
    return ASCII if is_ascii else unicode_alphabet()


def _kinds(alphabet: Alphabet) -> dict[str, str]:
    """The kinds of tokens, those first that are to win over others."""
    word, extension, pictograph = alphabet
    end_of_word = f"(?!{word})"
    clitic = rf"{_APOSTROPHE}(?i:s|re|ve|ll|d|m){end_of_word}"
    return {
        "plain": r"[A-Za-z]++(?=[ ,\n])",
        "penn": r"-[LR][RSC]B-|``|''",
        "address": rf"(?i:https?|ftp)://{_ADDRESS_TAIL}++|(?i:www)\.(?=\w){_ADDRESS_TAIL}++",
        "mail": r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@(?:[A-Za-z0-9-]{1,63}+\.){1,8}[A-Za-z]{2,24}+",
        "domain": (
            rf"(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}+\.){{1,8}}{_ENDINGS}(?![\w@])(?:/{_ADDRESS_TAIL}*+)?"
        ),
        "pictograph": rf"""
            [0-9#*]\ufe0f?\u20e3 | [\U0001f1e6-\U0001f1ff]{{2}}
          | {pictograph}{extension}*+(?:(?<=\u200d){pictograph}{extension}*+)*+""",
        "emoticon": _emoticon(alphabet),
        "tag": rf"\#(?=\d*+{_LETTER})(?:{word}|_)++|(?<!{word})@\w{{1,64}}+{end_of_word}",
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
            {word}++(?:{_inner_sign(clitic)}(?={word}){word}++)*+(?:-(?=[\s,]|\Z))?""",
        "quote": "[\"＂'’`]",
        "sign": r"[.…]{2,}+|…|[-‐‑–—―]{2,}+|\*++|_++|~++|=++|\S",
    }


def _inner_sign(clitic: str) -> str:
    """What may stand between two parts of one word."""
    return rf"""(?:
        [-‐‑–&/_]
      | (?!{clitic}){_APOSTROPHE}
      | (?<=\d)(?:,(?=\d{{3}}(?!\d))|[.:](?=\d))
    )"""


def _emoticon(alphabet: Alphabet) -> str:
    word, end_of_word = alphabet.word, f"(?!{alphabet.word})"
    return rf"""(?:
        (?<!{word})(?:
            [:;=]['’]?[-o^*]?(?:[DPpOo3cC/\\|@$*]{end_of_word}|[)(\[\]}}{{]++)
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
