"""Sentences that are views of arrays say what sentences with trees say, and are written alike."""

from __future__ import annotations

import copy
import gc
import json
import pickle

import numpy as np
import pytest

from lexitree.arrays import rounded
from lexitree.files import to_json
from lexitree.labels import LabelSet
from lexitree.results.document import Document
from lexitree.results.flat_results import FlatSentence
from lexitree.results.json_writing import WrittenNumbers
from lexitree.results.sentence import Sentence
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
def test_they_say_what_plain_sentences_say(name: str) -> None:
    for document in documents(name):
        for sentence in document.sentences:
            assert isinstance(sentence, FlatSentence)
            plain = pickle.loads(pickle.dumps(sentence))
            assert type(plain) is Sentence
            assert plain.as_dict() == sentence.as_dict()
            assert (repr(plain), plain.label, plain.score) == (repr(sentence), sentence.label, sentence.score)
            assert [str(phrase) for phrase in plain.phrases] == [str(phrase) for phrase in sentence.phrases]
            assert sentence.flat_parse.brackets(sentence.parse.words) == str(sentence.parse)


def test_weights_are_computed_when_asked_for() -> None:
    sentence = documents()[0].sentences[1]
    weights = sentence.head_weights(0)
    assert weights is not None
    assert sum(weights) == pytest.approx(1)
    assert copy.deepcopy(sentence).head_weights(0) == weights
    assert not pickle.loads(pickle.dumps(sentence)).can_weigh


@pytest.mark.parametrize("name", ["bicontree", "contree"])
def test_json_is_written_as_by_the_plain_way(name: str) -> None:
    for document in tiny_pipeline(name, parser=random_parser()).stream(TEXTS):
        # While the batch is there, its numbers are written in one go.
        assert document.to_json() == to_json(document.as_dict())
    for document in documents(name):
        gc.collect()
        assert document.to_json() == to_json(document.as_dict())
        assert json.loads(document.to_json(indent=1)) == document.as_dict()


def test_sentences_without_phrases() -> None:
    for whole, document in zip(documents(), documents(nodes="root"), strict=True):
        assert document.to_json() == to_json(document.as_dict())
        assert (document.label, document.score) == (whole.label, pytest.approx(whole.score, abs=1e-5))
        for sentence in document.sentences:
            assert len(sentence.node_probabilities) == 1
            assert sentence.head_index is None
            assert "phrases" not in sentence.as_dict() or len(sentence.tokens) == 1


def test_every_number_is_written_as_json_has_it() -> None:
    numbers = np.concatenate([np.arange(0, 1_000_001, 397), [99, 100, 999, 1_000, 999_999, 1_000_000]]) / 1e6
    rows = np.stack([numbers, 1 - numbers], 1).astype(np.float32)
    labels = LabelSet(("-", "+ 10%"), {"-": "negative", "+ 10%": "positive"})
    written = WrittenNumbers(rows, rows[:, 1], labels)
    scores = (rows.astype(float).round(6) * labels.scores).sum(1)
    for label, end, row, score in zip(written.labels, written.ends, rows, scores, strict=True):
        shares = dict(zip(labels.names, rounded(row), strict=True))
        best = labels.names[int(row.argmax())]
        told = {"label": best, "probability": shares[best], "probabilities": shares, "score": rounded(score)}
        assert "{" + label[2:] == to_json(told)[:-1]
        assert end == f', "head_weight": {to_json(rounded(row[1]))}}}'
