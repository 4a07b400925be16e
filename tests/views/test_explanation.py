"""The data of an explanation: complete, plain values whose positions fit the text, of any text, tree and labels."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.labels import LabelSet
from lexitree.pipeline.predictor import Predictor
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from lexitree.views.explanation import VERSION, explain_trees
from lexitree.views.visible import MAX_SHOWN_CHARACTERS, shorten_text
from tests.pipeline.stubs import tiny_pipeline
from tests.tiny import chain, tiny_model
from tests.views.labelled import STARS, judged, labelled, sure

SENTENCE_KEYS = {"start", "end", "label", "probability", "score", "reason", "tokens", "nodes"}
NODE_KEYS = {
    *("first", "last", "start", "end", "parent", "children", "label", "probability", "probabilities"),
    *("head", "head_index", "head_weight", "word", "turn", "weight", "highlight", "says"),
}


def check(data: dict[str, Any]) -> dict[str, Any]:
    """What holds for every explanation; returns it as a program reads it from JSON."""
    data = json.loads(json.dumps(data, allow_nan=False))
    assert data["version"] == VERSION
    labels = [label["name"] for label in data["labels"]]
    for number, sentence in enumerate(data["sentences"]):
        assert set(sentence) - {"name"} == SENTENCE_KEYS
        nodes, tokens = sentence["nodes"], sentence["tokens"]
        for token in tokens:
            assert data["text"][token["start"] : token["end"]] == token["text"]
        assert (sentence["start"], sentence["end"]) == (tokens[0]["start"], tokens[-1]["end"])
        for place, node in enumerate(nodes):
            assert set(node) - {"penn"} == NODE_KEYS
            assert node["start"] == tokens[node["first"]]["start"]
            assert node["end"] == tokens[node["last"] - 1]["end"]
            assert all(nodes[child]["parent"] == place for child in node["children"])
            assert node["label"] is None or node["label"] in labels
            assert len(node["probabilities"]) in (0, len(labels))
            assert 0 <= node["weight"] <= 1
            if node["head"] is not None:
                assert node["head"] == shorten_text(tokens[node["head_index"]]["text"])
        for run in [*sentence["reason"], *data["reason"]]:
            if "node" in run:
                quoted = data["sentences"][run["sentence"]]
                assert run["label"] == quoted["nodes"][run["node"]]["label"]
        assert all(run.get("sentence", number) == number for run in sentence["reason"])
    return data


def test_a_text() -> None:
    document = tiny_pipeline()("The film is good.  The plot is not bad!")
    data = check(document.explanation(model="tiny"))
    assert data["model"] == "tiny"
    assert data["text"] == document.text
    assert data["label"] == document.label
    assert data["probabilities"] == pytest.approx(list(document.probabilities.values()), abs=1e-6)
    assert [label["name"] for label in data["labels"]] == ["negative", "positive"]
    assert [label["polarity"] for label in data["labels"]] == [-1, 1]
    assert data["labels"][0]["id"] == "0"
    assert data["labels"][0]["mark"] == "−"
    assert set(data["labels"][0]["light"]) == set(data["labels"][0]["dark"]) == {"fill", "ink"}
    for sentence, given_sentence in zip(data["sentences"], document.sentences, strict=True):
        assert document.text[sentence["start"] : sentence["end"]] == given_sentence.text
        for node, phrase in zip(sentence["nodes"], given_sentence.phrases, strict=True):
            assert document.text[node["start"] : node["end"]] == phrase.text
            assert node["label"] == phrase.label
            assert node["probability"] == pytest.approx(phrase.probability, abs=1e-6)
            assert (node["head"], node["head_index"]) == (phrase.head, phrase.head_index)
            assert node["head_weight"] == pytest.approx(phrase.head_weight, abs=1e-6)
            assert node["penn"] in ("X", "Y")


def test_the_score_is_the_mean_of_the_scale() -> None:
    tree = tree_from_brackets("(3 x)")
    data = check(explain_trees([labelled(tree, STARS, [[0.1, 0.2, 0.3, 0.4, 0.0]])]))
    assert data["sentences"][0]["score"] == pytest.approx(0.0)
    own = explain_trees([LabelledTree.from_tree(tree, label_set=STARS)])["sentences"][0]
    assert (own["score"], own["probability"], own["nodes"][0]["probabilities"]) == (0.5, None, [])
    assert explain_trees([sure("(A x)", ("A", "B"))])["sentences"][0]["score"] is None


def test_a_tree_without_a_text() -> None:
    data = check(explain_trees([sure("(3 (2 -LRB-) (3 fun))", STARS), sure("(2 it)", STARS)]))
    assert data["text"] == "( fun\nit"
    assert (data["label"], data["probability"], data["probabilities"]) == (None, None, [])
    assert data["sentences"][1]["start"] == 6


def test_a_single_tree_gives_its_label_to_the_whole() -> None:
    data = check(explain_trees([sure("(3 fun)", STARS)]))
    assert (data["label"], data["probability"]) == ("positive", 1)
    own = check(explain_trees([LabelledTree.from_tree(tree_from_brackets("(S (NP it))"))]))
    assert (own["label"], own["probability"]) == ("S", None)


def test_a_dependency_tree_has_words_at_all_nodes() -> None:
    tree = DependencyTree.from_parents(["not", "bad", "-RRB-"], [1, -1, 1], ["1", "3", "2"])
    data = check(explain_trees([LabelledTree.from_tree(tree, label_set=STARS)]))
    nodes = data["sentences"][0]["nodes"]
    assert [node["word"] for node in nodes] == ["bad", "not", ")"]
    assert [(node["first"], node["last"]) for node in nodes] == [(0, 3), (0, 1), (2, 3)]


def test_a_very_long_head_word_is_shortened() -> None:
    data = check(tiny_pipeline()("x" * 3000 + " film").explanation())
    (sentence,) = data["sentences"]
    assert len(sentence["tokens"][0]["text"]) == 3000
    assert len(sentence["nodes"][1]["head"]) == MAX_SHOWN_CHARACTERS
    assert sentence["nodes"][1]["head_index"] == 0


def test_rows_of_a_table() -> None:
    """The same text twice is two texts."""
    pipe = tiny_pipeline()
    documents = [pipe("Good film. Bad plot."), pipe("Good film. Bad plot."), pipe(" \n"), pipe("  Fine.  ")]
    sentences = [sentence for document in documents for sentence in document.sentences]
    names = ["Row 1", "Row 1", "Row 2", "Row 2", "Row 4"]
    data = check(explain_trees(sentences, probabilities={}, names=names))
    assert data["text"] == "Good film. Bad plot.\nGood film. Bad plot.\nFine."
    assert [sentence["name"] for sentence in data["sentences"]] == names
    assert data["label"] is None
    assert data["reason"][0]["text"].startswith("5 sentences: ")


def test_a_sentence_of_a_longer_text_is_explained_alone() -> None:
    document = tiny_pipeline()("The film is good.  The plot is bad.")
    data = check(explain_trees(document.sentences[1:]))
    assert data["text"] == "The plot is bad."


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_text_without_words(text: str) -> None:
    data = check(tiny_pipeline()(text).explanation())
    assert (data["text"], data["label"], data["sentences"]) == (text, None, [])


def test_notes_and_whole_sentences_only() -> None:
    assert Document("", (), ("cut",)).explanation()["notes"] == ["cut"]
    data = check(explain_trees([Predictor(tiny_model()).predict(chain(4), nodes="root")]))
    assert [node["label"] is None for node in data["sentences"][0]["nodes"]] == [False] + [True] * 6
    assert "only the sentence as a whole" in data["reason"][0]["text"]


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧 is a 👍🏽 family film 😀.",
        "cafe\u0301 n\u0303andu\u0301 is good",
        "הסרט הזה טוב מאוד, but the end is bad.",
        "a\u202eb\u2066c good \U0001d4d0\U0001d4d1 film \u200f!",
        "x\u2028y\u2029z\x85 good",
    ],
)
def test_positions_count_characters(text: str) -> None:
    """Code points, neither bytes nor UTF-16 units nor what is seen as one character."""
    document = tiny_pipeline()(text)
    data = check(document.explanation())
    assert data["text"] == text
    assert [token["text"] for sentence in data["sentences"] for token in sentence["tokens"]] == [
        token.text for token in document.tokens
    ]


def test_what_a_phrase_says() -> None:
    tree = tree_from_brackets("(3 (2 not) (0 bad))")
    rows = [[0, 0, 0.25, 0.75, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
    nodes = explain_trees([labelled(tree, STARS, rows, [1, 0, 1], [0.6, 1, 1])])["sentences"][0]["nodes"]
    assert [node["says"] for node in nodes] == [
        "“not bad”: positive 75%, head “bad”, the label turns here",
        "“not”: neutral 100%",
        "“bad”: very negative 100%",
    ]


@given(judged())
@settings(max_examples=40)
def test_any_tree(tree: LabelledTree) -> None:
    check(explain_trees([tree, tree]))


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8), min_size=1, max_size=6
    )
)
@settings(max_examples=40)
def test_any_words_and_labels(words: list[str]) -> None:
    tree = Tree.flat(words, words[0])
    labels = LabelSet(tuple(dict.fromkeys([words[0], "x"])))
    check(explain_trees([labelled(tree, labels, [[1.0] + [0.0] * (len(labels) - 1)] * tree.num_nodes)]))


@pytest.mark.slow
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_longest_sentences_take_linear_time_and_room(side: str) -> None:
    def explain(num_words: int) -> tuple[float, int]:
        tree = chain(num_words, side)
        rows = np.random.default_rng(1).dirichlet([0.3] * 5, tree.num_nodes)
        shown = labelled(
            tree, STARS, rows.tolist(), heads=tree.starts.tolist(), weights=[0.5] * tree.num_nodes
        )
        start = time.process_time()
        data = explain_trees([shown])
        return time.process_time() - start, len(json.dumps(data))

    (short_seconds, short), (long_seconds, long) = explain(5_000), explain(50_000)
    assert long < 11 * short
    assert long_seconds < 30 * short_seconds
