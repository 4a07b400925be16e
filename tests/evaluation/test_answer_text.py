"""Answers survive being written as text, a character a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.arrays import NO_INDEX
from lexitree.batch.tree_examples import make_examples
from lexitree.errors import ConfigError
from lexitree.evaluation.accuracy import evaluate
from lexitree.evaluation.answers import ALPHABET, answers_from_text, answers_to_text
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import LABELS, tiny_model, tiny_trees


@given(st.lists(st.integers(NO_INDEX, len(ALPHABET) - 1)))
def test_text_is_read_back(numbers: list[int]) -> None:
    text = answers_to_text(numbers)
    assert text is not None
    assert len(text) == len(numbers)
    assert answers_from_text(text).tolist() == numbers


def test_what_has_no_character() -> None:
    assert answers_to_text([0, 10, 35, 61, NO_INDEX]) == "0azZ-"
    assert answers_to_text([0, len(ALPHABET)]) is None
    with pytest.raises(ConfigError, match=r"'\?' is not a label"):
        answers_from_text("01?")


def test_an_evaluation_keeps_the_answers_to_whole_sentences() -> None:
    model = tiny_model()
    trees = [*tiny_trees(12), tree_from_brackets("(_ (0 bad) (1 good))")]
    for supervision in ("all", "root"):
        examples = make_examples(
            trees, model.lexicon, labels=LABELS, direction="right", supervision=supervision
        )
        found = evaluate(model, examples, supervision=supervision)
        assert found.root_answers_text is not None
        assert found.root_gold_text == "".join(tree.label or "-" for tree in trees)
        pairs = list(zip(found.root_answers_text, found.root_gold_text, strict=True))
        right = [answer == gold for answer, gold in pairs if gold != "-"]
        assert sum(right) / len(right) == pytest.approx(found.root.accuracy)
