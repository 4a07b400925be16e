"""The cells of the models: each holds the weights of one operation and calls the implementation that runs.

To add a tree cell:

1. Describe its weights in `lexitree.ops.weights`, and write its equations as `reference_run_...` in
   `lexitree.ops.reference`. That is enough to train it; a level-wise implementation makes it fast.
2. List the operation and its implementations in `lexitree.ops.registry`.
3. Add a `Recurrence` here that owns the weights and names the operation.
4. Add an `Encoder` that uses it, in `lexitree.models.catalog`, and list that in `ENCODERS`. It can then be trained
   with `lexitree train --model NAME`.
5. Compare the implementations in `tests/ops`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.ops.registry import (
    BOTTOM_UP,
    CHILD_SUM,
    COMPOSE_HEADS,
    GATED_CHILDREN,
    SEQUENCES,
    TENSOR_NETWORK,
    TOP_DOWN,
    Backend,
    Operation,
)
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.threads import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    GatedChildrenWeights,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    TensorWeights,
    TopDownWeights,
)

BiasInit = Literal["uniform", "zero"]


def glorot_matrix(*shape: int, rows: int, columns: int) -> nn.Parameter:
    """Stacked matrices, each of `rows` x `columns`, drawn from U(+-sqrt(6 / (rows + columns)))."""
    return nn.Parameter(_uniform(shape, math.sqrt(6 / (rows + columns))))


def glorot_bias(*shape: int, rows: int, init: BiasInit) -> nn.Parameter:
    """Stacked biases of `rows` each: zero, or drawn like a matrix of one dimension as the authors' code does."""
    return nn.Parameter(_uniform(shape, math.sqrt(6 / rows) if init == "uniform" else 0.0))


def _uniform(shape: tuple[int, ...], scale: float) -> Tensor:
    values = torch.empty(*shape)
    # On the meta device there is nothing to draw, and drawing there would load torch's compiler, a second's work.
    return values if values.is_meta else values.uniform_(-1, 1).mul_(scale)


def _near_mean_of_children(hidden: int) -> Tensor:
    """A matrix for two children that starts near their mean: their sum would grow with the length of a phrase."""
    matrix = _uniform((hidden, 2 * hidden), 1 / (4 * math.sqrt(hidden)))
    return matrix if matrix.is_meta else matrix.add_(torch.eye(hidden).repeat(1, 2), alpha=0.5)


class Cell(nn.Module):
    """A module with the weights of one operation; the operation's implementations do the computing."""

    operation: ClassVar[Operation[Any]]


class HeadComposer(Cell):
    """Gives every phrase a head vector made of its words' vectors."""

    operation = COMPOSE_HEADS

    def __init__(self, word_size: int, method: HeadMethod, bias_init: BiasInit) -> None:
        super().__init__()
        self.method: HeadMethod = method
        self.gate = self.bias = None
        if method == "G":
            self.gate = glorot_matrix(word_size, 2 * word_size, rows=word_size, columns=word_size)
            self.bias = glorot_bias(word_size, rows=word_size, init=bias_init)

    @property
    def weights(self) -> HeadWeights | None:
        return HeadWeights(self.gate, self.bias) if self.gate is not None and self.bias is not None else None

    def forward(
        self, word_vectors: Float[Tensor, "leaves word"], batch: TreeBatch, backend: Backend
    ) -> Float[Tensor, "nodes word"]:
        return backend[COMPOSE_HEADS](word_vectors, self.weights, batch, self.method)


class Recurrence(Cell):
    """A cell that computes states from states; in training, weights between states may be dropped."""

    weight_dropout: float = 0.0
    """The share of weights that is dropped, anew at each update (Merity et al. 2018); set by the model."""

    def _thinned(self, weight: Tensor) -> Tensor:
        return nn.functional.dropout(weight, self.weight_dropout, self.training)


class BottomUpLSTM(Recurrence):
    """The tree LSTM of Zhu et al. (2015); `lexical` lets a word vector into every node, not the leaves only.

    Without `peepholes` it is the binary N-ary tree LSTM of Tai et al. (2015), whose gates do not see the cells.
    """

    operation = BOTTOM_UP

    def __init__(
        self, word_size: int, hidden: int, *, lexical: bool, peepholes: bool = True, bias_init: BiasInit
    ) -> None:
        super().__init__()
        self.weight_x = glorot_matrix(
            (4 if lexical else 3) * hidden, word_size, rows=hidden, columns=word_size
        )
        self.weight_h = glorot_matrix(5 * hidden, 2 * hidden, rows=hidden, columns=hidden)
        self.weight_c = self.peephole = None
        if peepholes:
            self.weight_c = glorot_matrix(3 * hidden, 2 * hidden, rows=hidden, columns=hidden)
            self.peephole = glorot_matrix(hidden, hidden, rows=hidden, columns=hidden)
        self.bias = glorot_bias(5 * hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> BottomUpWeights:
        return BottomUpWeights(
            self.weight_x, self._thinned(self.weight_h), self.weight_c, self.peephole, self.bias
        )

    def forward(
        self, x: Float[Tensor, "inputs word"], batch: TreeBatch, backend: Backend
    ) -> Float[Tensor, "nodes hidden"]:
        return backend[BOTTOM_UP](x, self.weights, batch)


class ChildSumLSTM(Recurrence):
    """The child-sum tree LSTM of Tai et al. (2015): a word at every node, any number of children."""

    operation = CHILD_SUM

    def __init__(self, word_size: int, hidden: int, *, bias_init: BiasInit) -> None:
        super().__init__()
        self.weight_x = glorot_matrix(4 * hidden, word_size, rows=hidden, columns=word_size)
        self.weight_h = glorot_matrix(4 * hidden, hidden, rows=hidden, columns=hidden)
        self.bias = glorot_bias(4 * hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> ChildSumWeights:
        return ChildSumWeights(self.weight_x, self._thinned(self.weight_h), self.bias)

    def forward(
        self, x: Float[Tensor, "nodes word"], batch: TreeBatch, backend: Backend
    ) -> Float[Tensor, "nodes hidden"]:
        return backend[CHILD_SUM](x, self.weights, batch)


class GatedChildrenLSTM(Recurrence):
    """The tree LSTM of Le and Zuidema (2015): an input gate and a forget gate for each child."""

    operation = GATED_CHILDREN

    def __init__(self, word_size: int, hidden: int, *, bias_init: BiasInit) -> None:
        super().__init__()

        def for_words(*shape: int) -> nn.Parameter:
            return glorot_matrix(*shape, word_size, rows=hidden, columns=word_size)

        def square(*shape: int) -> nn.Parameter:
            return glorot_matrix(*shape, rows=hidden, columns=hidden)

        self.weight_x = for_words(hidden)
        self.x_bias = glorot_bias(hidden, rows=hidden, init=bias_init)
        self.own_x, self.sister_x = for_words(2 * hidden), for_words(2 * hidden)
        self.candidate_x, self.output_x = for_words(2, hidden), for_words(2, hidden)
        self.own_h, self.sister_h = square(2 * hidden, hidden), square(2 * hidden, hidden)
        self.own_c, self.sister_c = square(2 * hidden, hidden), square(2 * hidden, hidden)
        self.candidate = square(2, hidden, hidden)
        self.output = square(hidden, 2 * hidden)
        self.peephole = square(hidden, hidden)
        self.bias = glorot_bias(4 * hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> GatedChildrenWeights:
        return GatedChildrenWeights(
            self.weight_x,
            self.x_bias,
            self.own_x,
            self.sister_x,
            self.candidate_x,
            self.output_x,
            self._thinned(self.own_h),
            self._thinned(self.sister_h),
            self.own_c,
            self.sister_c,
            self._thinned(self.candidate),
            self._thinned(self.output),
            self.peephole,
            self.bias,
        )

    def forward(
        self, x: Float[Tensor, "leaves word"], batch: TreeBatch, backend: Backend
    ) -> Float[Tensor, "nodes hidden"]:
        return backend[GATED_CHILDREN](x, self.weights, batch)


class TensorNetwork(Recurrence):
    """The recursive neural tensor network of Socher et al. (2013); words and phrases have vectors of one size."""

    operation = TENSOR_NETWORK

    def __init__(self, hidden: int, *, bias_init: BiasInit) -> None:
        super().__init__()
        self.matrix = nn.Parameter(_near_mean_of_children(hidden))
        # So small that the network starts as one without slices: 2d * 2d products add up in each number.
        self.slices = nn.Parameter(_uniform((hidden, 2 * hidden, 2 * hidden), 1 / (4 * hidden)))
        self.bias = glorot_bias(hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> TensorWeights:
        return TensorWeights(self._thinned(self.slices), self._thinned(self.matrix), self.bias)

    def forward(
        self, x: Float[Tensor, "leaves hidden"], batch: TreeBatch, backend: Backend
    ) -> Float[Tensor, "nodes hidden"]:
        return backend[TENSOR_NETWORK](x, self.weights, batch)


class TopDownLSTM(Recurrence):
    """The top-down tree LSTM: states flow from the root to the leaves, by other weights to each side."""

    operation = TOP_DOWN

    def __init__(self, word_size: int, hidden: int, *, share_inputs: bool, bias_init: BiasInit) -> None:
        super().__init__()
        sides = 1 if share_inputs else 2
        self.weight_x = glorot_matrix(sides, 4 * hidden, word_size, rows=hidden, columns=word_size)
        self.weight_h = glorot_matrix(2, 4 * hidden, hidden, rows=hidden, columns=hidden)
        self.weight_c = glorot_matrix(2, 2 * hidden, hidden, rows=hidden, columns=hidden)
        self.peephole = glorot_matrix(2, hidden, hidden, rows=hidden, columns=hidden)
        self.bias = glorot_bias(sides, 4 * hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> TopDownWeights:
        return TopDownWeights(
            self.weight_x, self._thinned(self.weight_h), self.weight_c, self.peephole, self.bias
        )

    def forward(
        self, x: Float[Tensor, "nodes word"], batch: TreeBatch, backend: Backend
    ) -> Float[Tensor, "nodes hidden"]:
        return backend[TOP_DOWN](x, self.weights, batch)


class SequenceLSTM(Recurrence):
    """One direction of the sequence LSTM with a separate forget gate and, if asked for, full peephole matrices."""

    operation = SEQUENCES

    def __init__(self, word_size: int, hidden: int, *, peepholes: bool = True, bias_init: BiasInit) -> None:
        super().__init__()
        self.weight_x = glorot_matrix(4 * hidden, word_size, rows=hidden, columns=word_size)
        self.weight_h = glorot_matrix(4 * hidden, hidden, rows=hidden, columns=hidden)
        self.weight_c = self.peephole = None
        if peepholes:
            self.weight_c = glorot_matrix(2 * hidden, hidden, rows=hidden, columns=hidden)
            self.peephole = glorot_matrix(hidden, hidden, rows=hidden, columns=hidden)
        self.bias = glorot_bias(4 * hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> SequenceWeights:
        return SequenceWeights(
            self.weight_x, self._thinned(self.weight_h), self.weight_c, self.peephole, self.bias
        )

    def forward(
        self, x: Float[Tensor, "leaves word"], schedule: SequenceSchedule, backend: Backend
    ) -> Float[Tensor, "spans hidden"]:
        return backend[SEQUENCES](x, self.weights, schedule)


class LabelScorer(nn.Module):
    """Scores the labels of a node from its features, by one hidden layer with ReLU, or none if `output` is 0."""

    def __init__(self, num_features: int, output: int, num_labels: int, *, bias_init: BiasInit) -> None:
        super().__init__()
        self.hidden_weight = self.hidden_bias = None
        if output:
            self.hidden_weight = glorot_matrix(output, num_features, rows=output, columns=num_features)
            self.hidden_bias = glorot_bias(output, rows=output, init=bias_init)
        size = output or num_features
        self.label_weight = glorot_matrix(num_labels, size, rows=num_labels, columns=size)
        self.label_bias = glorot_bias(num_labels, rows=num_labels, init=bias_init)

    @one_thread()
    def forward(self, features: Float[Tensor, "nodes features"]) -> Float[Tensor, "nodes labels"]:
        if self.hidden_weight is not None and self.hidden_bias is not None:
            features = torch.addmm(self.hidden_bias, features, self.hidden_weight.t()).relu()
        return torch.addmm(self.label_bias, features, self.label_weight.t())
