"""Parsers that need no model, and pipelines made of them: what the tests of documents work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from lexitree.corpora.tables import Row
from lexitree.limits import Check, no_check
from lexitree.pending import Pending, done
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.document import Document
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.tree import Tree
from tests.tiny import tiny_model

NAMES = {"0": "negative", "1": "positive"}
WORDS = ("the", "film", "is", "good", "bad", "plot", "not", "dull")


def right_branching(words: Sequence[str]) -> Tree:
    """`(X (Y a) (X (Y b) (Y c)))`, of any number of words."""
    num_words = len(words)
    labels = ["X", "Y"] * (num_words - 1) + ["Y"]
    return Tree([2, 0] * (num_words - 1) + [0], labels, words)


class RightBranching:
    """Answers each sentence as it is asked, and counts its calls."""

    def __init__(self) -> None:
        self.num_calls = 0
        self.num_sentences = 0

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        self.num_calls += 1
        for words in sentences:
            self.num_sentences += 1
            yield right_branching(words)


class Penn:
    """Wide phrases, unary chains, and a root above them, as treebanks have them."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        for words in sentences:
            num_words = len(words)
            yield Tree([1, num_words, *[0] * num_words], ["ROOT", "S", *["NN"] * num_words], words)


class ReadsAhead:
    """Takes so many sentences at a time, as parsers on a GPU do."""

    def __init__(self, size: int) -> None:
        self.size = size

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        batch: list[Sequence[str]] = []
        for words in sentences:
            batch.append(words)
            if len(batch) == self.size:
                yield from map(right_branching, batch)
                batch.clear()
        yield from map(right_branching, batch)


class Batches(RightBranching):
    """Gives the parses of a batch as arrays, as the built-in parser does."""

    on_sentence: Callable[[], object] = staticmethod(no_check)
    """Called after each sentence."""

    def start_parses(self, sentences: Sequence[Sequence[str]], check: Check) -> Pending[FlatParses]:
        return done(FlatParses.of(self.parse_sentences(sentences, check)))

    def parse_sentences(self, sentences: Sequence[Sequence[str]], check: Check) -> list[Tree]:
        trees: list[Tree] = []
        self.num_sentences = 0
        for words in sentences:
            check()
            trees.append(right_branching(words))
            self.num_sentences += 1
            self.on_sentence()
        return trees


PARSERS = [RightBranching, lambda: ReadsAhead(5), Batches]


def tiny_pipeline(name: str = "bicontree", parser: Any = None, **settings: Any) -> TextPipeline:
    model = tiny_model(name, label_names=NAMES)
    return TextPipeline(Predictor(model), parser or RightBranching(), **settings)


def some_texts(number: int) -> list[str]:
    """Texts of no, one or several sentences, each different."""
    return [
        "  " * (place % 3)
        if place % 7 == 3
        else " ".join(f"The {WORDS[place % 8]} is {place} ." for _ in range(place % 4 + 1))
        for place in range(number)
    ]


def assert_same(found: Document, expected: Document) -> None:
    """Fails unless two documents have the same sentences and, nearly, the same probabilities."""
    assert found.text == expected.text
    assert len(found) == len(expected)
    for ours, theirs in zip(found.sentences, expected.sentences, strict=True):
        assert ours.tokens == theirs.tokens
        np.testing.assert_allclose(ours.node_probabilities, theirs.node_probabilities, atol=1e-5)


def open_stub(on_row: Callable[[Row], object] = lambda _: None) -> Callable[..., AbstractContextManager[Any]]:
    """A stand-in for `open_labeller` without a model: every text has the same sentences."""
    document = tiny_pipeline()("the film is good")

    def label(rows: Iterable[Row], output_format: Any) -> Iterator[Any]:
        for row in rows:
            on_row(row)
            yield output_format.text_record(row, Document(row.text, document.sentences))

    return lambda *_: nullcontext(label)
