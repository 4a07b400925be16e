"""Gradients in, updated weights out: Adam with decoupled decay, and lazy rows for the table of word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from lexitree.batch import TreeBatch
from lexitree.learning.averaging import WeightAverage
from lexitree.lexicon.table import Lexicon
from lexitree.ops.backends import why_not_fused
from lexitree.ops.threads import one_thread
from lexitree.training.config import TrainingConfig

StateTensors = dict[str, Tensor]


class LexicalModel(Protocol):
    """What is trained: weights, of which the word vectors are a lexicon's."""

    @property
    def device(self) -> torch.device: ...

    @property
    def lexicon(self) -> Lexicon: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


class LazyAdam:
    """Adam as the authors run it: dense weights by PyTorch's own, word vectors by the rows of the batch.

    A word that is not in a batch keeps its vector and its moments; a dense step would move all of them.
    """

    def __init__(self, model: LexicalModel, config: TrainingConfig) -> None:
        self.config = config
        # On the model's device: a step that is recorded there and replayed must count on.
        self.num_steps = torch.zeros((), dtype=torch.int64, device=model.device)
        self.betas = torch.tensor([config.beta1, config.beta2], dtype=torch.float64, device=model.device)
        model.lexicon.requires_grad_(config.train_words)
        self.table = model.lexicon.lazy_table if config.train_words else None
        self.row_moment = torch.zeros_like(self.table) if self.table is not None else None
        self.row_square = torch.zeros_like(self.table) if self.table is not None else None
        self.dense: dict[str, nn.Parameter] = {
            name: weight
            for name, weight in model.named_parameters()
            if weight.requires_grad and weight is not self.table
        }
        self.moments = {name: torch.zeros_like(weight) for name, weight in self.dense.items()}
        self.squares = {name: torch.zeros_like(weight) for name, weight in self.dense.items()}
        self.steps = {name: weight.new_zeros(()) for name, weight in self.dense.items()}
        trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.average = WeightAverage(trained, 1 - config.averaging) if config.averaging else None

    def zero_grad(self) -> None:
        for weight in self.dense.values():
            weight.grad = None
        if self.table is not None:
            self.table.grad = None

    def step(self, batch: TreeBatch) -> None:
        """Update by the gradients of a batch of trees."""
        # The kernel goes by the words of the leaves.
        self.update(batch.num_trees, None if len(batch.inner_word_index) else batch)

    @torch.no_grad()
    @one_thread()
    def update(self, num_sentences: int, batch: TreeBatch | None = None) -> None:
        """Update by the gradients; decay is counted by sentence, so any number of them decays alike.

        `batch` is given where its leaves are the words that were looked up, one after the other.
        """
        self.num_steps += 1
        config = self.config
        decay = config.decay * num_sentences if config.decay_kind == "decoupled" else config.decay
        self._step_dense(decay)
        if self.table is not None and self.table.grad is not None:
            can_fuse = self.table.is_cuda and why_not_fused("cuda", self.table.dtype) is None
            if can_fuse and batch is not None:
                self._step_rows_fused(self.table, self.table.grad, batch, decay)
            else:
                self._step_rows(self.table, self.table.grad, decay)
        if self.average is not None:
            self.average.update(self.num_steps)

    def _step_dense(self, decay: float) -> None:
        """PyTorch's own function; its optimizer class would first import a compiler, for over a second."""
        config = self.config
        decoupled = config.decay_kind == "decoupled"
        gradients = {name: weight.grad for name, weight in self.dense.items() if weight.grad is not None}
        (adamw if decoupled else adam)(
            [self.dense[name] for name in gradients],
            list(gradients.values()),
            [self.moments[name] for name in gradients],
            [self.squares[name] for name in gradients],
            [],
            [self.steps[name] for name in gradients],
            fused=True,
            amsgrad=False,
            beta1=config.beta1,
            beta2=config.beta2,
            lr=config.learning_rate,
            # AdamW multiplies the decay by the learning rate, which the authors' code does not.
            weight_decay=decay / config.learning_rate if decoupled else decay,
            eps=config.epsilon,
            maximize=False,
        )

    def _step_rows_fused(self, table: Tensor, gradient: Tensor, batch: TreeBatch, decay: float) -> None:
        from lexitree.ops.fused.rows import fused_update_rows

        assert self.row_moment is not None
        assert self.row_square is not None
        decoupled = self.config.decay_kind == "decoupled"
        fused_update_rows(
            table.data,
            self.row_moment,
            self.row_square,
            # As the backward pass left it: one row a leaf, words not yet added up.
            gradient._values(),
            batch,
            self.betas,
            self.num_steps,
            learning_rate=self.config.learning_rate * self.config.word_rate,
            epsilon=self.config.epsilon,
            shrink=decay if decoupled else 0.0,
            l2=0.0 if decoupled else decay,
        )

    def _step_rows(self, table: Tensor, gradient: Tensor, decay: float) -> None:
        moments, squares = self.row_moment, self.row_square
        assert moments is not None
        assert squares is not None
        gradient = gradient.coalesce()
        rows, values = gradient.indices()[0], gradient.values()
        config = self.config
        vectors = table.index_select(0, rows)
        if config.decay_kind == "l2":
            values = values + decay * vectors
        else:
            vectors.mul_(1 - decay)
        moment = moments.index_select(0, rows).lerp_(values, 1 - config.beta1)
        square = (
            squares.index_select(0, rows).mul_(config.beta2).addcmul_(values, values, value=1 - config.beta2)
        )
        moments.index_copy_(0, rows, moment)
        squares.index_copy_(0, rows, square)
        num_steps = int(self.num_steps)
        step_size = config.learning_rate * config.word_rate / (1 - config.beta1**num_steps)
        scale = (square / (1 - config.beta2**num_steps)).sqrt_().add_(config.epsilon)
        table.data.index_copy_(0, rows, vectors.addcdiv_(moment, scale, value=-step_size))

    def state_tensors(self) -> StateTensors:
        """All that is needed to go on, by name."""
        tensors: StateTensors = {"num_steps": self.num_steps}
        for group, values in self._groups().items():
            tensors |= {f"{group}.{name}": value for name, value in values.items()}
        if self.row_moment is not None and self.row_square is not None:
            tensors["row_moment"], tensors["row_square"] = self.row_moment, self.row_square
        return tensors

    def load_state_tensors(self, tensors: StateTensors) -> None:
        """The inverse of `state_tensors`."""
        self.num_steps.copy_(tensors["num_steps"])
        for group, values in self._groups().items():
            for name, value in values.items():
                value.copy_(tensors[f"{group}.{name}"])
        if self.row_moment is not None and self.row_square is not None:
            self.row_moment.copy_(tensors["row_moment"])
            self.row_square.copy_(tensors["row_square"])

    def _groups(self) -> dict[str, StateTensors]:
        groups = {"moment": self.moments, "square": self.squares, "step": self.steps}
        return {**groups, "average": self.average.averages} if self.average else groups
