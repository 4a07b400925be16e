"""Hashtags, pictographs and joined words are taken apart."""

from __future__ import annotations

import time

import pytest

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.lexicon.word_parts import typed_parts

ROWS = Vocabulary(["love", "it", "best", "day", "ever", "thumbs", "up", "a", "i"], "typed").index


@pytest.mark.parametrize(
    ("word", "parts", "is_all"),
    [
        ("#LoveIt", "Love It", True),
        ("#loveit", "love it", True),
        ("#BestdayEver", "best day Ever", True),
        ("#zzz", "zzz", True),
        ("👍🏽", "thumbs up", True),
        ("best-ever", "best ever", False),
        ("love", "", False),
        ("#", "", False),
    ],
)
def test_parts(word: str, parts: str, is_all: bool) -> None:
    found = typed_parts(word, ROWS)
    assert found.words == parts.split()
    assert found.is_all == is_all


def test_a_long_hashtag_costs_no_more_than_a_short_one() -> None:
    start = time.process_time()
    typed_parts("#" + "loveit" * 100_000, ROWS)
    assert time.process_time() - start < 1
