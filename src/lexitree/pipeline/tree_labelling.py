"""Labels sentences tree by tree: the plain path, for parsers, binarizers and models that know nothing of arrays.

`FlatLabeller` does the same for whole batches as arrays; the tests compare the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from lexitree.errors import TextError, TreeError
from lexitree.limits import Watch
from lexitree.models.label_model import AskedNodes
from lexitree.parsers.protocol import BatchParser, Parser
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.streaming import TextReader
from lexitree.pipeline.turns import Turn
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Sentence
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.tree import Tree

Binarizer = Callable[[Tree], Tree]
Context = TypeVar("Context")


def make_binarizer(way: Direction | Binarizer) -> Binarizer:
    """A function that makes the binary tree that a model reads."""
    # A partial function and not a lambda, which cannot be pickled.
    return way if callable(way) else partial(_binarize, direction=way)


def _binarize(tree: Tree, direction: Direction) -> Tree:
    return to_binary(tree, direction).tree


class TreeLabeller:
    """Parses, binarizes and labels the sentences of a stream of texts.

    Args:
        predictor: The model.
        parser: What parses the sentences.
        binarize: How the binary tree that the model reads is made of a parse.
        turn: Whose turn it is to compute.
        nodes: Whether all phrases or whole sentences only are labelled.
        watch: The time limit of a batch, and whether the stream is cancelled.
    """

    def __init__(
        self,
        predictor: Predictor,
        parser: Parser,
        binarize: Binarizer,
        turn: Turn,
        nodes: AskedNodes,
        watch: Watch,
    ) -> None:
        self._predictor = predictor
        self._parser = parser
        self._binarize = binarize
        self._turn = turn
        self._nodes: AskedNodes = nodes
        self._watch = watch

    def run(
        self, reader: TextReader[Context], batch_size: int | None
    ) -> Iterator[tuple[Document | TextError, Context]]:
        """Yield the document of each text, or the error that it is refused with."""
        parse = self._open_parser(reader, batch_size)
        while True:
            self._watch.start(reader.first_waiting)
            # Nobody waits for the texts: their source may take any time, or use this very pipeline.
            while not reader.has_enough(batch_size) and reader.read():
                self._watch.check()
                with self._watch.paused():
                    yield from reader.finished()
            labelled = self._label(parse, reader.in_flight)
            if not labelled:
                break
            for tree, prediction in labelled:
                yield from reader.add(partial(Sentence.placed, prediction, tree))
            del labelled
            yield from reader.finished()
        if not reader.is_empty:
            raise TreeError("the parser gave fewer trees than there are sentences")

    def _open_parser(self, reader: TextReader[Any], batch_size: int | None) -> Callable[[], list[Tree]]:
        """A function that parses the next sentences, at most a batch; it is called in turn."""
        parser = self._parser
        if isinstance(parser, BatchParser):
            return lambda: parser.parse_sentences(reader.take(batch_size), self._watch.check)
        # One call for the whole stream: a parser may be a file of trees, or a process that is slow to start.
        trees = iter(parser.parse_all(self._sentences(reader)))
        return lambda: list(islice(trees, batch_size))

    def _sentences(self, reader: TextReader[Any]) -> Iterator[list[str]]:
        """The words of each sentence, for a parser that reads as far ahead as it likes."""
        while True:
            self._watch.check()
            taken = reader.take(1)
            yield from taken
            if not taken and reader.is_exhausted:
                return
            if not taken:
                with self._turn.released(self._watch.check):
                    reader.read()

    def _label(
        self, parse: Callable[[], list[Tree]], in_flight: deque[list[str]]
    ) -> list[tuple[Tree, LabelledTree]]:
        """The next parses, each with the model's prediction; none at the end of the stream."""
        with self._turn.held(self._watch.check):
            taken = parse()
            if len(taken) > len(in_flight):
                raise TreeError("the parser gave more trees than there are sentences")
            trees = [self._binary_tree(tree, in_flight.popleft()) for tree in taken]
            self._watch.check()
            labelled = self._predictor.predict_binary(trees, self._watch.check, nodes=self._nodes)
            return list(zip(taken, labelled, strict=True))

    def _binary_tree(self, parse: Tree, words: Sequence[str]) -> Tree:
        """The binary tree that the model reads, over the sentence's own words, however the parser spells them."""
        if parse.num_words != len(words):
            raise TreeError(
                f"the parser gave a tree of {parse.num_words} words for a sentence of {len(words)}: "
                f"{' '.join(words)[:80]!r}"
            )
        binary = self._binarize(parse)
        if not binary.is_binary or binary.has_inner_words or binary.num_words != len(words):
            raise TreeError("the binarizer gave a tree that is not binary, or has other words")
        return binary if binary.words == tuple(words) else Tree(binary.arity, binary.labels, words)
