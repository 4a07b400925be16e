"""The vocabulary: the paper's look-up rule, counting, JSON and what is refused."""

from __future__ import annotations

import json
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import LexitreeError, ModelFileError
from lexitree.lexicon import vocabulary as vocabulary_module
from lexitree.lexicon.vocabulary import UNK, Vocabulary, count_words, coverage
from lexitree.trees.brackets import surface_form, tree_from_brackets
from tests.strategies import WORDS, any_text, trees

word_lists = st.lists(any_text().filter(lambda word: word != UNK), unique=True, max_size=12)


def test_word_then_lower_case_then_unknown() -> None:
    vocabulary = Vocabulary(["the", "The", "film", "(", "1/2"])
    words = ["the", "The", "THE", "Film", "-LRB-", "-lrb-", "1\\/2", "1/2", "zzz", ""]
    assert vocabulary.indices(words).tolist() == [1, 2, 1, 3, 4, 4, 5, 5, 0, 0]
    assert [vocabulary.index(word) for word in words] == vocabulary.indices(words).tolist()
    kinds = [vocabulary.lookup_kind(word) for word in words[:5]] + [vocabulary.lookup_kind("zzz")]
    assert kinds == ["exact", "exact", "lower", "lower", "exact", "unknown"]


def test_the_unknown_marker_in_a_text_is_just_unknown() -> None:
    vocabulary = Vocabulary(["a"])
    assert vocabulary.indices(["<unk>", "<UNK>", "a"]).tolist() == [0, 0, 1]
    assert vocabulary.lookup_kind("<unk>") == "unknown"
    assert vocabulary.word(0) == UNK
    assert vocabulary.word(1) == "a"
    assert UNK not in vocabulary


def test_length_counts_the_unknown_row_and_words_do_not() -> None:
    vocabulary = Vocabulary(["b", "a"])
    assert len(vocabulary) == 2
    assert vocabulary.num_rows == 3
    assert vocabulary.words == ("b", "a")
    assert list(vocabulary) == ["b", "a"]
    assert Vocabulary([]).num_rows == 1


def test_indices_are_int64_also_of_nothing() -> None:
    indices = Vocabulary(["a"]).indices([])
    assert indices.dtype == np.int64
    assert indices.shape == (0,)


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_module, "_MAX_CACHED_WORDS", 4)
    vocabulary = Vocabulary(["3"])
    words = [str(number) for number in range(10)] * 2
    assert vocabulary.indices(words).tolist() == [int(word == "3") for word in words]
    assert len(vocabulary._cache) <= 4


def test_the_cache_keeps_no_long_words() -> None:
    vocabulary = Vocabulary(["x" * 200])
    assert vocabulary.indices(["x" * 200, "X" * 200, "y" * 200]).tolist() == [1, 1, 0]
    assert not vocabulary._cache


@given(word_lists, st.lists(any_text(), max_size=12))
def test_look_up_rule(known: list[str], asked: list[str]) -> None:
    vocabulary = Vocabulary(known)
    for word, index in zip(asked, vocabulary.indices(asked).tolist(), strict=True):
        surface = surface_form(word)
        expected = surface if surface in known else surface.lower()
        assert index == (known.index(expected) + 1 if expected in known else 0)
        assert (vocabulary.lookup_kind(word) == "unknown") == (index == 0)


def test_from_trees_sorts_by_count_then_alphabet_and_takes_surface_forms() -> None:
    sentences = ["(S (X b) (X -LRB-) (X a))", "(S (X a) (X -lrb-) (X <unk>) (X c))"]
    parsed = [tree_from_brackets(sentence) for sentence in sentences]
    assert Vocabulary.from_trees(parsed).words == ("(", "a", "b", "c")
    assert Vocabulary.from_trees(parsed, min_count=2).words == ("(", "a")
    assert Vocabulary.from_trees(iter([])).words == ()


@given(st.lists(trees(), max_size=4))
def test_every_word_of_the_trees_is_known_exactly(forest: list) -> None:
    vocabulary = Vocabulary.from_trees(forest)
    words = [word for tree in forest for word in tree.words]
    assert {vocabulary.lookup_kind(word) for word in words} <= {"exact"}
    assert count_words(forest) == Counter(map(surface_form, words))


@given(word_lists)
def test_json_and_pickle_bring_it_back(words: list[str]) -> None:
    vocabulary = Vocabulary(words)
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary
    assert Vocabulary.from_json(vocabulary.to_json().encode()).words == tuple(words)
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)


def test_json_is_a_plain_list_and_holds_even_half_characters() -> None:
    words = ["\ud800", "\u2028", "😀", '"', "\\", "\0"]
    text = Vocabulary(words).to_json()
    assert json.loads(text) == words
    assert Vocabulary.from_json(text).words == tuple(words)
    assert text.isascii()


def test_duplicates_are_refused_by_name() -> None:
    with pytest.raises(LexitreeError, match=r"'b' occurs 2 times \(first at 1 and 3\)"):
        Vocabulary(["a", "b", "c", "b"])
    with pytest.raises(LexitreeError, match="<unk>"):
        Vocabulary(["a", "<unk>"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('["a", "b"', "is not JSON"),
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff\xfe\xff", "is not JSON"),
        ('{"a": 1}', "is not a list"),
        ('["a", 3]', "entry 1 of the list is not a word: 3"),
        ('["a", "a"]', "'a' occurs 2 times"),
        ('["<unk>"]', "<unk>"),
    ],
)
def test_damaged_vocabulary_file(text: str | bytes, problem: str) -> None:
    with pytest.raises(ModelFileError, match=problem) as caught:
        Vocabulary.from_json(text, "model/vocabulary.json")
    assert "model/vocabulary.json" in str(caught.value)


def test_repr_is_short() -> None:
    assert len(repr(Vocabulary(str(number) for number in range(10_000)))) < 100


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
