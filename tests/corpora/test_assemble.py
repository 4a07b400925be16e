from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora.assemble import assemble, hold_out, infer_supervision
from lexitree.errors import LabelError
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree


def parse(*brackets: str) -> list[Tree]:
    return [tree_from_brackets(text) for text in brackets]


SENTIMENT = parse("(pos (neg bad) (pos luck))", "(neg (neg bad) (neg film))")
QUESTIONS = parse("(HUM (WP Who) (VP (VBZ is)))", "(LOC (WRB Where) (VP (VBZ is)))")
ROOTS_ONLY = parse("(pos (_ good) (_ film))", "(neg (_ bad) (_ film))")
PENN = parse("(ROOT (NP (DT a) (NN film)))", "(ROOT (NP (DT the) (NN end)))")


@pytest.mark.parametrize(
    ("trees", "expected"), [(SENTIMENT, "all"), (QUESTIONS, "root"), (ROOTS_ONLY, "root"), (PENN, "all")]
)
def test_supervision_is_inferred(trees: list[Tree], expected: str) -> None:
    assert infer_supervision(trees)[0] == expected
    assert assemble("x", {"train": trees}).supervision == expected


def test_a_sentence_of_one_word_is_labelled_at_its_root() -> None:
    assert infer_supervision(parse("(pos Great)", "(neg Bad)"))[0] == "root"


def test_root_supervision_leaves_the_parse_alone() -> None:
    corpus = assemble("x", {"train": QUESTIONS, "dev": QUESTIONS})
    assert corpus.labels == ("HUM", "LOC")
    assert corpus.train[0].labels == ("HUM", "WP", "VP", "VBZ")
    assert corpus.counts("train").num_labelled == len(corpus.train)
    assert corpus.inference.startswith("labels on the roots only (HUM, LOC never occur below them), 2 labels")


def test_supervision_can_be_given() -> None:
    assert assemble("x", {"train": QUESTIONS}, supervision="all").labels == (
        "HUM",
        "LOC",
        "VBZ",
        "VP",
        "WP",
        "WRB",
    )
    corpus = assemble("x", {"train": SENTIMENT}, supervision="root", hold_out_dev=False)
    assert corpus.supervision == "root"
    assert corpus.counts("train").num_labelled == len(SENTIMENT)
    assert "as asked" in corpus.inference


def test_a_tenth_is_held_out_where_there_is_no_development_split() -> None:
    trees = [Tree.flat([str(number), "x"], str(number % 2)) for number in range(100)]
    corpus = assemble("x", {"train": trees})
    assert (len(corpus.train), len(corpus.dev)) == (90, 10)
    assert set(corpus.train) | set(corpus.dev) == set(trees)
    assert "10 of 100 training sentences held out (seed 2017)" in corpus.inference
    assert assemble("x", {"train": trees}).dev == corpus.dev
    assert len(assemble("x", {"train": trees}, hold_out_dev=False).dev) == 0
    assert list(assemble("x", {"train": trees, "dev": trees[:3]}).dev) == trees[:3]


def test_a_single_sentence_is_not_held_out() -> None:
    corpus = assemble("x", {"train": SENTIMENT[:1]})
    assert (len(corpus.train), len(corpus.dev)) == (1, 0)
    assert "too few" in corpus.inference


def test_labels_that_training_lacks_are_listed() -> None:
    strange = parse("(pos (meh so) (neu so))")
    with pytest.raises(
        LabelError, match=r"the test split has 2 labels .*: meh, neu; first in the sentence: so so"
    ):
        assemble("x", {"train": SENTIMENT, "test": strange})


def test_no_labels_at_all_is_an_error() -> None:
    with pytest.raises(LabelError, match="no sentence has a label"):
        assemble("x", {"train": parse("(_ (_ a) (_ b))")})


def test_without_training_the_labels_are_those_there_are() -> None:
    corpus = assemble("x", {"test": SENTIMENT})
    assert corpus.labels == ("neg", "pos")
    assert (len(corpus.test), len(corpus.train)) == (2, 0)


@given(st.lists(st.integers(), min_size=1), st.data(), st.integers(0, 5))
def test_holding_out_splits_and_keeps_order(items: list[int], data: st.DataObject, seed: int) -> None:
    num_held = data.draw(st.integers(0, len(items)))
    numbered = list(enumerate(items))
    kept, held = hold_out(numbered, num_held, seed)
    assert len(held) == num_held
    assert sorted(kept + held) == numbered
    assert kept == sorted(kept)
    assert held == sorted(held)


def test_held_out_numbers_never_change() -> None:
    # Published scores depend on these: a change of Python or of the code must not move them.
    assert hold_out(range(100), 8, 2002)[1] == [0, 14, 41, 64, 72, 82, 93, 99]
