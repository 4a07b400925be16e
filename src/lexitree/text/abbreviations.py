"""Abbreviations: whether a period belongs to a word, and whether a sentence may end there."""

from __future__ import annotations

import re

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
