"""The cells of other papers: the child-sum tree LSTM, the one with gated children, and the tensor network."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.models.cells import Recurrence, glorot_bias, glorot_matrix, not_compiled, uniform
from lexitree.models.model_config import BiasInit
from lexitree.ops.operations import CHILD_SUM, GATED_CHILDREN, TENSOR_NETWORK
from lexitree.ops.registry import Backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import ChildSumWeights, GatedChildrenWeights, TensorWeights


class ChildSumLSTM(Recurrence):
    """The child-sum tree LSTM of Tai et al. (2015), for any number of children and a vector at every node.

    Dependency trees have a word at every node. The order of the children does not count.

    Args:
        word_size: Size of the vectors x.
        hidden: Size of the states.
        bias_init: Initial biases: `uniform` as in the authors' code, or `zero`.
    """

    operation = CHILD_SUM
    reads_binary = False

    def __init__(self, word_size: int, hidden: int, *, bias_init: BiasInit = "uniform") -> None:
        super().__init__()
        self.weight_x = glorot_matrix(4 * hidden, word_size, rows=hidden, columns=word_size)
        self.weight_h = glorot_matrix(4 * hidden, hidden, rows=hidden, columns=hidden)
        self.bias = glorot_bias(4 * hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> ChildSumWeights:
        return ChildSumWeights(self.weight_x, self.thinned(self.weight_h), self.bias)

    @not_compiled
    def forward(
        self, x: Float[Tensor, "nodes word"], batch: TreeBatch, backend: Backend | None = None
    ) -> Float[Tensor, "nodes hidden"]:
        """The state h of every node, in the batch's up order."""
        self.check_input(x, batch.num_nodes, self.weight_x.shape[-1], batch)
        return self.chosen(backend, x)[CHILD_SUM](x, self.weights, batch)


class GatedChildrenLSTM(Recurrence):
    """The tree LSTM of Le and Zuidema (2015) over binary trees: an input gate and a forget gate for each child.

    Args:
        word_size: Size of the vectors x.
        hidden: Size of the states.
        bias_init: Initial biases: `uniform` as in the authors' code, or `zero`.
    """

    operation = GATED_CHILDREN

    def __init__(self, word_size: int, hidden: int, *, bias_init: BiasInit = "uniform") -> None:
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
            self.thinned(self.own_h),
            self.thinned(self.sister_h),
            self.own_c,
            self.sister_c,
            self.thinned(self.candidate),
            self.thinned(self.output),
            self.peephole,
            self.bias,
        )

    @not_compiled
    def forward(
        self, x: Float[Tensor, "leaves word"], batch: TreeBatch, backend: Backend | None = None
    ) -> Float[Tensor, "nodes hidden"]:
        """The state h of every node, in the batch's up order."""
        self.check_input(x, batch.num_leaves, self.weight_x.shape[-1], batch)
        return self.chosen(backend, x)[GATED_CHILDREN](x, self.weights, batch)


class TensorNetwork(Recurrence):
    """The recursive neural tensor network of Socher et al. (2013) over binary trees.

    Args:
        hidden: Size of the vectors of words and of phrases.
        bias_init: Initial biases: `uniform` as in the authors' code, or `zero`.
    """

    operation = TENSOR_NETWORK

    def __init__(self, hidden: int, *, bias_init: BiasInit = "uniform") -> None:
        super().__init__()
        self.matrix = nn.Parameter(_near_mean_of_children(hidden))
        # So small that the network starts as one without slices: 2d * 2d products add up in each number.
        self.slices = nn.Parameter(uniform((hidden, 2 * hidden, 2 * hidden), 1 / (4 * hidden)))
        self.bias = glorot_bias(hidden, rows=hidden, init=bias_init)

    @property
    def weights(self) -> TensorWeights:
        return TensorWeights(self.thinned(self.slices), self.thinned(self.matrix), self.bias)

    @not_compiled
    def forward(
        self, x: Float[Tensor, "leaves hidden"], batch: TreeBatch, backend: Backend | None = None
    ) -> Float[Tensor, "nodes hidden"]:
        """The vector of every node, in the batch's up order."""
        self.check_input(x, batch.num_leaves, len(self.matrix), batch)
        return self.chosen(backend, x)[TENSOR_NETWORK](x, self.weights, batch)


def _near_mean_of_children(hidden: int) -> Tensor:
    """A matrix for two children that starts near their mean: their sum would grow with the length of a phrase."""
    matrix = uniform((hidden, 2 * hidden), 1 / (4 * math.sqrt(hidden)))
    return matrix if matrix.is_meta else matrix.add_(torch.eye(hidden).repeat(1, 2), alpha=0.5)
