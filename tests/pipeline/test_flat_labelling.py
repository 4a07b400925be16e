"""Labelling whole batches as arrays gives the documents of labelling sentence by sentence, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from threading import Event
from typing import Any

import numpy as np
import pytest

from lexitree.errors import CancelledError, TextError
from lexitree.limits import Limits
from lexitree.pipeline import GPU_BATCH_SENTENCES, batch_sentences, flat_labelling, text_pipeline
from lexitree.pipeline.streaming import TextReader
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.flat_results import FlatSentence
from lexitree.results.sentence import Sentence
from tests.parsers.random_parser import random_parser
from tests.pipeline.stubs import assert_same, some_texts, tiny_pipeline


class SentenceBySentence:
    """The same parser, of which a pipeline knows nothing but its trees."""

    def __init__(self, max_words: int = 250) -> None:
        self.parser = random_parser(max_words=max_words)

    def parse_all(self, sentences: Any) -> Any:
        return self.parser.parse_all(sentences)


def flat_pipeline(max_words: int = 250, **settings: Any) -> TextPipeline:
    return tiny_pipeline(parser=random_parser(max_words=max_words), **settings)


@pytest.fixture(params=[0, 1, 2])
def batches_ahead(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As on a GPU, where batches wait for those before them."""
    monkeypatch.setattr(flat_labelling, "_BATCHES_AHEAD", {"cpu": request.param})
    return request.param


TEXTS = [*some_texts(40), "", "film", "The film is not good and " * 30, " "]


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
@pytest.mark.parametrize("settings", [{}, {"binarize": "left"}, {"max_words": 5}])
def test_documents_are_those_of_single_sentences(
    batch_size: int, settings: dict[str, Any], batches_ahead: int
) -> None:
    plain = tiny_pipeline(parser=SentenceBySentence(settings.get("max_words", 250)), **_without(settings))
    expected = plain.stream(TEXTS)
    found = flat_pipeline(**settings).stream(iter(TEXTS), batch_size=batch_size)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)
        for flat, sentence in zip(ours.sentences, theirs.sentences, strict=True):
            assert (type(flat), type(sentence)) == (FlatSentence, Sentence)
            assert (flat.source, flat.parse, flat.labels) == (
                sentence.source,
                sentence.parse,
                sentence.labels,
            )
            assert flat.head_index is not None
            np.testing.assert_array_equal(flat.head_index, sentence.head_index)


def _without(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "max_words"}


@pytest.mark.parametrize("parser", [random_parser, SentenceBySentence])
def test_whole_sentences_only(parser: Any) -> None:
    pipe = tiny_pipeline(parser=parser())
    for root, whole in zip(pipe.stream(TEXTS, nodes="root"), pipe.stream(TEXTS), strict=True):
        assert root.label == whole.label
        assert root.probabilities == pytest.approx(whole.probabilities, abs=1e-5)
        assert all(len(sentence.node_probabilities) == 1 for sentence in root.sentences)


def test_errors_stay_in_their_places(batches_ahead: int) -> None:
    texts: list[Any] = ["the film", 7, "", "is good", "word " * 40, "the plot"]
    results = flat_pipeline().stream(texts, on_error="return", batch_size=1, limits=Limits(words=30))
    shown = [each.number if isinstance(each, TextError) else each.text for each in results]
    assert shown == ["the film", 1, "", "is good", 4, "the plot"]


def test_no_more_is_read_than_the_batches_ahead_need(batches_ahead: int) -> None:
    num_read = 0

    def endless() -> Iterator[str]:
        nonlocal num_read
        while True:
            num_read += 1
            yield "the film is good"

    for number, _ in enumerate(islice(flat_pipeline().stream(endless(), batch_size=8), 200)):
        assert num_read <= number + 1 + 8 * (1 + 2 * batches_ahead)


def test_texts_without_words_are_not_kept_back(batches_ahead: int) -> None:
    num_read = 0

    def mostly_blank() -> Iterator[str]:
        nonlocal num_read
        for text in ("the film", *[""] * 3_000, "is good", *[" "] * 1_500):
            num_read += 1
            yield text

    stream = flat_pipeline().stream(mostly_blank(), batch_size=16)
    assert next(stream).text == "the film"
    assert num_read <= 1_024 * (1 + 2 * batches_ahead)
    rest = [document.text for document in stream]
    assert rest == [*[""] * 3_000, "is good", *[" "] * 1_500]


def test_the_words_of_labelled_sentences_are_forgotten() -> None:
    readers: list[TextReader[Any]] = []

    class Remembered(TextReader[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            readers.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pipeline, "TextReader", Remembered)
        assert sum(1 for _ in flat_pipeline().stream(some_texts(60), batch_size=8)) == 60
    assert not readers[0].in_flight
    assert readers[0].is_empty


def test_a_stream_can_be_cancelled(batches_ahead: int) -> None:
    cancel = Event()
    stream = flat_pipeline().stream(some_texts(50), batch_size=4, cancel=cancel)
    assert next(stream).text == "The the is 0 ."
    cancel.set()
    with pytest.raises(CancelledError):
        list(stream)


def test_what_works_on_arrays_is_told_from_what_does_not() -> None:
    marked = random_parser(labels=("NP", "@NP"))
    for pipe, expected in (
        (flat_pipeline(), FlatSentence),
        (flat_pipeline(binarize=lambda tree: _right(tree)), Sentence),
        (tiny_pipeline(parser=marked), Sentence),
    ):
        (sentence,) = pipe("the film is good").sentences
        assert type(sentence) is expected


def _right(tree: Any) -> Any:
    from lexitree.trees.binarize import to_binary

    return to_binary(tree, "right").tree


def test_a_gpu_has_larger_batches() -> None:
    assert batch_sentences("cuda") == GPU_BATCH_SENTENCES > batch_sentences("cpu")
