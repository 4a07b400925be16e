"""Documents: places that give back their text, labels of many sentences, and every form they are written in."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.document import Document, mean_probabilities
from lexitree.trees.brackets import tree_from_brackets
from tests.pipeline.stubs import RightBranching, tiny_pipeline
from tests.tiny import tiny_model

TEXT = "The film isn't (very) good.  The plot is not bad!"
PIPE = tiny_pipeline()

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@pytest.fixture(scope="module")
def document() -> Document:
    return PIPE(TEXT)


@given(ANY_TEXT | st.lists(st.sampled_from(TEXT.split(" ")), max_size=12).map(" ".join))
@settings(max_examples=150)
def test_places_give_back_the_text(text: str) -> None:
    document = PIPE(text)
    assert document.text == text
    end = 0
    for sentence in document.sentences:
        assert text[sentence.start : sentence.end] == sentence.text == sentence.whole.text
        assert sentence.start >= end
        end = sentence.end
        for token in sentence.tokens:
            assert text[token.start : token.end] == token.text
        assert sentence.words == tuple(token.text for token in sentence.tokens)
        for phrase in sentence.phrases:
            assert text[phrase.start : phrase.end] == phrase.text
            first, last = phrase.span
            assert phrase.tokens == sentence.tokens[first:last]
            assert phrase.is_word == (len(phrase.tokens) == 1)
            assert [part.start for part in phrase.children] == sorted(part.start for part in phrase.children)
            if phrase.children:
                assert (phrase.children[0].start, phrase.children[-1].end) == (phrase.start, phrase.end)
    assert "".join(token.text for token in document.tokens) == "".join(text.split())
    record = json.loads(document.to_json())
    assert record == json.loads(json.dumps(document.as_dict()))
    assert "\n" not in document.to_json()
    assert document.to_json().splitlines() == [document.to_json()]
    assert len(document.rows()) == sum(len(sentence["phrases"]) for sentence in record["sentences"])


def test_it_shows_itself(document: Document) -> None:
    assert str(document) == TEXT
    assert "2 sentences" in repr(document)


def test_words_are_looked_up_in_their_penn_form(document: Document) -> None:
    assert document.sentences[0].parse.words == (
        "The",
        "film",
        "is",
        "n't",
        "-LRB-",
        "very",
        "-RRB-",
        "good",
        ".",
    )
    assert [token.text for token in document.sentences[0].tokens][4:7] == ["(", "very", ")"]


def test_one_sentence_has_its_own_label() -> None:
    document = PIPE("the film is good")
    assert len(document) == 1
    assert document.label == document.sentences[0].label
    assert document.probability == pytest.approx(document.sentences[0].probability)
    assert document.probabilities == pytest.approx(document.sentences[0].probabilities)


def test_several_sentences_have_a_mean(document: Document) -> None:
    rows = [sentence.node_probabilities[0] for sentence in document.sentences]
    assert list(document.probabilities.values()) == pytest.approx(np.mean(rows, axis=0).tolist())
    assert document.label == max(document.probabilities, key=lambda label: document.probabilities[label])
    assert sum(document.probabilities.values()) == pytest.approx(1)


def test_on_a_scale_sentences_count_by_how_much_they_take_a_side() -> None:
    fact, praise = np.array([0.1, 0.8, 0.1]), np.array([0.0, 0.2, 0.8])
    scale = LabelSet(("negative", "neutral", "positive"))
    expected = (0.2 * fact + 0.8 * praise).tolist()
    assert mean_probabilities([fact, praise], [30, 2], scale).tolist() == pytest.approx(expected)
    only_facts = np.array([[0.0, 1.0, 0.0]] * 2)
    assert mean_probabilities(list(only_facts), [1, 2], scale).tolist() == pytest.approx([0, 1, 0])


def test_without_a_scale_sentences_count_by_their_tokens() -> None:
    rows = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    found = mean_probabilities(rows, [9, 6], LabelSet(("animal", "place")))
    assert found.tolist() == pytest.approx([0.6, 0.4])


def test_the_score_is_the_mean_place_on_the_scale(document: Document) -> None:
    shares = document.probabilities
    assert document.score == pytest.approx(shares["positive"] - shares["negative"], abs=1e-5)
    for sentence in document.sentences:
        assert sentence.score == sentence.whole.score
        for phrase in sentence.phrases:
            shares = phrase.probabilities
            assert phrase.score == pytest.approx(shares["positive"] - shares["negative"], abs=1e-5)
    assert PIPE("").score is None
    colours = TextPipeline(Predictor(tiny_model(labels=("red", "green"))), RightBranching())("the film")
    (sentence,) = colours.sentences
    assert (colours.score, sentence.score, sentence.whole.score) == (None, None, None)
    assert {row["score"] for row in colours.rows()} == {None}


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0\r\n"])
def test_blank_text_is_an_empty_document(text: str) -> None:
    for document in (PIPE(text), PIPE(text, one_sentence=True)):
        assert document.text == text
        assert (document.sentences, document.label, document.probability, document.probabilities) == (
            (),
            None,
            None,
            {},
        )
        assert document.as_dict() == {
            "text": text,
            "label": None,
            "probability": None,
            "probabilities": {},
            "score": None,
            "sentences": [],
        }
        assert (document.rows(), document.brackets(), list(document.draw())) == ([], [], [])
        assert "no words, so there is no label" in document.html()
        assert "no words, so there is no label" in document._repr_html_()
        assert ElementTree.fromstring(document.svg()).tag.endswith("svg")


def test_json_has_every_key(document: Document) -> None:
    record = document.as_dict()
    assert set(record) == {"text", "label", "probability", "probabilities", "score", "sentences"}
    sentence, whole = record["sentences"][1], document.sentences[1]
    keys = ("start", "end", "text", "label", "probability", "score", "tokens", "parse", "phrases")
    assert set(sentence) == set(keys)
    assert record["score"] == pytest.approx(document.score, abs=1e-6)
    assert sentence["score"] == sentence["phrases"][0]["score"] == pytest.approx(whole.score, abs=1e-6)
    assert (sentence["start"], sentence["end"], sentence["text"]) == (29, 49, "The plot is not bad!")
    assert sentence["tokens"] == [
        {"start": token.start, "end": token.end, "text": token.text} for token in whole.tokens
    ]
    assert tree_from_brackets(sentence["parse"]) == whole.parse
    for phrase, asked in zip(sentence["phrases"], whole.phrases, strict=True):
        words = [token.text for token in asked.tokens]
        assert (phrase["start"], phrase["end"]) == (asked.tokens[0].start, asked.tokens[-1].end)
        assert phrase["text"] == TEXT[phrase["start"] : phrase["end"]] == asked.text
        assert "".join(phrase["text"].split()) == "".join(words)
        assert phrase["label"] == asked.label
        assert sentence["tokens"][phrase["head_index"]]["text"] == phrase["head"]
        parts = [sentence["phrases"][part] for part in phrase["children"]]
        if parts:
            assert (parts[0]["start"], parts[-1]["end"]) == (phrase["start"], phrase["end"])


def test_json_has_the_weights_of_all_words_if_they_are_asked_for(document: Document) -> None:
    assert "head_weights" not in document.to_json()
    record = json.loads(document.to_json(head_weights=True))
    for sentence, asked in zip(record["sentences"], document.sentences, strict=True):
        for phrase, of_phrase in zip(sentence["phrases"], asked.phrases, strict=True):
            assert phrase["head_weights"] == pytest.approx(of_phrase.head_weights, abs=1e-6)
            assert len(phrase["head_weights"]) == len(of_phrase.tokens)


def test_a_model_without_heads_says_nothing_of_them() -> None:
    document = tiny_pipeline("contree")("the film is good")
    phrase = document.sentences[0].whole
    assert (phrase.head, phrase.head_index) == (None, None)
    assert (phrase.head_weight, phrase.head_weights) == (None, None)
    assert not [
        key for key in document.as_dict(head_weights=True)["sentences"][0]["phrases"][0] if "head" in key
    ]
    assert document.rows()[0]["head"] is None
    for node in document.explanation()["sentences"][0]["nodes"]:
        assert (node["head"], node["head_index"], node["head_weight"]) == (None, None, None)


def test_rows_brackets_drawing_and_picture(document: Document) -> None:
    rows = document.rows()
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert [row["sentence"] for row in rows] == [0] * 17 + [1] * 11
    first, second = map(tree_from_brackets, document.brackets())
    assert first.labels == document.sentences[0].label_ids
    assert second.words == document.sentences[1].parse.words
    lines = list(document.draw())
    assert lines[0].split()[0] in ("positive", "negative")
    assert lines.count("") == 2
    assert document.svg().count("<title>") == 28


def test_white_space_inside_a_word_is_no_obstacle() -> None:
    """No tokenizer of ours makes such a token, but another one may."""

    from lexitree.trees.brackets import written_tree
    from lexitree.trees.tree import Tree

    assert written_tree(Tree.flat(["a b", "c"])) == "(_ (_ a_b) (_ c))"


def test_documents_cross_process_borders(document: Document) -> None:
    again = pickle.loads(pickle.dumps(document))
    assert again.as_dict() == document.as_dict()
    assert again.html()
    with pytest.raises(ConfigError, match="sent from another process"):
        again.as_dict(head_weights=True)
    assert copy.deepcopy(document).as_dict(head_weights=True) == document.as_dict(head_weights=True)


def test_results_are_read_without_torch(document: Document, tmp_path: Path) -> None:
    (tmp_path / "document").write_bytes(pickle.dumps(document))
    code = (
        "import pickle, sys; document = pickle.load(open('document', 'rb'));"
        "document.html(), document.svg(), document.to_json(), list(document.draw());"
        "print(document.label, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [document.label, "False"]
