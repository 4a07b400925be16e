"""Parses, binarizes and labels sentences in batches, as arrays.

Trees of a parser that returns objects are packed into arrays first (`FlatParses.of`). On a GPU, one batch is labelled
while the next is parsed and the one after that is read, so host and GPU do not wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TypeVar

from lexitree.errors import TextError, TreeError
from lexitree.limits import Watch
from lexitree.models.label_model import AskedNodes
from lexitree.parsers.protocol import FlatParser, Parser, gives_arrays
from lexitree.pending import Pending, done
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.streaming import TextReader
from lexitree.pipeline.turns import Turn
from lexitree.results.document import Document
from lexitree.results.labelled_batch import LabelledBatch
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.flat_trees import FlatTrees, binarize_parses
from lexitree.trees.tree import Tree

Binarizer = Callable[[Tree], Tree]
Context = TypeVar("Context")

_BATCHES_AHEAD = {"cuda": 1}
"""How many batches wait at each stage while a GPU works; on a CPU, there is nothing to wait for."""


class _Parsing(NamedTuple):
    sentences: Sequence[Sequence[str]]
    parses: Pending[FlatParses]


class BatchLabeller:
    """Labels the sentences of a stream of texts, a batch at a time.

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
        binarize: Direction | Binarizer,
        turn: Turn,
        nodes: AskedNodes,
        watch: Watch,
    ) -> None:
        self._predictor = predictor
        self._parser = parser
        self._binarize: Direction | Binarizer = binarize
        self._turn = turn
        self._nodes: AskedNodes = nodes
        self._watch = watch
        self._num_ahead = _BATCHES_AHEAD.get(predictor.model.device_type, 0)
        self._parsing: deque[_Parsing] = deque()
        self._labelling: deque[Pending[LabelledBatch]] = deque()

    def run(
        self, reader: TextReader[Context], batch_size: int | None
    ) -> Iterator[tuple[Document | TextError, Context]]:
        """Yield the document of each text, or the error that it is refused with."""
        source = self._open(reader)
        while True:
            self._watch.start(reader.first_waiting)
            # Nobody waits for the texts: their source may take any time, or use this very pipeline.
            while not source.has_batch(batch_size) and reader.read():
                self._watch.check()
                if reader.has_finished:
                    with self._watch.paused():
                        yield from reader.finished()
            with self._turn.held(self._watch.check):
                taken = source.take(batch_size)
                results = self._put(taken)
            if results is not None:
                for number in range(results.num_sentences):
                    yield from reader.add(partial(results.sentence, number))
                del results
                yield from reader.finished()
            elif taken is None and not self._parsing and not self._labelling and source.is_over:
                break
        yield from reader.finished()
        if not reader.is_empty:
            raise TreeError("the parser gave fewer trees than there are sentences")

    def _open(self, reader: TextReader[Any]) -> _Source:
        if gives_arrays(self._parser):
            return _Arrays(self._parser, reader, self._watch)
        return _Objects(self._parser, reader, self._watch, self._turn)

    def _put(self, taken: _Parsing | None) -> LabelledBatch | None:
        """Begin with a batch, or with none, and return the next that is done, if there is one."""
        if taken is not None:
            self._parsing.append(taken)
        # Without further sentences, there is no reason to wait.
        num_ahead = 0 if taken is None else self._num_ahead
        if len(self._parsing) > num_ahead:
            self._labelling.append(self._start_labelling(self._parsing.popleft()))
        if len(self._labelling) > num_ahead:
            return self._labelling.popleft().result()
        return None

    def _start_labelling(self, parsing: _Parsing) -> Pending[LabelledBatch]:
        parses = parsing.parses.result()
        self._watch.check()
        trees = self._binary_trees(parses, parsing.sentences)
        return self._predictor.start_flat(
            parses,
            trees,
            list(chain.from_iterable(parsing.sentences)),
            nodes=self._nodes,
            check=self._watch.check,
        )

    def _binary_trees(self, parses: FlatParses, sentences: Sequence[Sequence[str]]) -> FlatTrees:
        """The trees that the model reads."""
        way = self._binarize
        if not callable(way) and parses.labels.are_plain:
            return binarize_parses(parses, way)
        found: list[Tree] = []
        for number, words in enumerate(sentences):
            tree = parses.sentence(number).tree(words)
            binary = way(tree) if callable(way) else to_binary(tree, way).tree
            if not binary.is_binary or binary.has_inner_words or binary.num_words != len(words):
                raise TreeError("the binarizer gave a tree that is not binary, or has other words")
            found.append(binary)
        return FlatTrees.of(found)


class _Source(Protocol):
    """Where the parses of a stream's sentences come from."""

    @property
    def is_over(self) -> bool:
        """Whether no more will come."""
        ...

    def has_batch(self, num_sentences: int | None) -> bool:
        """Whether enough was read for a batch; None stands for a batch of everything."""
        ...

    def take(self, num_sentences: int | None) -> _Parsing | None:
        """The next batch, at most so many sentences; None if there is nothing to parse now."""
        ...


class _Arrays:
    """A parser that gives arrays, asked once for each batch."""

    def __init__(self, parser: FlatParser, reader: TextReader[Any], watch: Watch) -> None:
        self._parser = parser
        self._reader = reader
        self._watch = watch

    @property
    def is_over(self) -> bool:
        return self._reader.is_exhausted

    def has_batch(self, num_sentences: int | None) -> bool:
        return self._reader.has_batch(num_sentences)

    def take(self, num_sentences: int | None) -> _Parsing | None:
        sentences = self._reader.take_batch(num_sentences)
        if not sentences:
            return None
        return _Parsing(sentences, self._parser.start_parses(sentences, self._watch.check))


class _Objects:
    """A parser that gives a tree for each sentence, and may read ahead.

    It is called once for the whole stream: it may be a file of trees, or a process that is slow to start.
    """

    def __init__(self, parser: Parser, reader: TextReader[Any], watch: Watch, turn: Turn) -> None:
        self._reader = reader
        self._trees = iter(parser.parse_all(_sentences(reader, watch, turn)))
        self.is_over = False

    def has_batch(self, num_sentences: int | None) -> bool:
        return self._reader.has_enough(num_sentences)

    def take(self, num_sentences: int | None) -> _Parsing | None:
        trees = list(islice(self._trees, num_sentences))
        self.is_over = not trees
        if not trees:
            return None
        in_flight = self._reader.in_flight
        if len(trees) > len(in_flight):
            raise TreeError("the parser gave more trees than there are sentences")
        sentences = [in_flight.popleft() for _ in trees]
        for tree, words in zip(trees, sentences, strict=True):
            if tree.num_words != len(words):
                raise TreeError(
                    f"the parser gave a tree of {tree.num_words} words for a sentence of {len(words)}: "
                    f"{' '.join(words)[:80]!r}"
                )
        return _Parsing(sentences, done(FlatParses.of(trees)))


def _sentences(reader: TextReader[Any], watch: Watch, turn: Turn) -> Iterator[list[str]]:
    """The words of each sentence, for a parser that reads as far ahead as it likes.

    It holds no reference to its consumer, so the parser closes as soon as a stream is abandoned.
    """
    while True:
        watch.check()
        taken = reader.take(1)
        yield from taken
        if not taken and reader.is_exhausted:
            return
        if not taken:
            with turn.released(watch.check):
                reader.read()
