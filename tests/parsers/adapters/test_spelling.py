from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.parsers.adapters.adapter import penn_spelling, plain_spelling, same_words

any_words = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1)


@given(any_words)
def test_a_spelled_word_is_one_token_without_brackets(words: list[str]) -> None:
    for spelling in (plain_spelling, penn_spelling):
        spelled = spelling(words)
        assert " ".join(spelled).split() == spelled
        assert len(spelled) == len(words)
        assert not any(set(word) & set("()\n\r\t\u2028\u0085\xa0\u200b") for word in spelled)


@given(any_words)
def test_spelled_words_are_the_same_words(words: list[str]) -> None:
    for spelling in (plain_spelling, penn_spelling):
        assert same_words(words, spelling(words), spelling(words))
        assert same_words(words, spelling(words), words)


@given(any_words)
def test_penn_spelling_spells_what_is_spelled_no_more(words: list[str]) -> None:
    spelled = penn_spelling(words)
    assert penn_spelling(spelled) == spelled


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("( [ { } ] )", "-LRB- -LSB- -LCB- -RCB- -RSB- -RRB-"),
        ("1/2 1\\/2 * \\* a\\b", "1\\/2 1\\/2 \\* \\* a\\b"),
        ('" a " b', "`` a '' b"),
        ('a "', "a ''"),
        ('" a', "`` a"),
        ('" a " b "', "'' a `` b ''"),
        ("“ a ” ‘ b ’ it ’s", "`` a '' ` b ' it 's"),
        ("a — b … x–y", "a -- b ... x--y"),
        ("-LRB- `` ''", "-LRB- `` ''"),
        ("naïve 東京 😀", "naïve 東京 😀"),
    ],
)
def test_penn_spelling(words: str, spelled: str) -> None:
    assert penn_spelling(words.split()) == spelled.split()


def test_plain_spelling_changes_only_what_would_break_a_line() -> None:
    words = ["(", "[", '"', "1/2", "a\xa0b", "c\u2028d", "e f", "\ufeff", "g\u200bh"]
    assert plain_spelling(words) == ["-LRB-", "[", '"', "1/2", "a_b", "c_d", "e_f", "_", "g_h"]


@pytest.mark.parametrize(
    ("word", "found"),
    [('"', "``"), ('"', "''"), ("’s", "'s"), ("(", "-lrb-"), ("/", "\\/"), ("—", "--"), ("”", '"')],
)
def test_words_in_another_spelling_are_the_same(word: str, found: str) -> None:
    assert same_words([word], [word], [found])


@pytest.mark.parametrize("found", [["The"], ["the", "film"], [], ["thé"]])
def test_other_words_are_not_the_same(found: list[str]) -> None:
    assert not same_words(["the"], ["the"], found)
