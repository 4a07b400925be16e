"""Words as people type them are found by their normal forms."""

from __future__ import annotations

import pytest
from hypothesis import given

from lexitree.lexicon.normal_forms import STAND_INS, normal_forms, plain_form, words_of_sign
from lexitree.lexicon.vocabulary import Vocabulary
from tests.strategies import any_text

KNOWN = (
    *("so", "good", "love", "cool", "awful", "Paris", "FBI", "favorite", "realize", "theater", "traveled"),
    *("defense", "skeptical", "lightweight", "4,000", "!", "👨"),
    *STAND_INS,
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        *(("AWFUL", "awful"), ("PARIS", "Paris"), ("paris", "Paris"), ("fbi", "FBI")),
        *(("soooo", "so"), ("Goooood", "good"), ("LOOOOVE", "love"), ("coooolll", "cool")),
        *(
            ("favourite", "favorite"),
            ("Realise", "realize"),
            ("theatre", "theater"),
            ("travelled", "traveled"),
        ),
        *(("defence", "defense"), ("sceptical", "skeptical"), ("favouriiiite", "favorite")),
        *(("light-weight", "lightweight"), ("F.B.I.", "FBI"), ("4,512", "4,000")),
        *(
            (":)", "🙂"),
            (":-)))", "🙂"),
            (":-LRB-", "🙁"),
            (":-D", "😀"),
            (";)", "😉"),
            ("<333", "❤"),
            (">:(", "😠"),
        ),
        *(("❤️", "❤"), ("👨\u200d👩\u200d👧", "👨"), ("🙂🏽", "🙂")),
        *(
            ("10\\/10", "5/5"),
            ("1/10", "0/5"),
            ("4.5/5", "4/5"),
            ("★★★☆☆", "3/5"),
            ("⭐️⭐️", "2/5"),
            ("1-star", "1/5"),
        ),
        *(("@bob", "@mention"), ("https:\\/\\/t.co\\/a", "http://link"), ("www.a.org", "http://link")),
    ],
)
def test_typed_words_are_found(written: str, found: str) -> None:
    for lookup in ("typed", "folded"):
        vocabulary = Vocabulary(KNOWN, lookup)
        assert vocabulary.word(vocabulary.index(written)) == found


@pytest.mark.parametrize("word", ["zzz", "", "24/7", "f", "-", "@", "7" * 60, "a" * 1000])
def test_other_words_stay_unknown(word: str) -> None:
    assert Vocabulary(KNOWN, "typed").index(word) == 0


def test_the_paper_knows_no_normal_forms() -> None:
    assert Vocabulary(KNOWN).indices(["soooo", "favourite", ":)"]).tolist() == [0, 0, 0]


def test_capitals_count_unless_they_are_folded() -> None:
    words = ["Awful", "awful", "Paris"]
    assert Vocabulary(words, "typed").indices(["Awful", "AWFUL", "PARIS"]).tolist() == [1, 2, 3]
    assert Vocabulary(words, "folded").indices(["Awful", "AWFUL", "Paris"]).tolist() == [2, 2, 3]


@given(any_text())
def test_every_word_has_few_forms(word: str) -> None:
    assert len(list(normal_forms(word))) < 500
    assert isinstance(plain_form(word), str)


def test_a_word_of_many_runs_is_no_word() -> None:
    assert len(list(normal_forms("".join(letter * 3 for letter in "abcdefghijklmnop")))) < 1000


@pytest.mark.parametrize(
    ("sign", "words"),
    [
        ("👍", "thumbs up"),
        ("👍🏽", "thumbs up"),
        ("😂", "tears joy"),
        ("❤️", "heart"),
        (":)", "slightly smiling"),
        ("a", ""),
    ],
)
def test_words_of_pictographs(sign: str, words: str) -> None:
    assert words_of_sign(sign) == words.split()
