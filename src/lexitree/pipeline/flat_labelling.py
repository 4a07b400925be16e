"""Labels many sentences as arrays, from the parser's phrases to the model's answers.

`TextPipeline` does the same sentence by sentence for parsers and models that know nothing of arrays. On a GPU, a
batch is parsed while the one before it is labelled and the one after it is read: work is handed out first and asked
for a batch later, so that neither waits for the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from lexitree.limits import Check
from lexitree.models.label_model import AskedNodes
from lexitree.parsers.protocol import FlatParser, Parser, Started
from lexitree.pipeline.predictor import Predictor, StartedResults
from lexitree.results.flat_results import FlatResults
from lexitree.trees.binarize import Direction
from lexitree.trees.flat_trees import binarize_parses

_BATCHES_AHEAD = {"cuda": 1}
"""How many batches wait at each stage while a GPU works; on a CPU, there is nothing to wait for."""


class _Parsing(NamedTuple):
    sentences: Sequence[Sequence[str]]
    started: Started


class FlatLabeller:
    """Takes batches of sentences and gives them back labelled, in order, some batches later.

    Args:
        predictor: A model that can label arrays; see `flat_parser`.
        parser: A parser that gives arrays.
        direction: How wide phrases are split.
        nodes: Whether all phrases or whole sentences only are labelled.
        check: Called before each batch; may raise an error to end the work.
    """

    def __init__(
        self,
        predictor: Predictor,
        parser: FlatParser,
        direction: Direction,
        nodes: AskedNodes,
        check: Check,
    ) -> None:
        self._predictor = predictor
        self._parser = parser
        self._direction: Direction = direction
        self._nodes: AskedNodes = nodes
        self._check = check
        self._num_ahead = _BATCHES_AHEAD.get(predictor.model.device_type, 0)
        self._parsing: deque[_Parsing] = deque()
        self._labelling: deque[StartedResults] = deque()

    @property
    def is_empty(self) -> bool:
        """Whether all that was put in has come out."""
        return not self._parsing and not self._labelling

    def put(self, sentences: Sequence[Sequence[str]]) -> FlatResults | None:
        """Begin with a batch, perhaps of no sentences, and return the next that is done, if there is one."""
        if sentences:
            self._parsing.append(_Parsing(sentences, self._parser.start_parses(sentences, self._check)))
        # Without further sentences, there is no reason to wait.
        num_ahead = self._num_ahead if sentences else 0
        if len(self._parsing) > num_ahead:
            self._labelling.append(self._start_labelling(self._parsing.popleft()))
        if len(self._labelling) > num_ahead:
            return self._labelling.popleft().finish()
        return None

    def _start_labelling(self, parsing: _Parsing) -> StartedResults:
        parses = parsing.started.finish()
        self._check()
        trees = binarize_parses(parses, self._direction)
        words = list(chain.from_iterable(parsing.sentences))
        return self._predictor.start_flat(parses, trees, words, nodes=self._nodes, check=self._check)


def flat_parser(predictor: Predictor, parser: Parser) -> FlatParser | None:
    """The parser, if it and the model work on arrays."""
    if not (predictor.model.reads_flat_trees and isinstance(parser, FlatParser)):
        return None
    return parser if parser.parse_labels.are_plain else None
