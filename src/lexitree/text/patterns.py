"""No input; out comes the expression that finds the next token, one named alternative for each kind.

Every alternative takes linear time: what may repeat is possessive, bounded, or sure to match once it has begun.
"""

from __future__ import annotations

import re

from lexitree.text.characters import EXTENSION, PICTOGRAPH, WORD

_APOSTROPHE = "['’]"
_END_OF_WORD = f"(?!{WORD})"
_LETTER = r"[^\W\d_]"
_CLITIC = rf"{_APOSTROPHE}(?i:s|re|ve|ll|d|m){_END_OF_WORD}"
_ADDRESS_TAIL = r"(?:[^\s()<>\"“”]++|\([^\s()<>\"“”]*+\))"
_ENDINGS = (
    r"(?:co\.uk|ac\.uk|com|org|net|edu|gov|mil|info|biz|io|tv|uk|de|fr|ca|au|jp|ru|ch|nl|eu|COM|ORG|NET"
    r"|js|py|html?|pdf|jpe?g|png|gif|txt|csv|zip|exe|mp[34]|avi|docx?)"
)
"""Of domains and of file names; those that are English words (`it`, `is`) would join sentences."""

_INNER_SIGN = rf"""(?:
    [-‐‑–&/_]
  | (?!{_CLITIC}){_APOSTROPHE}
  | (?<=\d)(?:,(?=\d{{3}}(?!\d))|[.:](?=\d))
)(?={WORD})"""

_EMOTICON = rf"""(?:
    (?<!{WORD})(?:
        [:;=]['’]?[-o^*]?(?:[DPpOo3cC/\\|@$*]{_END_OF_WORD}|[)(\[\]}}{{]++)
      | [8xXB]-[)D]{_END_OF_WORD}
      | [xX]D++{_END_OF_WORD}
      | D[:;]{_END_OF_WORD}
      | <3++{_END_OF_WORD} | </3{_END_OF_WORD}
      | \^[_.-]?\^ | -_++- | >[_.]< | \\o/
      | (?:[oO0]_[oO0]|[tT]_[tT]|[uU]_[uU]){_END_OF_WORD}
    )
  | ¯\\_++\([^\s()]{{1,9}}\)_++/¯
  | \([:;]-?(?=\s|\Z)
  | (?<={WORD})[:;]-?[)(]++(?=\s|\Z)
)"""

_KINDS = {
    "plain": r"[A-Za-z]++(?=[ ,\n])",
    "penn": r"-[LR][RSC]B-|``|''",
    "address": rf"(?i:https?|ftp)://{_ADDRESS_TAIL}++|(?i:www)\.(?=\w){_ADDRESS_TAIL}++",
    "mail": r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@(?:[A-Za-z0-9-]{1,63}+\.){1,8}[A-Za-z]{2,24}+",
    "domain": rf"(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}+\.){{1,8}}{_ENDINGS}(?![\w@])(?:/{_ADDRESS_TAIL}*+)?",
    "pictograph": rf"""
        [0-9#*]\ufe0f?\u20e3 | [\U0001f1e6-\U0001f1ff]{{2}}
      | {PICTOGRAPH}{EXTENSION}*+(?:(?<=\u200d){PICTOGRAPH}{EXTENSION}*+)*+""",
    "emoticon": _EMOTICON,
    "tag": rf"\#(?=\d*+{_LETTER})(?:{WORD}|_)++|(?<!{WORD})@\w{{1,64}}+{_END_OF_WORD}",
    "dotted": rf"{_LETTER}(?:\.{_LETTER})+{_END_OF_WORD}(?:\.(?!\.))?|(?:Ph|Ed|M|B)\.(?:Sc|D)\b(?:\.(?!\.))?",
    "currency": r"(?:US|NZ|HK|A|C|R)\$(?=\d)",
    "elision": rf"""
        ['’‘](?:
            (?i:em|til|tis|twas|twere|twill|cause|cuz|cos|bout|round|nuff|neath|tween){_END_OF_WORD}
          | \d\d(?:s|S)?{_END_OF_WORD} | [nN](?:{_APOSTROPHE}|{_END_OF_WORD})
        )""",
    "clitic": _CLITIC,
    "word": rf"""
        (?:(?<![^\s(\[{{])[-+−]?\.?(?=\d))?{WORD}++(?:{_INNER_SIGN}{WORD}++)*+(?:-(?=[\s,]|\Z))?""",
    "quote": "[\"＂'’`]",
    "sign": r"[.…]{2,}+|…|[-‐‑–—―]{2,}+|\*++|_++|~++|=++|\S",
}

NEXT_TOKEN = re.compile(
    f"(\\s*+)(?:{EXTENSION}*+(?:"
    + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items())
    + f"){EXTENSION}*+|{EXTENSION}++)",
    re.VERBOSE,
)
"""White space and the token after it. `lastgroup` is its kind; none where it is all marks or invisible."""

TRAILING_EXTENSION = re.compile(f"{EXTENSION}*+")
EMOTICON = re.compile(f"{_EMOTICON}|{PICTOGRAPH}.*", re.VERBOSE | re.DOTALL)
"""A whole token that is a face or a picture."""
