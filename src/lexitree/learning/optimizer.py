"""Gradients in, updated weights out: Adam with decoupled decay, and lazy rows for the table of word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from lexitree.learning.averaging import WeightAverage
from lexitree.models.word_table import Lexicon
from lexitree.ops.reference import reference_update_rows
from lexitree.ops.registry import UPDATE_ROWS, get_backend
from lexitree.ops.threads import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.tasks.classify.config import TrainingConfig

StateTensors = dict[str, Tensor]


class LexicalModel(Protocol):
    """What is trained: weights, of which the word vectors are a lexicon's."""

    @property
    def device(self) -> torch.device: ...

    @property
    def lexicon(self) -> Lexicon: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


class WeightGroup(NamedTuple):
    """Weights that are updated alike."""

    rate: float
    decays: bool
    names: tuple[str, ...]


def rate_scale(config: TrainingConfig, number: int, num_updates: int) -> float:
    """The share of its step size that an update takes; updates are numbered from 1."""
    num_rising = round(config.warm_up * num_updates)
    if number <= num_rising:
        return number / num_rising
    if config.schedule == "constant":
        return 1.0
    # The last update still takes a step.
    return max(0, num_updates + 1 - number) / max(1, num_updates + 1 - num_rising)


class LazyAdam:
    """Adam as the authors run it: dense weights by PyTorch's own, word vectors by the rows of the batch.

    A word that is not in a batch keeps its vector and its moments; a dense step would move all of them.
    """

    def __init__(self, model: LexicalModel, config: TrainingConfig, num_updates: int = 0) -> None:
        self.config = config
        self.num_updates = num_updates
        """How many updates there will be: where the schedule ends."""
        self.num_done = 0
        """How many there were, on the host; only a schedule asks for it."""
        # On the model's device: a step that is recorded there and replayed must count on.
        self.num_steps = torch.zeros((), dtype=torch.int64, device=model.device)
        self.betas = torch.tensor([config.beta1, config.beta2], dtype=torch.float64, device=model.device)
        model.lexicon.choose_trained(words=config.train_words, encoder=config.encoder_rate > 0)
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
        self.groups = self._group_by_rate(model)
        trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.average = WeightAverage(trained, 1 - config.averaging) if config.averaging else None

    def _group_by_rate(self, model: LexicalModel) -> list[WeightGroup]:
        """The dense weights by step size; those of a pretrained encoder have smaller ones, and do not decay."""
        config = self.config
        depths = {id(weight): depth for weight, depth in model.lexicon.pretrained_depths()}
        names: dict[tuple[float, bool], list[str]] = {}
        for name, weight in self.dense.items():
            depth = depths.get(id(weight))
            if depth is None:
                names.setdefault((config.learning_rate, True), []).append(name)
            else:
                rate = config.encoder_rate * config.layer_decay**depth
                names.setdefault((rate, False), []).append(name)
        return [WeightGroup(rate, decays, tuple(group)) for (rate, decays), group in names.items()]

    def zero_grad(self) -> None:
        for weight in self.dense.values():
            weight.grad = None
        if self.table is not None:
            self.table.grad = None

    def step(self, batch: TreeBatch) -> None:
        """Update by the gradients of a batch of trees."""
        by_leaf = not len(batch.inner_word_index) and batch.pieces is None
        self.update(batch.num_trees, batch if by_leaf else None)

    @torch.no_grad()
    @one_thread()
    def update(self, num_sentences: int, batch: TreeBatch | None = None) -> None:
        """Update by the gradients; decay is counted by sentence, so any number of them decays alike.

        `batch` is given where its leaves are the words that were looked up, one after the other.
        """
        self.num_steps += 1
        self.num_done += 1
        config = self.config
        scale = rate_scale(config, self.num_done, self.num_updates)
        if config.clip:
            nn.utils.clip_grad_norm_(self.dense.values(), config.clip)
        decay = config.decay * num_sentences if config.decay_kind == "decoupled" else config.decay
        for group in self.groups:
            self._step_group(group, scale, decay if group.decays else 0.0)
        if self.table is not None and self.table.grad is not None:
            self._step_rows(self.table, self.table.grad, batch, scale, decay)
        if self.average is not None:
            self.average.update(self.num_steps)

    def _step_group(self, group: WeightGroup, scale: float, decay: float) -> None:
        """PyTorch's own function; its optimizer class would first import a compiler, for over a second."""
        config = self.config
        decoupled = config.decay_kind == "decoupled"
        rate = group.rate * scale
        gradients = {name: grad for name in group.names if (grad := self.dense[name].grad) is not None}
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
            lr=rate,
            # AdamW multiplies the decay by the learning rate, which the authors' code does not; by a schedule it may.
            weight_decay=decay / group.rate if decoupled and decay else decay,
            eps=config.epsilon,
            maximize=False,
        )

    def _step_rows(
        self, table: Tensor, gradient: Tensor, batch: TreeBatch | None, scale: float, decay: float
    ) -> None:
        """Update the rows of the word table that the batch has."""
        assert self.row_moment is not None
        assert self.row_square is not None
        config = self.config
        decoupled = config.decay_kind == "decoupled"
        # The kernel finds the rows by the leaves of the batch.
        update_rows = reference_update_rows
        if batch is not None:
            update_rows = get_backend("auto", table.device, table.dtype)[UPDATE_ROWS]
        update_rows(
            table.data,
            self.row_moment,
            self.row_square,
            gradient,
            batch,
            self.betas,
            self.num_steps,
            learning_rate=scale * config.learning_rate * config.word_rate,
            epsilon=config.epsilon,
            shrink=decay * scale if decoupled else 0.0,
            l2=0.0 if decoupled else decay,
        )

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
        self.num_done = int(self.num_steps)
        for group, values in self._groups().items():
            for name, value in values.items():
                value.copy_(tensors[f"{group}.{name}"])
        if self.row_moment is not None and self.row_square is not None:
            self.row_moment.copy_(tensors["row_moment"])
            self.row_square.copy_(tensors["row_square"])

    def _groups(self) -> dict[str, StateTensors]:
        groups = {"moment": self.moments, "square": self.squares, "step": self.steps}
        return {**groups, "average": self.average.averages} if self.average else groups
