"""The encoders in NumPy, without torch: they turn word vectors into the features that nodes are labelled by.

They read the weights of the encoders in `lexitree.models.encoders` and `lexitree.models.catalog`, which torch trains
and which explain the models; the tests compare each with its original.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, cast, get_args

import numpy as np

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_examples import TreeKind
from lexitree.batch.tree_layout import TreeLayout
from lexitree.models.model_config import ModelConfig
from lexitree.ops.numpy.heads import HeadLeaves, lean_to_candidates, left_shares
from lexitree.ops.numpy.spans import SpanSchedule, check_span_memory, distinct_phrases
from lexitree.ops.operations import (
    BOTTOM_UP,
    CHILD_SUM,
    DENSE,
    FIND_HEADS,
    GATED_CHILDREN,
    GATHER_FEATURES,
    HEADS_AND_SHARES,
    SEQUENCES,
    TENSOR_NETWORK,
    TOP_DOWN,
    compose_heads_by,
)
from lexitree.ops.registry import Backend, Operation
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    DenseWeights,
    GatedChildrenWeights,
    HeadCandidates,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    TensorWeights,
    TopDownWeights,
)

STATES_KEPT = 6
"""Vectors of size `hidden` kept per word read: gates, h and c."""


class Weights(Protocol):
    """Saved weights, in whatever form they are stored."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def all(self) -> FloatArray:
        """The weights in 32 bits."""
        ...


class WeightReader:
    """Hands out saved weights by name, and checks that all fit and none are left.

    Args:
        weights: The weights.
    """

    def __init__(self, weights: Mapping[str, Weights]) -> None:
        self._weights = dict(weights)

    def take(self, name: str, *shape: int) -> FloatArray:
        """The weights of a name.

        Raises:
            ValueError: There are none, or they have another shape.
        """
        found = self._weights.pop(name, None)
        if found is None:
            raise ValueError(f"missing or unknown weights: {name}")
        if found.shape != shape:
            raise ValueError(f"{name} has the shape {list(found.shape)}, not {list(shape)}")
        return found.all()

    def check_empty(self) -> None:
        """Check that all weights have been taken.

        Raises:
            ValueError: Some have not.
        """
        if self._weights:
            raise ValueError(f"missing or unknown weights: {', '.join(list(self._weights)[:3])}")


class Step:
    """An operation with its weights, prepared for many calls."""

    def __init__(self, operation: Operation[Any], weights: Any, backend: Backend) -> None:
        self._weights = backend.prepare(operation, weights)
        self._run: Callable[..., Any] = backend.on_arrays(operation)

    def __call__(self, x: FloatArray, *arguments: Any) -> Any:
        return self._run(x, self._weights, *arguments)


class ArrayHeads:
    """The head vector and the head word of every node; see `HeadComposer`."""

    def __init__(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        self.method: HeadMethod = cast(HeadMethod, config.head_method)
        self.candidates: HeadCandidates = config.head_candidates
        self.operation = compose_heads_by(self.method)
        self._find = backend.on_arrays(FIND_HEADS)
        size = config.word_size
        if self.method == "G":
            gate = reader.take("encoder.heads.gate", size, 2 * size)
            self._weights = HeadWeights(gate, reader.take("encoder.heads.bias", size))
            self._compose_gated = Step(HEADS_AND_SHARES, self._weights, backend)
        else:
            self._weights = None
            self._compose_fixed = backend.on_arrays(self.operation)

    def compose(self, words: FloatArray, layout: TreeLayout) -> tuple[FloatArray, FloatArray, Any]:
        """The head vectors [nodes, word], the left parts' shares [phrases, word], and what decides gates."""
        if self._weights is None:
            x = self._compose_fixed(words, None, layout, self.method)
            return x, left_shares(x, None, layout, self.method), None
        lean = lean_to_candidates(layout, self.candidates)
        x, shares = self._compose_gated(words, layout, lean)
        return x, shares, lean

    def find_words(self, x: FloatArray, shares: FloatArray, lean: Any, layout: TreeLayout) -> HeadLeaves:
        """The head word of every node, from what `compose` has made."""
        return self._find(x, self._weights, layout, self.method, lean, shares)


class ArrayEncoder(ABC):
    """Turns the vectors of words, or the head vectors of all nodes, into features of every node."""

    num_states: ClassVar[int]
    """Number of states of size `hidden` in the features of a node."""
    has_heads: ClassVar[bool] = False
    tree_kind: ClassVar[TreeKind] = "constituency"
    operations: ClassVar[tuple[Operation[Any], ...]]

    def __init__(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        self.heads = ArrayHeads(config, reader, backend) if self.has_heads else None
        self._read(config, reader, backend)

    @abstractmethod
    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        """Take the weights of the recurrences."""

    @abstractmethod
    def features(self, x: FloatArray, layout: TreeLayout, nodes: IndexArray | None) -> FloatArray:
        """The features of the given nodes (positions in the layout's up order), None for all."""

    @property
    def all_operations(self) -> tuple[Operation[Any], ...]:
        """The operations of the recurrences and of the heads."""
        return self.operations if self.heads is None else (self.heads.operation, *self.operations)


def _pick(rows: FloatArray, nodes: IndexArray | None) -> FloatArray:
    return rows if nodes is None else rows[nodes]


def _read_bottom_up(
    config: ModelConfig, reader: WeightReader, backend: Backend, *, lexical: bool, peepholes: bool = True
) -> Step:
    name, hidden = "encoder.bottom_up.", config.hidden
    weights = BottomUpWeights(
        reader.take(f"{name}weight_x", (4 if lexical else 3) * hidden, config.word_size),
        reader.take(f"{name}weight_h", 5 * hidden, 2 * hidden),
        reader.take(f"{name}weight_c", 3 * hidden, 2 * hidden) if peepholes else None,
        reader.take(f"{name}peephole", hidden, hidden) if peepholes else None,
        reader.take(f"{name}bias", 5 * hidden),
    )
    return Step(BOTTOM_UP, weights, backend)


def _read_top_down(config: ModelConfig, reader: WeightReader, backend: Backend) -> Step:
    name, hidden, sides = "encoder.top_down.", config.hidden, 1 if config.share_topdown_inputs else 2
    weights = TopDownWeights(
        reader.take(f"{name}weight_x", sides, 4 * hidden, config.word_size),
        reader.take(f"{name}weight_h", 2, 4 * hidden, hidden),
        reader.take(f"{name}weight_c", 2, 2 * hidden, hidden),
        reader.take(f"{name}peephole", 2, hidden, hidden),
        reader.take(f"{name}bias", sides, 4 * hidden),
    )
    return Step(TOP_DOWN, weights, backend)


class _BottomUpArrays(ArrayEncoder):
    """A model whose features are the states of one recurrence from the words to the root."""

    num_states = 1
    operations = (BOTTOM_UP,)
    bottom_up: Step

    def features(self, x: FloatArray, layout: TreeLayout, nodes: IndexArray | None) -> FloatArray:
        return _pick(self.bottom_up(x, layout), nodes)


class _ConTree(_BottomUpArrays):
    peepholes: ClassVar[bool] = True

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        self.bottom_up = _read_bottom_up(
            config, reader, backend, lexical=self.has_heads, peepholes=self.peepholes
        )


class _NaryConTree(_ConTree):
    peepholes = False


class _ConTreeLex(_ConTree):
    has_heads = True


class _TopDownConTree(ArrayEncoder):
    num_states = 2
    has_heads = True
    operations = (TOP_DOWN,)

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        self.top_down = _read_top_down(config, reader, backend)
        self._gather = backend.on_arrays(GATHER_FEATURES)

    def features(self, x: FloatArray, layout: TreeLayout, nodes: IndexArray | None) -> FloatArray:
        return self._gather(self.top_down(x, layout), None, layout, nodes)


class _BiConTree(ArrayEncoder):
    num_states = 3
    has_heads = True
    operations = (BOTTOM_UP, TOP_DOWN)

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        self.bottom_up = _read_bottom_up(config, reader, backend, lexical=True)
        self.top_down = _read_top_down(config, reader, backend)
        self._gather = backend.on_arrays(GATHER_FEATURES)

    def features(self, x: FloatArray, layout: TreeLayout, nodes: IndexArray | None) -> FloatArray:
        return self._gather(self.top_down(x, layout), self.bottom_up(x, layout), layout, nodes)


class _BiLSTM(ArrayEncoder):
    num_states = 2
    operations = (SEQUENCES,)
    peepholes: ClassVar[bool] = True

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        self.hidden = config.hidden
        self.forwards, self.backwards = (
            Step(SEQUENCES, self._direction(config, reader, f"encoder.{name}."), backend)
            for name in ("forwards", "backwards")
        )

    def _direction(self, config: ModelConfig, reader: WeightReader, name: str) -> SequenceWeights:
        hidden = config.hidden
        return SequenceWeights(
            reader.take(f"{name}weight_x", 4 * hidden, config.word_size),
            reader.take(f"{name}weight_h", 4 * hidden, hidden),
            reader.take(f"{name}weight_c", 2 * hidden, hidden) if self.peepholes else None,
            reader.take(f"{name}peephole", hidden, hidden) if self.peepholes else None,
            reader.take(f"{name}bias", 4 * hidden),
        )

    def features(self, x: FloatArray, layout: TreeLayout, nodes: IndexArray | None) -> FloatArray:
        start, end = (each if nodes is None else each[nodes] for each in (layout.span_start, layout.span_end))
        # A phrase that several nodes have is read once.
        first, place = distinct_phrases(layout.word_index, start, end)
        schedules = [
            SpanSchedule.from_spans(start[first], end[first], backwards=back) for back in (False, True)
        ]
        num_places = sum(schedule.num_places for schedule in schedules)
        check_span_memory(num_places * STATES_KEPT * self.hidden * x.itemsize)
        forwards, backwards = schedules
        last = [self.forwards(x, forwards), self.backwards(x, backwards)]
        return np.concatenate(last, 1)[place]


class _PlainBiLSTM(_BiLSTM):
    peepholes = False


class _DepTree(_BottomUpArrays):
    tree_kind = "dependency"
    operations = (CHILD_SUM,)

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        name, hidden = "encoder.bottom_up.", config.hidden
        weights = ChildSumWeights(
            reader.take(f"{name}weight_x", 4 * hidden, config.word_size),
            reader.take(f"{name}weight_h", 4 * hidden, hidden),
            reader.take(f"{name}bias", 4 * hidden),
        )
        self.bottom_up = Step(CHILD_SUM, weights, backend)


class _GatedChildrenConTree(_BottomUpArrays):
    operations = (GATED_CHILDREN,)

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        hidden, word = config.hidden, config.word_size
        shapes = {
            "weight_x": (hidden, word),
            "x_bias": (hidden,),
            "own_x": (2 * hidden, word),
            "sister_x": (2 * hidden, word),
            "candidate_x": (2, hidden, word),
            "output_x": (2, hidden, word),
            "own_h": (2 * hidden, hidden),
            "sister_h": (2 * hidden, hidden),
            "own_c": (2 * hidden, hidden),
            "sister_c": (2 * hidden, hidden),
            "candidate": (2, hidden, hidden),
            "output": (hidden, 2 * hidden),
            "peephole": (hidden, hidden),
            "bias": (4 * hidden,),
        }
        weights = GatedChildrenWeights(
            *(reader.take(f"encoder.bottom_up.{name}", *shape) for name, shape in shapes.items())
        )
        self.bottom_up = Step(GATED_CHILDREN, weights, backend)


class _RNTN(_BottomUpArrays):
    operations = (TENSOR_NETWORK,)

    def _read(self, config: ModelConfig, reader: WeightReader, backend: Backend) -> None:
        name, hidden = "encoder.bottom_up.", config.hidden
        weights = TensorWeights(
            reader.take(f"{name}slices", hidden, 2 * hidden, 2 * hidden),
            reader.take(f"{name}matrix", hidden, 2 * hidden),
            reader.take(f"{name}bias", hidden),
        )
        self.bottom_up = Step(TENSOR_NETWORK, weights, backend)


ARRAY_ENCODERS: Mapping[str, type[ArrayEncoder]] = {
    "rntn": _RNTN,
    "bilstm-plain": _PlainBiLSTM,
    "bilstm": _BiLSTM,
    "deptree": _DepTree,
    "contree": _ConTree,
    "contree-nary": _NaryConTree,
    "contree-le": _GatedChildrenConTree,
    "topdown": _TopDownConTree,
    "contree-lex": _ConTreeLex,
    "bicontree": _BiConTree,
}
"""The models that run without torch: all built-in ones but those over a transformer."""

ARRAY_HEAD_METHODS: tuple[str, ...] = get_args(HeadMethod)
"""Their head methods, the default first."""


class ArrayScorer:
    """Scores the labels of a node from its features; see `LabelScorer`."""

    def __init__(
        self, config: ModelConfig, num_features: int, reader: WeightReader, backend: Backend
    ) -> None:
        output, num_labels = config.output, len(config.label_set.trained_ids)
        self._hidden = None
        if output:
            hidden = DenseWeights(
                reader.take("scorer.hidden_weight", output, num_features),
                reader.take("scorer.hidden_bias", output),
            )
            self._hidden = Step(DENSE, hidden, backend)
        labels = DenseWeights(
            reader.take("scorer.label_weight", num_labels, output or num_features),
            reader.take("scorer.label_bias", num_labels),
        )
        self._labels = Step(DENSE, labels, backend)

    def scores(self, features: FloatArray) -> FloatArray:  # [nodes, labels]
        """The score of each label."""
        if self._hidden is not None:
            features = self._hidden(features, True)
        return self._labels(features)
