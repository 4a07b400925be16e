"""The cells of the models: each holds the weights of one operation and calls the implementation that runs.

To add a tree cell:

1. Describe its weights in `lexitree.ops.weights`, and write its equations as `reference_run_...` in
   `lexitree.ops.reference`. That is enough to train it; a level-wise implementation makes it fast.
2. List the operation and its implementations in `lexitree.ops.operations`.
3. Add a `Recurrence` here, or in `lexitree.models.other_cells`, that owns the weights and names the operation.
4. Add an `Encoder` that uses it, in `lexitree.models.catalog`, and list it in `lexitree.models.registries`.
   It can then be trained with `lexitree train --model NAME`.
5. Compare the implementations in `tests/ops`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.errors import SizeError, TreeError
from lexitree.models.model_config import BiasInit
from lexitree.ops.openmp import one_thread
from lexitree.ops.operations import BOTTOM_UP, SEQUENCES, TOP_DOWN
from lexitree.ops.registry import Backend, Operation, get_backend
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    BottomUpWeights,
    SequenceWeights,
    TopDownWeights,
)


def glorot_matrix(*shape: int, rows: int, columns: int) -> nn.Parameter:
    """Stacked matrices, each of `rows` x `columns`, drawn from U(+-sqrt(6 / (rows + columns)))."""
    return nn.Parameter(uniform(shape, math.sqrt(6 / (rows + columns))))


def glorot_bias(*shape: int, rows: int, init: BiasInit) -> nn.Parameter:
    """Stacked biases of `rows` each: zero, or drawn like a matrix of one dimension as the authors' code does."""
    return nn.Parameter(uniform(shape, math.sqrt(6 / rows) if init == "uniform" else 0.0))


def uniform(shape: tuple[int, ...], scale: float) -> Tensor:
    """Numbers between -scale and scale."""
    values = torch.empty(*shape)
    # On the meta device there is nothing to draw, and drawing there would load torch's compiler, a second's work.
    return values if values.is_meta else values.uniform_(-1, 1).mul_(scale)


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def not_compiled(forward: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let `torch.compile` leave a method alone, and compile what stands before and after it.

    It has nothing to gain: levels differ from batch to batch, and recurrences write into buffers it cannot follow.
    """

    @functools.wraps(forward)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        if torch.compiler.is_compiling():
            # Not as a decorator, which would import the compiler, a second's work.
            left_alone = cast(Callable[Arguments, Result], torch.compiler.disable(forward))
            return left_alone(*arguments, **options)
        return forward(*arguments, **options)

    return run


class Cell(nn.Module):
    """A module with the weights of one operation; the operation's implementations do the computing."""

    operation: ClassVar[Operation[Any]]
    reads_binary: ClassVar[bool] = True
    """Whether every phrase must have two parts."""

    @property
    def own_operation(self) -> Operation[Any]:
        """What it runs: the operation of its class, unless its settings ask for another."""
        return self.operation

    def chosen(self, backend: Backend | None, x: Tensor) -> Backend:
        """The backend that was asked for, or the fastest one where x is."""
        if backend is not None:
            return backend
        dtype = next((weight.dtype for weight in self.parameters()), x.dtype)
        return get_backend("auto", x.device, dtype, training=torch.is_grad_enabled())

    def check_input(self, x: Tensor, num_rows: int, word_size: int, batch: TreeBatch) -> None:
        """Refuse vectors and trees that do not belong together: some of them would run and give nonsense.

        Args:
            x: The vectors.
            num_rows: How many of them the trees need.
            word_size: The size of each.
            batch: The trees.

        Raises:
            TreeError: The trees are not binary.
            SizeError: x does not have a row for each node that it should have one for, or its rows have another size.
        """
        name = type(self).__name__
        if self.reads_binary and not batch.is_binary:
            raise TreeError(
                f"{name} reads binary trees", remedy="Make them binary: lexitree.to_binary(tree).tree"
            )
        check_columns(name, x, word_size)
        if len(x) != num_rows:
            what = "leaves" if num_rows == batch.num_leaves else "nodes"
            raise SizeError(f"{name} needs {num_rows:,} rows, one for each of the {what}, not {len(x):,}")


def check_columns(name: str, x: Tensor, word_size: int) -> None:
    """Refuse vectors of another size than that of the weights.

    Raises:
        SizeError: x is not a matrix, or its rows do not have the size.
    """
    if x.ndim != 2:
        raise SizeError(
            f"{name} needs one row of {word_size:,} numbers for each word or node, and x has the shape"
            f" {list(x.shape)}",
            remedy="Put the vectors of all trees below each other, in a tensor of two dimensions.",
        )
    if x.shape[1] != word_size:
        raise SizeError(
            f"{name} was made for vectors of {word_size:,} numbers, and x has rows of {x.shape[1]:,}",
            remedy=f"Give vectors of {word_size:,} numbers, or make the module with this word_size.",
        )


class Recurrence(Cell):
    """A cell that computes states from states; in training, weights between states may be dropped."""

    weight_dropout: float = 0.0
    """The share of weights that is dropped, anew at each update (Merity et al. 2018); set by the model."""

    def thinned(self, weight: Tensor) -> Tensor:
        """A weight between states, of which some numbers are dropped in training."""
        return nn.functional.dropout(weight, self.weight_dropout, self.training)


class BottomUpLSTM(Recurrence):
    """The tree LSTM of Zhu et al. (2015), from the leaves of binary trees to their roots.

    Args:
        word_size: Size of the vectors x.
        hidden: Size of the states.
        lexical: Whether every node has a vector, such as its head vector, and not the leaves only.
        peepholes: Whether the gates see the cells. Without, it is the binary N-ary tree LSTM of Tai et al. (2015).
        bias_init: Initial biases: `uniform` as in the authors' code, or `zero`.
    """

    operation = BOTTOM_UP

    def __init__(
        self,
        word_size: int,
        hidden: int,
        *,
        lexical: bool = False,
        peepholes: bool = True,
        bias_init: BiasInit = "uniform",
    ) -> None:
        super().__init__()
        self.is_lexical = lexical
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
            self.weight_x, self.thinned(self.weight_h), self.weight_c, self.peephole, self.bias
        )

    @not_compiled
    def forward(
        self, x: Float[Tensor, "inputs word"], batch: TreeBatch, backend: Backend | None = None
    ) -> Float[Tensor, "nodes hidden"]:
        """The state h of every node, in the batch's up order."""
        num_rows = batch.num_nodes if self.is_lexical else batch.num_leaves
        self.check_input(x, num_rows, self.weight_x.shape[-1], batch)
        return self.chosen(backend, x)[BOTTOM_UP](x, self.weights, batch)


class TopDownLSTM(Recurrence):
    """The paper's top-down tree LSTM: states flow from the roots of binary trees to their leaves.

    Left and right children have weights of their own.

    Args:
        word_size: Size of the vectors x.
        hidden: Size of the states.
        share_inputs: Whether both sides share the weights of x, as the paper's parameter counts say.
        bias_init: Initial biases: `uniform` as in the authors' code, or `zero`.
    """

    operation = TOP_DOWN

    def __init__(
        self, word_size: int, hidden: int, *, share_inputs: bool = True, bias_init: BiasInit = "uniform"
    ) -> None:
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
            self.weight_x, self.thinned(self.weight_h), self.weight_c, self.peephole, self.bias
        )

    @not_compiled
    def forward(
        self, x: Float[Tensor, "nodes word"], batch: TreeBatch, backend: Backend | None = None
    ) -> Float[Tensor, "nodes hidden"]:
        """The state h of every node, in the batch's up order."""
        self.check_input(x, batch.num_nodes, self.weight_x.shape[-1], batch)
        return self.chosen(backend, x)[TOP_DOWN](x, self.weights, batch)


class SequenceLSTM(Recurrence):
    """One direction of a sequence LSTM over spans of words, such as the words of each phrase.

    Args:
        word_size: Size of the vectors x.
        hidden: Size of the states.
        peepholes: Whether the gates see the cells, by full matrices.
        bias_init: Initial biases: `uniform` as in the authors' code, or `zero`.
    """

    operation = SEQUENCES

    def __init__(
        self, word_size: int, hidden: int, *, peepholes: bool = True, bias_init: BiasInit = "uniform"
    ) -> None:
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
            self.weight_x, self.thinned(self.weight_h), self.weight_c, self.peephole, self.bias
        )

    @not_compiled
    def forward(
        self, x: Float[Tensor, "leaves word"], schedule: SequenceSchedule, backend: Backend | None = None
    ) -> Float[Tensor, "spans hidden"]:
        """The state after the last word of each span of the schedule."""
        check_columns(type(self).__name__, x, self.weight_x.shape[-1])
        return self.chosen(backend, x)[SEQUENCES](x, self.weights, schedule)


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
