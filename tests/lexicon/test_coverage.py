"""The coverage report: what is counted as found, and that shares add up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.lexicon import Vocabulary, coverage
from lexitree.trees.brackets import tree_from_brackets
from tests.strategies import WORDS, trees


def test_counts_types_and_tokens() -> None:
    vocabulary = Vocabulary(["the", "film", "("])
    report = coverage(
        {"the": 3, "The": 2, "film": 1, "-LRB-": 1, "(": 1, "zzz": 4, "aaa": 4, "x": 1}, vocabulary
    )
    assert (report.types.exact, report.types.lower, report.types.unknown) == (3, 1, 3)
    assert (report.tokens.exact, report.tokens.lower, report.tokens.unknown) == (6, 2, 9)
    assert report.most_frequent_unknown == (("aaa", 4), ("zzz", 4), ("x", 1))
    assert report.tokens.covered == pytest.approx(8 / 17)
    assert report.types.share("lower") == pytest.approx(1 / 7)


def test_trees_and_their_counts_give_the_same_report() -> None:
    tree = tree_from_brackets("(S (X The) (X film) (X The) (X zzz))")
    vocabulary = Vocabulary(["the", "film"])
    assert coverage([tree], vocabulary) == coverage({"The": 2, "film": 1, "zzz": 1}, vocabulary)


def test_number_of_unknown_words_shown() -> None:
    report = coverage({str(number): number for number in range(1, 50)}, Vocabulary([]), num_shown=2)
    assert report.most_frequent_unknown == (("49", 49), ("48", 48))
    assert len(coverage({str(number): 1 for number in range(50)}, Vocabulary([])).most_frequent_unknown) == 20


def test_nothing_to_cover_is_covered() -> None:
    report = coverage({}, Vocabulary(["a"]))
    assert report.tokens.total == 0
    assert report.tokens.covered == 1.0
    assert report.as_dict()["most_frequent_unknown"] == []


def test_as_dict_is_json() -> None:
    report = coverage({"a": 1, "b": 3}, Vocabulary(["a"]))
    again = json.loads(json.dumps(report.as_dict()))
    assert again["tokens"]["covered"] == 0.25
    assert again["types"]["unknown_share"] == 0.5
    assert again["most_frequent_unknown"] == [{"word": "b", "count": 3}]


@given(st.lists(trees(), max_size=4), st.lists(st.sampled_from(WORDS), unique=True))
def test_every_word_is_counted_once(forest: list, known: list[str]) -> None:
    report = coverage(forest, Vocabulary(known))
    words = [word for tree in forest for word in tree.words]
    assert report.tokens.total == len(words)
    shares = [report.tokens.share(kind) for kind in ("exact", "lower", "unknown")]
    assert sum(shares) == pytest.approx(1.0 if words else 0.0)
    assert sum(count for _, count in report.most_frequent_unknown) == report.tokens.unknown
