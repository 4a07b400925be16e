"""Words by kind: what may be the head of a phrase."""

from __future__ import annotations

import pytest

from lexitree.text.word_kinds import WordKind, word_kind


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            WordKind.CONTENT,
            "film loves awful not n't No never without like 10 don't :) :-( <3 👎 ❤️ lol #fail",
        ),
        (WordKind.FUNCTION, "the A it You of But would ’s 'll IS themselves"),
        (WordKind.PUNCTUATION, ". , !!! ... -- `` '' ' ( -LRB- -rrb- ?! — “ …"),
    ],
)
def test_words_are_told_apart_by_their_spelling(kind: WordKind, words: str) -> None:
    assert {word: word_kind(word) for word in words.split()} == dict.fromkeys(words.split(), kind)
