"""A parser that gives arrays and one that gives objects lead to the same documents, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from threading import Event
from typing import Any, get_args

import numpy as np
import pytest

from lexitree.errors import CancelledError, TextError
from lexitree.limits import Limits
from lexitree.pipeline import GPU_BATCH_SENTENCES, batch_labelling, batch_sentences, text_pipeline
from lexitree.pipeline.streaming import TextReader
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.tree import Tree
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
    monkeypatch.setattr(batch_labelling, "_BATCHES_AHEAD", {"cpu": request.param})
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


@pytest.mark.parametrize("labels", [("NP", "VP"), ("NP", "@NP", "S")])
def test_any_binarizer_and_labels_go_the_same_way(labels: tuple[str, ...]) -> None:
    parser = random_parser(labels=labels)
    for direction in get_args(Direction):
        pipe = tiny_pipeline(parser=parser, binarize=direction)
        other = tiny_pipeline(parser=parser, binarize=partial(_binary_tree, direction=direction))
        for found, expected in zip(pipe.stream(TEXTS), other.stream(TEXTS), strict=True):
            assert_same(found, expected)
            for ours, theirs in zip(found.sentences, expected.sentences, strict=True):
                assert ours.source == theirs.source == _binary_tree(ours.parse, direction)


def _binary_tree(tree: Tree, direction: Direction) -> Tree:
    return to_binary(tree, direction).tree


def test_a_gpu_has_larger_batches() -> None:
    assert batch_sentences("cuda") == GPU_BATCH_SENTENCES > batch_sentences("cpu")
