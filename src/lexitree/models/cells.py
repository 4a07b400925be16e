"""The recurrences as modules: each owns its weights, knows one recurrence, and leaves the running to a backend."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.ops.registry import Backend
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


class HeadComposer(nn.Module):
    """Gives every phrase a head vector made of its words' vectors."""

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
        return backend.compose_heads(word_vectors, self.weights, batch, self.method)


class Recurrence(nn.Module):
    """What computes states from states; in training, part of the weights between them may be left out."""

    weight_dropout: float = 0.0
    """The share that is left out, other weights at each update (Merity et al. 2018); the encoder's owner sets it."""

    def _thinned(self, weight: Tensor) -> Tensor:
        return nn.functional.dropout(weight, self.weight_dropout, self.training)


class BottomUpLSTM(Recurrence):
    """The tree LSTM of Zhu et al. (2015); `lexical` lets a word vector into every node, not the leaves only.

    Without `peepholes` it is the binary N-ary tree LSTM of Tai et al. (2015), whose gates do not see the cells.
    """

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
        return backend.run_bottom_up(x, self.weights, batch)


class ChildSumLSTM(Recurrence):
    """The child-sum tree LSTM of Tai et al. (2015): a word at every node, any number of children."""

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
        return backend.run_child_sum(x, self.weights, batch)


class GatedChildrenLSTM(Recurrence):
    """The tree LSTM of Le and Zuidema (2015): an input gate and a forget gate for each child."""

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
        return backend.run_gated_children(x, self.weights, batch)


class TensorNetwork(Recurrence):
    """The recursive neural tensor network of Socher et al. (2013); words and phrases have vectors of one size."""

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
        return backend.run_tensor_network(x, self.weights, batch)


class TopDownLSTM(Recurrence):
    """The top-down tree LSTM: states flow from the root to the leaves, by other weights to each side."""

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
        return backend.run_top_down(x, self.weights, batch)


class SequenceLSTM(Recurrence):
    """One direction of the sequence LSTM with a separate forget gate and, if asked for, full peephole matrices."""

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
        return backend.run_sequences(x, self.weights, schedule)


class LabelScorer(nn.Module):
    """Features of a node in, a score for every label out: one hidden layer with ReLU, or none if `output` is 0."""

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
