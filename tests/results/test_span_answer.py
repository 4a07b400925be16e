"""What a text says about a span: the phrases around it, as far as its clause or a word such as `but`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.text import tokenize
from lexitree.trees.brackets import tree_from_brackets
from tests.results.placing import placed

THREE = LabelSet(("negative", "neutral", "positive"))
TEXT = "good food but slow staff"
BINARY = "(S (NP good food) (X but (NP slow staff)))"
CLAUSES = "(S (S (JJ good) (NN food)) (CC but) (S (JJ slow) (NN staff)))"
ROWS = {
    "good food": (0.1, 0.1, 0.8),
    "food": (0.0, 1.0, 0.0),
    "slow staff": (0.7, 0.2, 0.1),
    "staff": (0.1, 0.7, 0.2),
    TEXT: (0.3, 0.3, 0.4),
}


def document(parse: str, text: str = TEXT, labels: LabelSet = THREE, binary: str = BINARY) -> Document:
    tree, tokens = tree_from_brackets(binary), tuple(tokenize(text))
    rows = [ROWS.get(" ".join(tree.words[start:end]), (0, 1, 0)) for start, end in tree.spans]
    probabilities = np.array(rows, dtype=np.float32)[:, : len(labels)]
    labelled = LabelledTree(source=tree, label_set=labels, node_probabilities=probabilities)
    return Document(text, (placed(labelled, tree_from_brackets(parse), text, tokens),))


@pytest.mark.parametrize("parse", [CLAUSES, BINARY.replace("S", "FRAG")])
def test_each_side_of_a_contrast_speaks_for_itself(parse: str) -> None:
    text = document(parse)
    food, staff = text.about(5, 9), text.about(19, 24)
    assert (food.text, food.label, staff.text, staff.label) == ("food", "positive", "staff", "negative")
    # "food" leans to no side, so the phrase around it decides; of "staff", a tenth is decided.
    assert food.probabilities == pytest.approx({"negative": 0.1, "neutral": 0.1, "positive": 0.8})
    weights = [(str(each.phrase), each.weight) for each in staff.phrases]
    assert weights == [("staff", pytest.approx(0.1)), ("slow staff", pytest.approx(0.9))]
    expected = 0.1 * np.array(ROWS["staff"]) + 0.9 * np.array(ROWS["slow staff"])
    assert list(staff.probabilities.values()) == pytest.approx(expected.tolist())
    assert staff.score == pytest.approx(expected[2] - expected[0], abs=1e-5)
    assert staff.probability == max(staff.probabilities.values())
    assert staff.as_dict()["label"] == "negative"
    assert repr(food) == "SpanAnswer('food', 'positive' 0.80)"


def test_a_span_that_holds_the_contrast_is_answered_by_the_whole() -> None:
    whole = document(CLAUSES).about(5, 18)
    assert [str(each.phrase) for each in whole.phrases] == [TEXT]


def test_without_a_middle_the_largest_phrase_decides() -> None:
    two = document(CLAUSES, labels=LabelSet(("negative", "positive")))
    assert [each.weight for each in two.about(5, 9).phrases] == [0.0, 1.0]


def test_a_span_over_two_sentences_is_their_mean() -> None:
    one, other = document(CLAUSES).sentences[0], document(CLAUSES).sentences[0]
    shift = len(TEXT) + 1
    moved = tuple(replace(token, start=token.start + shift, end=token.end + shift) for token in other.tokens)
    text = f"{TEXT} {TEXT}"
    labelled = LabelledTree(source=other.source, label_set=THREE, node_probabilities=other.node_probabilities)
    second = placed(labelled, other.parse, text, moved)
    both = Document(text, (one, second)).about(19, shift + 9)
    assert sum(each.weight for each in both.phrases) == pytest.approx(1)
    assert {each.phrase.sentence for each in both.phrases} == {one, second}


@pytest.mark.parametrize(("start", "end"), [(4, 5), (3, 3), (-3, 2), (0, 99), (9, 5)])
def test_a_place_without_words_is_an_error(start: int, end: int) -> None:
    with pytest.raises(ConfigError, match=f"no word from character {start} to {end}"):
        document(CLAUSES).about(start, end)


def test_an_empty_text_says_nothing() -> None:
    with pytest.raises(ConfigError, match="no word"):
        Document("", ()).about(0, 0)


def test_a_parser_without_clauses_leaves_the_whole_sentence() -> None:
    without = document("(X good food and slow staff)", TEXT.replace("but", "and"))
    assert [str(each.phrase) for each in without.about(5, 9).phrases][-1] == without.text
