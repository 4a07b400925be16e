"""Changes to a sentence that leave its sentiment as it is, for the cases of invariance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

_LONG_WORD = re.compile(r"[A-Za-z]{5,}")
"""Shorter words get no typos: too often they would be other words."""

_HANDLES = ("@jonas_berg", "@mira1987", "@TransitDesk", "@ask_northline", "@r_okoye", "@TheHarbourPost")
_LINKS = (
    "https://example.org/p/48213",
    "https://example.net/x7Qd",
    "http://example.com/2024/05/17",
    "www.example.org/list",
)
_TAGS = ("#Tuesday", "#Leeds", "#today", "#kitchen", "#commute", "#neighbourhood")


def without_full_stop(text: str) -> str:
    return text.removesuffix(".")


def exclamation_mark(text: str) -> str:
    return text.removesuffix(".") + "!"


def exclamation_marks(text: str) -> str:
    return text.removesuffix(".") + "!!!!"


def dots(text: str) -> str:
    return text.removesuffix(".") + "..."


def quoted(text: str) -> str:
    return f'"{text}"'


def wide_spaces(text: str) -> str:
    return "  " + text.replace(" ", "  ", 2).removesuffix(".") + " . "


def capitals(text: str) -> str:
    return text.upper()


def small_letters(text: str) -> str:
    return text.lower()


def swapped_letters(text: str) -> str:
    """Two neighbouring letters inside of a word change places."""
    return _misspell(
        text, lambda word, place: word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    )


def missing_letter(text: str) -> str:
    """A letter inside of a word is left out."""
    return _misspell(text, lambda word, place: word[:place] + word[place + 1 :])


def sentence_before(text: str) -> str:
    return f"I was here on Tuesday. {text}"


def sentence_after(text: str) -> str:
    return f"{text} I was here on Tuesday."


def mention_before(text: str) -> str:
    return f"@kim_w {text}"


def address_after(text: str) -> str:
    return f"{text} https://example.com/a1"


def handle_before(text: str) -> str:
    return f"{_drawn(_HANDLES, text)} {text}"


def handle_after(text: str) -> str:
    return f"{text} {_drawn(_HANDLES, text)}"


def link_after(text: str) -> str:
    return f"{text} {_drawn(_LINKS, text)}"


def tag_after(text: str) -> str:
    return f"{text} {_drawn(_TAGS, text)}"


def draw(text: str) -> int:
    """A large number that depends on the text only, so that the same cases are drawn everywhere."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _drawn(entries: Sequence[str], text: str) -> str:
    """One of the entries, drawn by the text."""
    return entries[draw(text) % len(entries)]


def _misspell(text: str, misspell: Callable[[str, int], str]) -> str:
    """The text with one long word misspelled; without a long word, the text itself."""
    long = list(_LONG_WORD.finditer(text))
    if not long:
        return text
    found = long[draw(text) % len(long)]
    word = found[0]
    # Not the first letter, nor the last two: those carry most of a word. Nor one that equals the next: no change.
    places = [place for place in range(1, len(word) - 2) if word[place] != word[place + 1]]
    return text[: found.start()] + misspell(word, places[draw(word) % len(places)]) + text[found.end() :]


CHANGES: dict[str, Callable[[str], str]] = {
    change.__name__: change
    for change in (
        without_full_stop,
        exclamation_mark,
        exclamation_marks,
        dots,
        quoted,
        wide_spaces,
        capitals,
        small_letters,
        swapped_letters,
        missing_letter,
        sentence_before,
        sentence_after,
        mention_before,
        address_after,
        handle_before,
        handle_after,
        link_after,
        tag_after,
    )
}
