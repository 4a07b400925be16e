"""Sentences are views of the arrays of a batch; copies say the same."""

from __future__ import annotations

import copy
import pickle

import pytest

from lexitree.files import to_json
from lexitree.results.document import Document
from tests.parsers.random_parser import random_parser
from tests.pipeline.stubs import tiny_pipeline

TEXTS = (
    "The film is good. A plot and not a bad film!",
    "word",
    "",
    "a film (a bad one) \u2028 is 10% “good” é 日本 \x85 and/or not",
    "the film is not good and " * 60,
)


def documents(name: str = "bicontree", **options: str) -> list[Document]:
    return list(tiny_pipeline(name, parser=random_parser()).stream(TEXTS, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bicontree", "contree"])
def test_copies_say_the_same(name: str) -> None:
    for document in documents(name):
        for sentence in document.sentences:
            copied = pickle.loads(pickle.dumps(sentence))
            assert copied.as_dict() == sentence.as_dict()
            assert (copied.source, copied.parse) == (sentence.source, sentence.parse)
            assert (repr(copied), copied.label, copied.score) == (
                repr(sentence),
                sentence.label,
                sentence.score,
            )
            assert [str(phrase) for phrase in copied.phrases] == [str(phrase) for phrase in sentence.phrases]
            assert sentence.flat_parse.brackets(sentence.parse.words) == str(sentence.parse)


def test_a_copy_leaves_out_what_follows_from_the_labels() -> None:
    labels = documents()[0].sentences[0].flat_parse.labels
    assert labels.heads is not None
    assert labels.names
    assert set(vars(pickle.loads(pickle.dumps(labels)))) == {"chains", "tags"}


def test_weights_are_computed_when_asked_for() -> None:
    sentence = documents()[0].sentences[1]
    weights = sentence.head_weights(0)
    assert weights is not None
    assert sum(weights) == pytest.approx(1)
    assert copy.deepcopy(sentence).head_weights(0) == weights
    assert not pickle.loads(pickle.dumps(sentence)).can_weigh


def test_probabilities_are_the_callers_own() -> None:
    document = documents()[1]
    sentence = document.sentences[0]
    before = sentence.probabilities
    sentence.probabilities.clear()
    document.probabilities.clear()
    assert sentence.probabilities == before
    assert sentence.probability == max(before.values())


def test_sentences_without_phrases() -> None:
    for whole, document in zip(documents(), documents(nodes="root"), strict=True):
        assert document.to_json() == to_json(document.as_dict())
        assert (document.label, document.score) == (whole.label, pytest.approx(whole.score, abs=1e-5))
        for sentence in document.sentences:
            assert len(sentence.node_probabilities) == 1
            assert sentence.head_index is None
            assert "phrases" not in sentence.as_dict() or len(sentence.tokens) == 1
