"""Other spellings under which a word as people type it may be found: `SOOOO`, `favourite`, `:-))`, `10/10`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import product
from typing import Literal

from lexitree.text.patterns import RATING_STARS, is_emoticon

Lookup = Literal["written", "typed", "folded"]
"""How words are looked up: by the paper's rule; also by their normal forms; or so, and in lower case first."""

MENTION, LINK = "@mention", "http://link"
"""The words that all mentions of people, and all addresses, are looked up as."""
RATINGS = tuple(f"{number}/5" for number in range(6))
"""The words that ratings are looked up as: the number of stars out of five."""

_MAX_LETTERS = 48
"""Longer words have no normal form: they are no words."""
_MAX_RUNS = 4
"""Of more runs of letters than this, the first are tried in both lengths."""

_RUNS = re.compile(r"([^\W\d_])\1{2,}")
_DIGITS = re.compile(r"\d")
_NUMBER = re.compile(r"[-+]?[$£€]?\d[\d,.:]*(?:st|nd|rd|th|s|k|x|%)?", re.IGNORECASE)
_FRACTION = re.compile(r"(\d{1,3}(?:[.,]\d)?)/(5|10|100)(?:-?stars?)?")
_STARS = re.compile(rf"([{RATING_STARS}]*)(½?)☆*")
_COUNTED = re.compile(r"([0-5])(?:\.5)?(?:\*|-?stars?)")
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five")
_COUNT_WORDS = {f"{word}-star": f"{number}/5" for number, word in enumerate(_NUMBER_WORDS)}
_ADDRESS = re.compile(r"(?:https?|ftp)://.+|www\..+|[\w.%+-]+@[\w-]+\.[\w.]+", re.IGNORECASE)
_SKIN_OR_SELECTOR = re.compile("[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f\u20e3\u2640\u2642]")

_EMOTICONS = {
    "🙂": ":) :] :} =) =] (: (; :-) :3 :c)",
    "🙁": ":( :[ :{ =( =[ :c :C :-(",
    "😀": ":D =D :-D 8D 8-) B-) B-D 8-D",
    "😆": "xD XD x-D X-D",
    "😉": ";) ;] ;D ;-)",
    "😛": ":P :p =P =p ;P ;p",
    "😢": ":'( :'[ ;( ='( T_T t_t U_U u_u",
    "😂": ":') :'D",
    "😕": ":/ :\\ =/ =\\ :S :s",
    "😐": ":| =| -_-",
    "😮": ":o :O =O =o o_o O_O 0_0 o_O O_o",
    "😠": ">:( >:[ >:/ :@ >_< >.<",
    "😧": "D: D; D=",
    "😘": ":* =* :-*",
    "😊": "^_^ ^^ ^.^ ^-^ \\o/",
    "🤷": "¯\\_(ツ)_/¯",
    "❤": "<3",
    "💔": "</3",
}
_EMOJI_OF = {emoticon: emoji for emoji, emoticons in _EMOTICONS.items() for emoticon in emoticons.split()}
_NOSE = re.compile(r"(?<=[:;=8xXB'’])[-o^*](?=.)")
_MOUTHS = re.compile(r"([)(\[\]{}D3])\1+")

_SHORTENED = """
    thanks: thx thnx thanx tnx tnks tks thks; please: pls plz plez; because: cuz coz bcuz bcoz becuz; good: gud gd;
    awesome: awsum awsome awesum; sucks: sux suks suxx suxs; probably: prolly probs; definitely: def defs defo;
    favorite: fav fave; tomorrow: tmrw tmr 2mrw 2moro 2morrow; great: gr8; before: b4; late: l8; later: l8r;
    hate: h8; hated: h8d; mate: m8; wait: w8; straight: str8; love: luv; loves: luvs; loved: luved; people: ppl;
    today: 2day; tonight: 2nite tonite; night: nite; forever: 4ever; with: w/; without: w/o; through: thru;
    though: tho; although: altho; birthday: bday; hours: hrs; hour: hr; years: yrs; message: msg; pictures: pics;
    videos: vids; ridiculous: ridic; really: rly; seriously: srsly; obviously: obv; you: u; your: ur
"""
_ABBREVIATIONS = {
    short: word.strip()
    for word, shorts in (entry.split(":") for entry in _SHORTENED.split(";"))
    for short in shorts.split()
}
"""Words of chats and what they shorten; those that mean something of their own, such as `lol`, are not here."""

_AMERICAN = (
    (
        re.compile(
            r"([^aeiou]|[aeiou][^aeiou])our(?=$|s|ed|ing|able|ably|ful|fully|less|ite|ites|er|ers|y|hood)"
        ),
        r"\1or",
    ),
    (re.compile(r"is(?=(?:e|es|ed|er|ers|ing|ation|ations|able)$)"), "iz"),
    (re.compile(r"ys(?=(?:e|es|ed|er|ers|ing)$)"), "yz"),
    (re.compile(r"tre(?=$|s$|d$)"), "ter"),
    (re.compile(r"ll(?=(?:ed|ing|er|ers|ery|ous)$)"), "l"),
    (re.compile(r"(?<=[nf])ce(?=$|s$)"), "se"),
    (re.compile(r"ogue(?=$|s$)"), "og"),
    (re.compile(r"[ao]e"), "e"),
    (re.compile(r"mme(?=$|s$)"), "m"),
    (re.compile(r"^grey"), "gray"),
    (re.compile(r"ough$"), "ow"),
    (re.compile(r"lful"), "llful"),
    (re.compile(r"wellery"), "welry"),
    (re.compile(r"tyre"), "tire"),
    (re.compile(r"cheque(?=$|s$)"), "check"),
    (re.compile(r"sceptic"), "skeptic"),
    (re.compile(r"mould"), "mold"),
    (re.compile(r"^cos(?=y|ier|iest)"), "coz"),
    (re.compile(r"pyjama"), "pajama"),
)
"""What British spelling has, and American instead. A rule may make no word, which then has no vector either."""

_HOW_DRAWN = """
    face with sign symbol of and the in over emoji white black heavy suit modifier variation selector medium large
    small type letter capital latin dot dots
"""
_NO_MEANING = frozenset(_HOW_DRAWN.split())
"""Words of Unicode's names that say how a sign is drawn, not what it shows."""


STAND_INS = {
    **dict(zip(RATINGS, ("worst", "terrible", "disappointing", "okay", "good", "excellent"), strict=True)),
    MENTION: "someone",
    LINK: "website",
    **dict.fromkeys(_EMOTICONS, ""),
}
"""The words that others are looked up as and that no file of vectors has, with a word whose vector they start with;
emoji start with their names."""


def is_lengthened(word: str) -> bool:
    """Whether a letter is repeated three times or more."""
    return _RUNS.search(word.lower()) is not None


def plain_form(word: str) -> str:
    """A word in lower case, or an emoji without skin tone: what an added vector is filed under."""
    return _SKIN_OR_SELECTOR.sub("", word.lower()) or word


def normal_forms(word: str) -> Iterator[str]:
    """Yield other spellings of a word that has no vector, the nearest first.

    In this order: what it shortens; other capitals; for ratings, mentions, addresses, emoticons and emoji the word
    that stands for them; letters that are repeated twice or once; American spelling; without hyphens and
    apostrophes; round numbers.

    Args:
        word: The word as a reader sees it.
    """
    if len(word) > _MAX_LETTERS:
        return
    lower = word.lower()
    if lower in _ABBREVIATIONS:
        yield _ABBREVIATIONS[lower]
    yield from (lower, lower.capitalize(), lower.upper())
    for stands_for in (_rating(lower), _address(word), *_signs(word)):
        if stands_for:
            yield stands_for
    for squeezed in _squeezed(lower):
        yield from (squeezed, *_american(squeezed), squeezed.capitalize())
    yield from _american(lower)
    joined = re.sub(r"[-'’.]", "", lower)
    if joined and joined != lower:
        yield from (joined, joined.upper())
    if _NUMBER.fullmatch(lower):
        # The first digit tells more of a number than the others.
        first, *others = _DIGITS.split(lower, maxsplit=1)
        digit = lower[len(first)]
        yield from (first + digit + _DIGITS.sub("0", others[0]), "100")


def _rating(word: str) -> str | None:
    """The stars out of five, if a word is a rating: `10/10`, `4.5/5`, `★★☆☆☆`, `3-star`, `5*`."""
    if found := _FRACTION.fullmatch(word):
        share = float(found[1].replace(",", ".")) / float(found[2])
        return RATINGS[round(5 * share)] if share <= 1 else RATINGS[5]
    if found := _COUNTED.fullmatch(word):
        return RATINGS[int(found[1])]
    bare = word.replace("\ufe0f", "")
    if (found := _STARS.fullmatch(bare)) and (len(bare) > 1 or found[1]):
        return RATINGS[min(5, len(found[1]))]
    return _COUNT_WORDS.get(word)


def _address(word: str) -> str | None:
    if len(word) > 1 and word[0] == "@":
        return MENTION
    return LINK if _ADDRESS.fullmatch(word) else None


def _signs(word: str) -> Iterator[str]:
    """An emoticon without nose and with one mouth; the emoji that it stands for; an emoji without its skin tone."""
    if word.isalnum():
        return
    bare = _MOUTHS.sub(r"\1", word)
    for form in (word, bare, _NOSE.sub("", bare)):
        yield form
        if emoji := _EMOJI_OF.get(form):
            yield emoji
    plain = _SKIN_OR_SELECTOR.sub("", word)
    if plain and plain != word:
        yield plain
    parts = [part for part in plain.split("\u200d") if part]
    if len(parts) > 1:
        yield from parts


def _squeezed(word: str) -> Iterator[str]:
    """A word without lengthening: each run of a letter once or twice, `coool` before `col`."""
    num_runs = len(_RUNS.findall(word))
    if not num_runs:
        return
    for lengths in product((2, 1), repeat=min(num_runs, _MAX_RUNS)):
        rest = iter(lengths)
        yield _RUNS.sub(lambda run, rest=rest: run[1] * next(rest, 1), word)


def _american(word: str) -> Iterator[str]:
    if not word.isalpha():
        return
    for pattern, replacement in _AMERICAN:
        changed = pattern.sub(replacement, word, count=1)
        if changed != word:
            yield changed


def words_of_sign(sign: str) -> list[str]:
    """The words of a pictograph's name in Unicode that tell what it shows: `thumbs up` for 👍 and 👍🏽.

    A flag is called by its letters. Names come with Python, from the Unicode Character Database.
    """
    for form in (sign, *_signs(sign)):
        if not is_emoticon(form) or form.isascii():
            continue
        names = [unicodedata.name(character, "") for character in _SKIN_OR_SELECTOR.sub("", form)]
        words = [word for name in names for word in re.findall("[a-z]+", name.lower())]
        if words:
            return [word for word in words if word not in _NO_MEANING] or words
    return []
