"""Searching trees and documents: labels of the model, categories of the parser, places in the text."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import lexitree
from lexitree.errors import PatternError
from lexitree.results.document import Document
from lexitree.results.searching import search
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views.visible import MAX_SHOWN_CHARACTERS
from tests.pipeline.stubs import Penn, tiny_pipeline

TEXT = "The film isn't good.  The plot is (not) bad!"
PENN = tree_from_brackets("(S (NP (DT the) (NN film)) (VP (VBZ works)))")


@pytest.fixture(scope="module")
def document() -> Document:
    return tiny_pipeline()(TEXT)


def test_labels_and_probabilities_are_those_of_the_model(document: Document) -> None:
    for label in ("negative", "positive"):
        expected = [phrase for phrase in document.phrases if phrase.label == label]
        assert document.search(label) == expected
        assert document.search(f"label={label}") == expected
    sure = [phrase for phrase in document.phrases if phrase.probability > np.float32(0.52)]
    assert document.search("p>0.52") == sure
    assert document.search("p(negative)<=0.5 & leaf") == [
        phrase for phrase in document.phrases if phrase.is_word and phrase.probabilities["negative"] <= 0.5
    ]
    with pytest.raises(PatternError, match="no label 'neutral'") as caught:
        document.search("NP & p(neutral)>0.5")
    assert caught.value.place.column == 6
    assert "'negative', 'positive'" in caught.value.remedy


def test_heads_are_those_of_the_model(document: Document) -> None:
    expected = [phrase for phrase in document.phrases if phrase.head == "film"]
    assert document.search("head=film") == expected
    with pytest.raises(PatternError, match="the model has no head words"):
        tiny_pipeline("contree")("a film").search("head=film")


def test_categories_are_those_of_the_parser(document: Document) -> None:
    """The tree of a sentence is binary, and its chains are collapsed; the parse has them all."""
    found = tiny_pipeline(parser=Penn())("the film works").search("category=S")
    assert [phrase.text for phrase in found] == ["the film works"]
    [match] = search("category=S", tiny_pipeline(parser=Penn())("the film works"))
    assert match.category == "ROOT+S"
    assert len(tiny_pipeline(parser=Penn())("the film works").search("NN")) == 3
    # Nodes that binarization has inserted have no category.
    assert [
        phrase.text for phrase in tiny_pipeline(parser=Penn())("a b c").search('category="" & phrase')
    ] == ["a b"]


def test_text_is_searched_as_it_stands(document: Document) -> None:
    assert [phrase.text for phrase in document.search('text="ISN\'T GOOD."')] == ["isn't good."]
    assert document.search('text~"(not) b" & words<6') == [
        phrase for phrase in document.phrases if "(not) b" in phrase.text and len(phrase.tokens) < 6
    ]
    assert [phrase.text for phrase in document.search("word=The")] == ["The", "The"]


def test_matches_of_a_document(document: Document) -> None:
    matches = list(search("root", document))
    assert [(match.number, match.sentence_number, match.node) for match in matches] == [(0, 0, 0), (0, 1, 0)]
    second = matches[1]
    assert second.phrase == document.sentences[1].whole
    assert str(second) == second.text == "The plot is (not) bad!"
    assert second.head == document.sentences[1].whole.head
    values = json.loads(json.dumps(second.as_dict()))
    assert TEXT[values["start"] : values["end"]] == values["text"]
    assert (values["label"], values["category"]) == (second.label, "X")
    assert values["probability"] == pytest.approx(second.probability, abs=1e-6)


def test_matches_of_trees() -> None:
    trees = [PENN, tree_from_brackets("(S (NN this))")]
    matches = list(lexitree.search("NP | NN & word=this", iter(trees)))
    assert [(match.number, match.text, match.span) for match in matches] == [
        (0, "the film", (0, 2)),
        (1, "this", (0, 1)),
    ]
    assert matches[0].phrase is None
    assert matches[0].as_dict() == {
        "number": 0,
        "sentence": 0,
        "node": 1,
        "start": 0,
        "end": 2,
        "text": "the film",
        "label": "NP",
        "category": "NP",
        "probability": None,
        "head": None,
    }
    assert [match.text for match in search("VP", PENN)] == ["works"]


def test_labelled_trees_have_both_labels() -> None:
    predictor = tiny_pipeline().predictor
    labelled = predictor.predict(PENN)
    assert [match.node for match in search("NP", labelled)] == [1]
    expected = [node for node, label in enumerate(labelled.labels) if label == "positive"]
    assert [match.node for match in search("positive", labelled)] == expected
    roots = predictor.predict(PENN, nodes="root")
    assert [match.node for match in search("p>0", roots)] == [0]


def test_long_texts_are_shortened_where_all_phrases_repeat_them() -> None:
    chain = Tree([2] * 1_999 + [0] * 2_000, ["A"] * 3_999, ["word"] * 2_000)
    assert all(len(match.as_dict()["text"]) <= MAX_SHOWN_CHARACTERS for match in search("phrase", chain))


def test_a_malformed_pattern_is_an_error_at_once(document: Document) -> None:
    with pytest.raises(PatternError) as caught:
        search("NP <", [])
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.message, copied.place) == (caught.value.message, caught.value.place)
    with pytest.raises(PatternError):
        document.search("((")
