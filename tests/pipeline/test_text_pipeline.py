"""The pipeline: order and batches, streams without end, splitting and binarizing, and parsers that answer wrongly."""

from __future__ import annotations

import gc
import os
import pickle
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexitree.errors import ConfigError, LimitError, TextError, TreeError
from lexitree.limits import Limits
from lexitree.parsers.adapters.adapter import BatchAdapter
from lexitree.parsers.adapters.adapter import Sentence as AdapterSentence
from lexitree.pipeline.loading import load
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.document import Document
from lexitree.text import Token, TokenizedSentence, TokenizedText
from lexitree.trees.binarize import to_binary
from lexitree.trees.tree import Tree
from tests.parsers.random_parser import random_parser
from tests.pipeline.stubs import (
    PARSERS,
    Batches,
    Penn,
    ReadsAhead,
    RightBranching,
    assert_same,
    right_branching,
    some_texts,
    tiny_pipeline,
)
from tests.tiny import tiny_model

STATM = Path("/proc/self/statm")


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


def test_a_stream_that_is_given_up_closes_parser_and_texts_at_once() -> None:
    closed: list[str] = []

    class Closing(RightBranching):
        def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
            try:
                yield from super().parse_all(sentences)
            finally:
                closed.append("parser")

    def texts() -> Iterator[str]:
        try:
            yield from ["the film"] * 1_000
        finally:
            closed.append("texts")

    gc.disable()
    try:
        stream = tiny_pipeline(parser=Closing()).stream(texts(), batch_size=2)
        next(stream)
        del stream
        assert sorted(closed) == ["parser", "texts"]
    finally:
        gc.enable()


@pytest.mark.parametrize("make_parser", [Penn, Batches, random_parser])
def test_a_document_has_the_answers_for_its_trees(make_parser: Callable[[], Any]) -> None:
    pipe = tiny_pipeline(parser=make_parser())
    document = pipe("The film is not good. The plot is.")
    trees = [sentence.source for sentence in document.sentences]
    for ours, theirs in zip(document.sentences, pipe.predictor.predict_all(trees), strict=True):
        np.testing.assert_allclose(ours.node_probabilities, theirs.node_probabilities, atol=1e-6)
        assert ours.source == to_binary(ours.parse, pipe.binarize).tree  # type: ignore[arg-type]
        assert ours.head_index is not None
        assert theirs.head_index is not None
        assert ours.head_index.tolist() == theirs.head_index.tolist()


class Packaged(BatchAdapter):
    """An adapter for a parser that takes batches, as those for Python packages are."""

    def __init__(self) -> None:
        super().__init__("packaged", batch_size=3)

    def parse_batch(self, batch: list[AdapterSentence]) -> list[Tree | None]:
        return [right_branching(sentence.words) for sentence in batch]


def test_an_adapter_with_batches_of_its_own_is_no_batch_parser() -> None:
    texts = some_texts(20)
    pipe, other = tiny_pipeline(parser=Packaged()), tiny_pipeline()
    for text, document in zip(texts, pipe.stream(texts, batch_size=4), strict=True):
        assert_same(document, other(text))
    assert_same(pipe(texts[2]), other(texts[2]))


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


def test_texts_without_words_are_not_kept_back() -> None:
    num_read = 0

    def blank_after_one() -> Iterator[str]:
        nonlocal num_read
        yield "the film"
        for _ in range(5_000):
            num_read += 1
            yield ""

    stream = tiny_pipeline(parser=Batches()).stream(blank_after_one(), batch_size=16)
    assert next(stream).text == "the film"
    assert num_read <= 1_024
    assert sum(1 for _ in stream) == 5_000


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


BROKEN = "half \ud800 here"


def test_half_a_character_is_an_error_and_no_crash() -> None:
    with pytest.raises(
        TextError, match=r"the text holds half of a surrogate pair at character 5: 'half \\ud800"
    ) as caught:
        tiny_pipeline()(BROKEN)
    assert caught.value.number is None


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_an_error_is_about_its_text_only(batch_size: int) -> None:
    texts: list[Any] = ["the film", BROKEN, "", 7, "is good", "word " * 40, "the plot"]
    settings: Any = {"batch_size": batch_size, "limits": Limits(words=30)}
    pipe = tiny_pipeline()
    good = [texts[number] for number in (0, 2, 4, 6)]
    assert [document.text for document in pipe.stream(texts, on_error="skip", **settings)] == good
    results = list(pipe.stream(texts, on_error="return", **settings))
    errors = [result for result in results if isinstance(result, TextError)]
    assert [error.number for error in errors] == [1, 3, 5]
    assert [isinstance(result, TextError) for result in results] == [
        number in (1, 3, 5) for number in range(7)
    ]
    assert str(errors[1]) == "text 3 is not a string but of type int"
    assert str(errors[2]).startswith("text 5 has 40 words, and the limit is 30: 'word word")
    pairs = pipe.stream_pairs(
        ((text, number) for number, text in enumerate(texts)), on_error="skip", **settings
    )
    assert [(document.text, number) for document, number in pairs] == list(
        zip(good, (0, 2, 4, 6), strict=True)
    )


def test_documents_before_an_error_come_first() -> None:
    stream = tiny_pipeline().stream(["the film", "is good", BROKEN, "the plot"])
    assert [document.text for document in islice(stream, 2)] == ["the film", "is good"]
    with pytest.raises(TextError, match="text 2 holds"):
        next(stream)


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        tiny_pipeline().stream([], batch_size=0)
    wrong: Any = "ignore"
    with pytest.raises(ConfigError, match="raise, skip, return"):
        tiny_pipeline().stream([], on_error=wrong)
    with pytest.raises(ConfigError, match="dependency trees") as caught:
        tiny_pipeline("deptree")
    assert ".toks" in caught.value.remedy


def tokenized(text: str) -> TokenizedText:
    """The text with one sentence for each of its words' pairs: not how the pipeline would split it."""
    spans = [(word.start(), word.end()) for word in re.finditer(r"\S+", text)]
    return TokenizedText.from_spans(text, [spans[first : first + 2] for first in range(0, len(spans), 2)])


@pytest.mark.parametrize("make_parser", PARSERS)
def test_a_text_may_come_with_its_sentences_and_tokens(make_parser: Callable[[], Any]) -> None:
    texts = [*some_texts(12), "good-bad? plot."]
    pipe = tiny_pipeline(parser=make_parser())
    mixed = [*map(tokenized, texts), *texts]
    documents = list(pipe.stream(mixed, batch_size=5))
    for text, document in zip(texts, documents[: len(texts)], strict=True):
        found = [[token.text for token in sentence.tokens] for sentence in document.sentences]
        assert found == [text.split()[first : first + 2] for first in range(0, len(text.split()), 2)]
        assert_same(document, pipe(tokenized(text), one_sentence=True))
    for text, document in zip(texts, documents[len(texts) :], strict=True):
        assert_same(document, pipe(text))


def test_limits_hold_for_texts_that_come_with_tokens() -> None:
    pipe = tiny_pipeline()
    text = tokenized("the film is good and bad")
    with pytest.raises(LimitError, match="6 words"):
        pipe(text, limits=Limits(words=5))
    cut = pipe(text, limits=Limits(characters=14, token_characters=3, beyond="cut"))
    assert [token.text for token in cut.tokens] == ["the", "fil", "m", "is"]
    assert len(cut.notes) == 2
    with pytest.raises(TextError, match="surrogate"):
        pipe(tokenized("the \ud800 film"))


def test_a_column_is_a_list_of_documents() -> None:
    texts = some_texts(9)
    pipe = tiny_pipeline()
    for column in (texts, tuple(texts), np.array(texts)):
        documents = pipe(column)
        assert isinstance(documents, list)
        for document, text in zip(documents, texts, strict=True):
            assert_same(document, pipe(text))
    assert [len(document) for document in pipe(["The film is good.", None, float("nan"), ""])] == [1, 0, 0, 0]  # type: ignore[list-item]
    assert pipe([]) == []
    with pytest.raises(TextError, match="text 1 is not a string but of type int"):
        pipe(["good", 7])  # type: ignore[list-item]
    with pytest.raises(TextError, match="is not a string but of type dict"):
        pipe({"text": "good"})  # type: ignore[call-overload]


def test_a_pipeline_pickles(tmp_path: Path) -> None:
    text = "The film is good. The plot is not."
    pipe = tiny_pipeline(limits=Limits(words=50))
    again = pickle.loads(pickle.dumps(pipe))
    assert_same(again(text), pipe(text))
    assert again.limits == pipe.limits
    assert (
        repr(again) == repr(pipe) == "TextPipeline(bicontree, 2 labels, torch on cpu, parser RightBranching)"
    )
    assert repr(pickle.loads(pickle.dumps(pipe.predictor))) == "Predictor(bicontree, 2 labels, torch on cpu)"


def test_a_parser_that_is_a_program_is_opened_again(tmp_path: Path, saved_model: Path) -> None:
    (tmp_path / "trees.txt").write_text("(S (NN good) (NN film))\n", encoding="utf-8")
    spec = f"brackets:{tmp_path / 'trees.txt'}"
    with load(saved_model, parser=spec) as pipe, pickle.loads(pickle.dumps(pipe)) as again:
        assert_same(again("good film"), pipe("good film"))
        assert again.parser is not pipe.parser
    with pytest.raises(ConfigError, match=r"program of its own .* cannot be pickled\nName it where"):
        pickle.dumps(tiny_pipeline(parser=Packaged()))


@pytest.mark.slow
def test_the_shipped_pipeline_pickles() -> None:
    pipe = load("sentiment", device="cpu")
    again = pickle.loads(pickle.dumps(pipe))
    text = "The acting is great, but the story goes nowhere."
    assert again(text).as_dict() == pipe(text).as_dict()


def test_a_text_can_be_split_beforehand() -> None:
    pipe = tiny_pipeline(limits=Limits(words=8))
    text = "The film is good. It is."
    sentences, notes = pipe.split_text(text)
    assert [[token.text for token in tokens] for tokens in sentences] == [
        ["The", "film", "is", "good", "."],
        ["It", "is", "."],
    ]
    assert notes == ()
    assert len(pipe.split_text(text, one_sentence=True).sentences) == 1
    with pytest.raises(LimitError, match="text 3 has 8 words, and the limit is 7"):
        pipe.split_text(text, limits=Limits(words=7), number=3)
    split = pipe.split_text(text, limits=Limits(words=7, beyond="cut"))
    assert len(split.notes) == 1
    whole = TokenizedText(text, tuple(map(TokenizedSentence, sentences)))
    assert_same(pipe(whole), pipe(text))
