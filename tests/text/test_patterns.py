"""Plain ASCII is read by an expression of its own: it must find what the one for any script finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexitree
from lexitree.text.patterns import ASCII, Alphabet, _unicode_alphabet, next_token
from tests.text.test_properties import PIECES

ASCII_PIECES = [piece for piece in PIECES if piece.isascii()]
ASCII_TEXT = st.one_of(
    st.text(st.characters(max_codepoint=127), max_size=80),
    st.lists(st.sampled_from(ASCII_PIECES), max_size=40).map("".join),
)


@pytest.mark.parametrize("name", Alphabet._fields)
def test_both_alphabets_agree_on_every_ascii_character(name: str) -> None:
    plain, general = (re.compile(getattr(alphabet, name)) for alphabet in (ASCII, _unicode_alphabet()))
    for character in map(chr, range(128)):
        assert bool(plain.fullmatch(character)) == bool(general.fullmatch(character)), character


@given(ASCII_TEXT)
def test_both_expressions_find_the_same_tokens(text: str) -> None:
    place = 0
    while found := next_token(True).match(text, place):
        expected = next_token(False).match(text, place)
        assert expected is not None
        assert (found.span(), found.lastgroup) == (expected.span(), expected.lastgroup)
        place = found.end()
    assert next_token(False).match(text, place) is None


def test_no_group_is_possessive() -> None:
    # Python 3.11.0 to 3.11.4, which Debian 12 has, matches such groups wrongly: "The" had no token.
    source = Path(lexitree.__file__).parent
    found = [
        f"{path.relative_to(source)}: {line.strip()}"
        for path in source.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"(?<!\\)\)(?:[*+?]|\{+[\d,]+\}+)\+(?!\+?=)", line) and not line.lstrip().startswith("#")
    ]
    assert not found, found
