"""Split text into tokens, before sentence boundaries are known; abbreviations keep their period."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lexitree.text.patterns import next_token, trailing_extension
from lexitree.text.tokens import Token, penn_form

_TITLES_AND_THE_LIKE = """
    Mr Mrs Ms Mx Messrs Mme Mlle Dr Drs Prof St Ste Gen Sen Rep Gov Lt Capt Cmdr Sgt Cpl Pvt Maj Col Adm Rev Hon
    Pres Supt Insp Mt Ft Fr Sra Srta vs Vs cf viz e.g i.e E.g I.e eg ie approx ca P.S
"""
_COMPANIES_PLACES_AND_DATES = """
    Jr Sr Esq Inc Co Corp Ltd Bros Cos Assn Dept Univ Inst Mfg etc al Ave Blvd Rd Hwy Pkwy Bldg
    Jan Feb Apr Aug Sept Oct Nov Dec Mon Tues Wed Thurs Fri Ala Ariz Ark Calif Colo Conn Fla Ga Ind Kan Ky
    Md Mich Minn Mont Neb Nev Okla Ore Tenn Tex Va Vt Wash Wis Wyo
    Ph.D M.Sc B.Sc Ed.D dept est mfg repr orig incl misc eds
"""
_WORDS_BEFORE_NUMBERS = "no nos fig figs vol vols p pp sec ch op art para eq c b d tel ext"
_STARTERS = """
    A After All Although An And Another Any As At Because Before Both But By Despite Each Even Every
    Everyone First For From Had Has Have He Her Here His How However I If In Instead Is It Its Just Like
    Many Maybe Meanwhile Most My Nevertheless No Nobody None Not Nothing Now Of On Once One Only Or Our
    Perhaps She Since So Some Someone Still Such That The Their Then There These They This Those Though
    Thus To Today Under Unfortunately Until We Were What When Where Whether Which While Who Why With
    Without Yes Yet You Your
"""

_BEFORE_NAMES = frozenset(_TITLES_AND_THE_LIKE.split())
"""More of the sentence always follows these."""
_OTHERS = frozenset(_COMPANIES_PLACES_AND_DATES.split())
"""A sentence may end with these."""
_BEFORE_NUMBERS = frozenset(_WORDS_BEFORE_NUMBERS.split())
"""These are abbreviations only before a number."""
SENTENCE_STARTERS = frozenset(_STARTERS.split())
"""Words that are rarely names: capitalized after an abbreviation, they start a sentence."""

_NUMBER_AHEAD = re.compile(r"\.[ \u00a0]?\d")
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+\.")


def takes_period(word: str, text: str, period: int) -> bool:
    """Return whether the period at this position of the text is part of the word before it."""
    if len(word) == 1 and word.isupper():
        return True
    if word in _BEFORE_NAMES or word in _OTHERS or _is_title_in_capitals(word):
        return True
    return word.lower() in _BEFORE_NUMBERS and _NUMBER_AHEAD.match(text, period) is not None


def _is_title_in_capitals(word: str) -> bool:
    return word.isupper() and word.capitalize() in _BEFORE_NAMES


def is_initial(form: str) -> bool:
    """Return whether this is a capital letter with a period, as in a name."""
    return len(form) == 2 and form[1] == "." and form[0].isupper()


def is_abbreviation(form: str) -> bool:
    """Return whether the last character is a period that is part of the word."""
    if form[-1:] != "." or form == ".":
        return False
    return is_initial(form) or form[:-1] in _OTHERS or is_before_more(form) or bool(_DOTTED.fullmatch(form))


def is_before_more(form: str) -> bool:
    """Return whether no sentence can end with this abbreviation, as with a title before a name."""
    word = form[:-1]
    if is_initial(form):
        return False
    return word in _BEFORE_NAMES or word.lower() in _BEFORE_NUMBERS or _is_title_in_capitals(word)


_PARAGRAPH = re.compile(r"\n[^\S\n]*+\n|\u2029")
_BEFORE_OPENING = frozenset("([{<“‘„«`—–-/=")
_AFTER_CLOSING = frozenset(".,;:!?)]}>”’»…")
_DOUBLE = frozenset('"＂')
_ONE_SIDED = {"`": "`", "’": "'"}
_SIGNS = _DOUBLE | {"'", *_ONE_SIDED}


class QuoteSides:
    """Decides whether straight quotation marks open or close, going through a text from start to end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_open = {'"': False, "'": False}
        self._last = 0
        self._opened_at = -1

    def note(self, form: str) -> None:
        """Register a mark whose side is unambiguous."""
        if form in ("``", "''"):
            self._is_open['"'] = form == "``"

    def form(self, mark: str, start: int, end: int) -> str:
        """Return the Penn form of the mark at this position."""
        sign = next(character for character in mark if character in _SIGNS)
        if sign in _ONE_SIDED:
            return _ONE_SIDED[sign]
        is_double = sign in _DOUBLE
        opens = self._opens('"' if is_double else "'", start, end)
        if opens:
            self._opened_at = end
        if is_double:
            return "``" if opens else "''"
        return "`" if opens else "'"

    def _opens(self, mark: str, start: int, end: int) -> bool:
        # An unclosed quotation ends with its paragraph.
        if _PARAGRAPH.search(self._text, self._last, start):
            self._is_open = dict.fromkeys(self._is_open, False)
        self._last = end
        before = self._text[start - 1 : start]
        after = self._text[end : end + 1]
        free_before = not before or before.isspace() or before in _BEFORE_OPENING or self._opened_at == start
        free_after = not after or after.isspace() or after in _AFTER_CLOSING
        if free_before != free_after:
            opens = free_before
        elif mark == "'" and before.isspace():
            # The text is already tokenized: in ` dogs ' the opening mark is another character.
            opens = False
        else:
            # Space on both sides or on neither: close an open quotation. After a number it means inches.
            opens = not self._is_open[mark] and not (before.isdigit() and not free_before)
        self._is_open[mark] = opens
        return opens


_WITHOUT_APOSTROPHE = {
    "n't": """
        aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt neednt shouldnt wasnt werent wont
        wouldnt
    """,
    "'m": "im",
    "'re": "theyre youre",
    "'s": "heres hes shes thats theres whats wheres whos",
    "'ve": "ive theyve weve youve",
    "'ll": "itll theyll youll",
}
"""Words that people type without the apostrophe; `its`, `were` and others that mean something else are not here."""
_SECOND_FORMS = {word: form for form, words in _WITHOUT_APOSTROPHE.items() for word in words.split()}
_FIRST_PARTS = {
    **dict.fromkeys(("cannot", "gonna", "wanna", "gotta", "lemme", "gimme"), 3),
    **dict.fromkeys(("'tis", "'twas", "'twere", "'twill", "y'all", "d'ye", "d'you"), 2),
    **{word: len(word) - len(form) + 1 for word, form in _SECOND_FORMS.items()},
}
"""Words that the Penn Treebank splits in two, and the length of the first part."""
_LONGEST_IN_PARTS = max(map(len, _FIRST_PARTS))
_LAST_IN_FIRST_PARTS = frozenset(letter for word in _FIRST_PARTS for letter in (word[-1], word[-1].upper()))
_KEPT_APOSTROPHES = frozenset(("ol", "o"))
"""Words that end in an apostrophe: ol' time, will o' the wisp."""

_CURLY = re.compile("[’‘]")
_NOT = re.compile("n['’]t", re.IGNORECASE)
_AFTER_ADDRESS = ".,;:!?'’*_~…"
"""What follows an address rather than ends it."""


def scan_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text in order; together they contain every character except white space."""
    return scan_between(text, 0, len(text), QuoteSides(text))


def scan_between(text: str, place: int, end: int, quotes: QuoteSides) -> Iterator[Token]:
    """Yield the tokens of a part of a text that begins after white space and ends with it, or with the text.

    Args:
        text: The whole text.
        place: Where the part begins.
        end: Where it ends.
        quotes: What the quotation marks before it were.
    """
    find = next_token(text.isascii()).match
    while found := find(text, place, end):
        kind = found.lastgroup
        start, place = found.end(1), found.end()
        piece = text[start:place]
        if kind == "plain":
            # Fast path: most tokens are words of ASCII letters before a space.
            if piece[-1] in _LAST_IN_FIRST_PARTS and piece.lower() in _FIRST_PARTS:
                yield from _cut(piece, start, _FIRST_PARTS[piece.lower()])
            else:
                yield Token(piece, start, place, piece)
            continue
        if kind == "word" or kind == "elision":
            place = _end_of_word(text, piece, start, place)
            yield from _word_parts(text[start:place], start)
        elif kind == "quote":
            yield Token(piece, start, place, quotes.form(piece, start, place))
        else:
            if kind == "address" or kind == "domain":
                piece = piece.rstrip(_AFTER_ADDRESS)
                place = start + len(piece)
            form = penn_form(piece)
            quotes.note(form)
            yield Token(piece, start, place, form)


def tokens_at(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Token]:
    """Yield the tokens of one sentence, given their positions in a text, with forms as `scan_tokens` gives them.

    The forms do not depend on anything outside of the sentence.
    """
    first = spans[0][0]
    quotes = QuoteSides(text[first : spans[-1][1]])
    for start, end in spans:
        piece = text[start:end]
        form = quotes.form(piece, start - first, end - first) if piece in _SIGNS else penn_form(piece)
        quotes.note(form)
        yield Token(piece, start, end, form)


def _end_of_word(text: str, word: str, start: int, end: int) -> int:
    """Return the end of a word, including a period or apostrophe that belongs to it."""
    after = text[end : end + 2]
    if after[:1] == ".":
        belongs = after != ".." and (takes_period(word, text, end) or _is_item_number(text, word, start, end))
    else:
        belongs = after[:1] in ("'", "’") and after[1:].isspace() and word.lower() in _KEPT_APOSTROPHES
    if not belongs:
        return end
    extended = trailing_extension(text.isascii()).match(text, end + 1)
    assert extended is not None
    return extended.end()


def _is_item_number(text: str, word: str, start: int, end: int) -> bool:
    """Return whether the number starts a line that continues: `1. Open the box`."""
    is_first = start == 0 or text[start - 1] == "\n"
    return is_first and text[end + 1 : end + 2] == " " and word.replace(".", "").isdecimal()


def _word_parts(word: str, start: int) -> Iterator[Token]:
    """Return the word, or its two parts: `do` and `n't`, `gon` and `na`."""
    length = len(word)
    if length > 3 and word[-1] in "tT" and _NOT.fullmatch(word, length - 3):
        return _cut(word, start, length - 3)
    if length <= _LONGEST_IN_PARTS and word[-1] in _LAST_IN_FIRST_PARTS:
        first_part = _FIRST_PARTS.get(_CURLY.sub("'", word.lower()), 0)
        if first_part:
            return _cut(word, start, first_part)
    return iter((Token(word, start, start + length, penn_form(word)),))


def _cut(word: str, start: int, length: int) -> Iterator[Token]:
    second = word[length:]
    form = _SECOND_FORMS.get(word.lower()) or penn_form(second)
    yield Token(word[:length], start, start + length, penn_form(word[:length]))
    yield Token(second, start + length, start + len(word), form.upper() if second.isupper() else form)
