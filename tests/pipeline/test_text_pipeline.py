"""The pipeline: order and batches, streams without end, threads, and parsers that answer wrongly."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexitree.batch import tree_examples as examples
from lexitree.errors import ConfigError, LexitreeError, TreeError
from lexitree.pipeline import text_pipeline
from lexitree.pipeline.text_pipeline import Predictor, TextPipeline
from lexitree.results.document import Document
from lexitree.text import Token, TokenizedSentence
from lexitree.trees.binarize import to_binary
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import Penn, ReadsAhead, RightBranching, right_branching, tiny_pipeline
from tests.tiny import tiny_model

STATM = Path("/proc/self/statm")
WORDS = ("the", "film", "is", "good", "bad", "plot", "not", "dull")


def some_texts(number: int) -> list[str]:
    """Texts of no, one or several sentences, each different."""
    return [
        "  " * (place % 3)
        if place % 7 == 3
        else " ".join(f"The {WORDS[place % 8]} is {place} ." for _ in range(place % 4 + 1))
        for place in range(number)
    ]


def assert_same(found: Document, expected: Document) -> None:
    assert found.text == expected.text
    assert len(found) == len(expected)
    for ours, theirs in zip(found.sentences, expected.sentences, strict=True):
        assert ours.tokens == theirs.tokens
        np.testing.assert_allclose(ours.node_probabilities, theirs.node_probabilities, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 2, 5, 1000])
@pytest.mark.parametrize("read_ahead", [1, 3, 64])
def test_order_is_kept_whatever_the_batches(batch_size: int, read_ahead: int) -> None:
    texts = some_texts(40)
    alone = tiny_pipeline()
    together = tiny_pipeline(parser=ReadsAhead(read_ahead)).stream(iter(texts), batch_size=batch_size)
    for text, document in zip(texts, together, strict=True):
        assert_same(document, alone(text))


def test_a_stream_is_one_call_of_the_parser() -> None:
    parser = RightBranching()
    list(tiny_pipeline(parser=parser).stream(some_texts(20), batch_size=2))
    assert parser.num_calls == 1


def test_nothing_in_nothing_out() -> None:
    assert list(tiny_pipeline().stream([])) == []
    assert [document.text for document in tiny_pipeline().stream(["", " "])] == ["", " "]


def test_a_stream_without_end_is_taken_as_it_comes() -> None:
    num_read = 0
    alive: weakref.WeakSet[Document] = weakref.WeakSet()

    def endless() -> Iterator[str]:
        nonlocal num_read
        for number in count():
            num_read += 1
            yield f"the film is {number}"

    for number, document in enumerate(islice(tiny_pipeline().stream(endless(), batch_size=16), 400)):
        alive.add(document)
        assert document.text == f"the film is {number}"
        assert num_read <= number + 17
        del document
    gc.collect()
    assert len(alive) <= 17


@pytest.mark.slow
@pytest.mark.skipif(not STATM.exists(), reason="the memory of a process is read from Linux's /proc")
def test_a_hundred_thousand_texts_at_constant_memory() -> None:
    texts = (f"the plot is {number % 500} good" for number in range(100_000))
    stream = tiny_pipeline("contree").stream(texts, batch_size=256)
    num_done = sum(1 for _ in islice(stream, 20_000))
    sizes = [resident_bytes()]
    while taken := sum(1 for _ in islice(stream, 20_000)):
        num_done += taken
        sizes.append(resident_bytes())
    assert num_done == 100_000
    # A text kept with its document would be over two kilobytes: 160 MB in all.
    assert max(sizes) - sizes[0] < 16 << 20


def resident_bytes() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_threads_get_the_same_answers() -> None:
    texts = some_texts(60)
    pipe = tiny_pipeline()
    expected = [pipe(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(pipe, texts * 3))
        streams = list(threads.map(lambda _: list(pipe.stream(texts, batch_size=7)), range(6)))
    for document, other in zip(found, expected * 3, strict=True):
        assert_same(document, other)
    for documents in streams:
        for document, other in zip(documents, expected, strict=True):
            assert_same(document, other)
    assert not pipe.predictor.model.training


def test_what_belongs_to_a_text_stays_with_it() -> None:
    texts = some_texts(30)
    pairs = list(tiny_pipeline().stream_pairs(zip(texts, count()), batch_size=4))
    assert [number for _, number in pairs] == list(range(30))
    assert [document.text for document, _ in pairs] == texts


def test_one_sentence() -> None:
    text = "The film is good. The plot is bad."
    pipe = tiny_pipeline()
    assert len(pipe(text)) == 2
    whole = pipe(text, one_sentence=True)
    assert len(whole) == 1
    assert whole.sentences[0].text == text
    (streamed,) = pipe.stream([text], one_sentence=True)
    assert_same(streamed, whole)


def test_sentences_may_be_split_otherwise() -> None:
    lines = tiny_pipeline(split="lines")("no full stop\nSecond line. Still it")
    assert [sentence.text for sentence in lines.sentences] == ["no full stop", "Second line. Still it"]

    def halves(text: str) -> list[TokenizedSentence]:
        middle = len(text) // 2
        spans = ((0, middle), (middle, len(text)))
        return [TokenizedSentence((Token(text[a:b], a, b, text[a:b]),)) for a, b in spans]

    assert [sentence.text for sentence in tiny_pipeline(split=halves)("abcdef").sentences] == ["abc", "def"]
    (whole,) = tiny_pipeline(split=halves)("abcdef", one_sentence=True).sentences
    assert [token.text for token in whole.tokens] == ["abc", "def"]
    with pytest.raises(ConfigError, match="unknown layout"):
        tiny_pipeline(split="pages")("a text")


def test_the_binarizer_decides_about_the_phrases() -> None:
    def shape(**settings: object) -> list[int]:
        pipe = tiny_pipeline(parser=Penn(), **settings)
        return pipe("the film is good").sentences[0].source.arity.tolist()

    assert shape(binarize="left") == [2, 2, 2, 0, 0, 0, 0]
    assert shape(binarize="right") == [2, 0, 2, 0, 2, 0, 0]
    assert shape(binarize=lambda tree: right_branching(tree.words)) == [2, 0, 2, 0, 2, 0, 0]
    model = tiny_model(binarization="left")
    document = TextPipeline(Predictor(model), Penn())("the film is good")
    assert document.sentences[0].source.arity.tolist() == [2, 2, 2, 0, 0, 0, 0]
    with pytest.raises(TreeError, match="not binary"):
        tiny_pipeline(parser=Penn(), binarize=lambda tree: tree)("the film is good")


def test_a_parse_is_binarized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    binarized: list[Tree] = []

    def count(tree: Tree, *arguments: Any, **options: Any) -> Any:
        binarized.append(tree)
        return to_binary(tree, *arguments, **options)

    for module in (text_pipeline, examples):
        monkeypatch.setattr(module, "to_binary", count)
    pipe = tiny_pipeline(parser=Penn())
    document = pipe("The film is not good. The plot is.")
    assert binarized == [sentence.parse for sentence in document.sentences]
    trees = [sentence.source for sentence in document.sentences]
    # What the pipeline spares must make no difference.
    for ours, theirs in zip(document.sentences, pipe.predictor.predict_all(trees), strict=True):
        assert ours.node_probabilities.tobytes() == theirs.node_probabilities.tobytes()
        assert ours.head_index is not None
        assert theirs.head_index is not None
        assert ours.head_index.tolist() == theirs.head_index.tolist()


class Question:
    """Parses every sentence of four words alike."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        return (Tree([4, 0, 0, 0, 0], ["SQ", "VBZ", "NP", "ADJP", "."], words) for words in sentences)


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        # As SST's trees are split: the verb is the head, the others stand on its right.
        ({}, [2, 2, 2, 0, 0, 0, 0]),
        ({"supervision": "root"}, [2, 0, 2, 0, 2, 0, 0]),
        ({"supervision": "root", "binarization": "head"}, [2, 2, 2, 0, 0, 0, 0]),
    ],
)
def test_parses_are_split_as_fits_the_model(settings: dict[str, str], shape: list[int]) -> None:
    predictor = Predictor(tiny_model(**settings))
    document = TextPipeline(predictor, Question())("is it good ?")
    assert document.sentences[0].source.arity.tolist() == shape


class Wrong:
    """Gives the trees of other sentences than it is asked about."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = answers

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        list(sentences)
        return map(right_branching, self.answers)


@pytest.mark.parametrize(
    ("parser", "problem"),
    [
        (Wrong(), "fewer trees"),
        (Wrong(["the", "film"], ["is"]), "more trees"),
        (Wrong(["the"]), "a tree of 1 words for a sentence of 2"),
    ],
)
def test_a_parser_that_answers_wrongly_is_found_out(parser: Wrong, problem: str) -> None:
    with pytest.raises(TreeError, match=problem):
        tiny_pipeline(parser=parser)("the film")


def test_words_are_the_sentences_own_whatever_the_parser_writes() -> None:
    document = tiny_pipeline(parser=Wrong(["*", "*", "*", "*"]))("the film is good")
    assert document.sentences[0].source.words == ("the", "film", "is", "good")
    assert_same(document, tiny_pipeline()("the film is good"))


def test_an_error_in_the_stream_comes_through() -> None:
    def broken() -> Iterator[str]:
        yield "the film is good"
        raise OSError("the source is gone")

    stream = tiny_pipeline().stream(broken(), batch_size=1)
    assert next(stream).text == "the film is good"
    with pytest.raises(OSError, match="the source is gone"):
        next(stream)


def test_half_a_character_is_an_error_and_no_crash() -> None:
    with pytest.raises(LexitreeError, match="must be valid text"):
        tiny_pipeline()("half \ud800 here")


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        tiny_pipeline().stream([], batch_size=0)
    with pytest.raises(ConfigError, match="dependency trees") as caught:
        tiny_pipeline("deptree")
    assert ".toks" in caught.value.remedy
