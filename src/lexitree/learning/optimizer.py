"""Adam with weight decay, clipping and averaging, and with lazy updates of the rows of a table of word vectors."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from lexitree.learning.schedule import LexicalSettings, TrainingSettings
from lexitree.models.word_table import Lexicon
from lexitree.ops.openmp import one_thread
from lexitree.ops.operations import UPDATE_ROWS
from lexitree.ops.reference import reference_update_rows
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch

_torch: Any = torch
"""PyTorch's operations on many tensors at once have no public names."""

MAX_TOGETHER = 1 << 22
"""Larger weights are averaged one at a time."""


class WeightAverage:
    """A moving average of weights: at first the plain mean of all updates, later each counts for a fixed share.

    The average has tensors of its own and the weights stay where they are, so that a recorded step can update both.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], share: float) -> None:
        self.weights = dict(weights)
        self.share = share
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.groups = self._group()

    def _group(self) -> list[list[str]]:
        """The names of weights that are updated together: those of one dtype, but large ones one at a time.

        An update of several weights needs as much memory again for a moment.
        """
        groups: dict[object, list[str]] = {}
        for name, average in self.averages.items():
            key = name if average.numel() > MAX_TOGETHER else average.dtype
            groups.setdefault(key, []).append(name)
        return list(groups.values())

    @torch.no_grad()
    def update(self, num_updates: Tensor) -> None:
        """Add the weights as they are after `num_updates` updates; the number stays on its device."""
        share = num_updates.float().reciprocal_().clamp_min_(self.share)
        for names in self.groups:
            averages = [self.averages[name] for name in names]
            # Like `lerp`, but for many weights at once: on a GPU, each call costs more than its arithmetic.
            distances = _torch._foreach_sub([self.weights[name] for name in names], averages)
            _torch._foreach_mul_(distances, share.to(averages[0].dtype))
            _torch._foreach_add_(averages, distances)

    @contextmanager
    @torch.no_grad()
    def in_place(self) -> Generator[None]:
        """Lend the model the average; afterwards its weights are what they were."""
        kept = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self._write(self.averages)
        try:
            yield
        finally:
            self._write(kept)

    @torch.no_grad()
    def _write(self, values: Mapping[str, Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(values[name])


StateTensors = dict[str, Tensor]


class TrainedModel(Protocol):
    """A model on one device."""

    @property
    def device(self) -> torch.device: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


class LexicalModel(TrainedModel, Protocol):
    """A model whose word vectors belong to a lexicon."""

    @property
    def lexicon(self) -> Lexicon: ...


class WeightGroup(NamedTuple):
    """Weights that are updated alike."""

    rate: float
    decays: bool
    names: tuple[str, ...]


class Adam:
    """Adam by PyTorch's own functions, on all weights that require a gradient.

    Args:
        model: What is trained.
        config: The training settings.
        fused: Whether PyTorch's fused implementation is used; on a CPU it rounds differently from the plain one.
        lazy: A weight that is left out because a subclass updates it.
    """

    def __init__(
        self,
        model: TrainedModel,
        config: TrainingSettings,
        *,
        fused: bool = True,
        lazy: nn.Parameter | None = None,
    ) -> None:
        self.config = config
        self.fused = fused
        # On the model's device: a step that is recorded there and replayed must count on and follow the schedule.
        self.num_steps = torch.zeros((), dtype=torch.int64, device=model.device)
        self._rate_scale = 1.0
        self._scale = torch.ones((), dtype=torch.float64, device=model.device)
        trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.dense = {name: weight for name, weight in trained.items() if weight is not lazy}
        self.moments = {name: torch.zeros_like(weight) for name, weight in self.dense.items()}
        self.squares = {name: torch.zeros_like(weight) for name, weight in self.dense.items()}
        self.steps = {name: weight.new_zeros(()) for name, weight in self.dense.items()}
        self.groups = [WeightGroup(config.learning_rate, True, tuple(self.dense))]
        self.average = WeightAverage(trained, 1 - config.averaging) if config.averaging else None

    @property
    def rate_scale(self) -> float:
        """The share of the learning rate that the next update takes; the training loop sets it."""
        return self._rate_scale

    @rate_scale.setter
    def rate_scale(self, scale: float) -> None:
        if scale != self._rate_scale:
            self._rate_scale = scale
            self._scale.fill_(scale)

    def zero_grad(self) -> None:
        for weight in self.dense.values():
            weight.grad = None

    @torch.no_grad()
    def update(self, num_examples: int) -> None:
        """Update the weights by their gradients.

        Args:
            num_examples: The size of the batch; decoupled decay counts by example, whatever the batch size.
        """
        self._update_dense(num_examples)
        self._update_average()

    def _update_dense(self, num_examples: int) -> None:
        self.num_steps += 1
        if self.config.clip:
            nn.utils.clip_grad_norm_(list(self.dense.values()), self.config.clip)
        decay = self._decay(num_examples)
        for group in self.groups:
            self._step_group(group, decay if group.decays else 0.0)

    def _update_average(self) -> None:
        if self.average is not None:
            self.average.update(self.num_steps)

    def _decay(self, num_examples: int) -> float:
        """By how much a full step shrinks a weight or, with l2, the factor of the term."""
        config = self.config
        factors = {"decoupled": num_examples, "adamw": config.learning_rate, "l2": 1.0}
        return config.decay * factors[config.decay_kind]

    def _step_group(self, group: WeightGroup, decay: float) -> None:
        """Call PyTorch's function; its optimizer class would first import a compiler, for over a second."""
        config = self.config
        is_l2 = config.decay_kind == "l2"
        gradients = {name: grad for name in group.names if (grad := self.dense[name].grad) is not None}
        (adam if is_l2 else adamw)(
            [self.dense[name] for name in gradients],
            list(gradients.values()),
            [self.moments[name] for name in gradients],
            [self.squares[name] for name in gradients],
            [],
            [self.steps[name] for name in gradients],
            fused=self.fused,
            amsgrad=False,
            beta1=config.beta1,
            beta2=config.beta2,
            lr=self._rate(group),
            # AdamW multiplies the decay by the learning rate: only the share of the schedule is to stay.
            weight_decay=decay if is_l2 or not decay else decay / group.rate,
            eps=config.epsilon,
            maximize=False,
        )

    def _rate(self, group: WeightGroup) -> float | Tensor:
        """On a GPU a tensor, which a recorded step reads anew; there, PyTorch wants it in float32."""
        return (self._scale * group.rate).float() if self._scale.is_cuda else group.rate * self.rate_scale

    def state_tensors(self) -> StateTensors:
        """Everything needed to resume, by name."""
        tensors: StateTensors = {"num_steps": self.num_steps}
        for group, values in self._state_groups().items():
            tensors |= {f"{group}.{name}": value for name, value in values.items()}
        return tensors

    def load_state_tensors(self, tensors: StateTensors) -> None:
        """The inverse of `state_tensors`."""
        for name, value in self.state_tensors().items():
            value.copy_(tensors[name])

    def _state_groups(self) -> dict[str, StateTensors]:
        groups = {"moment": self.moments, "square": self.squares, "step": self.steps}
        return {**groups, "average": self.average.averages} if self.average else groups


class LazyAdam(Adam):
    """Adam as the authors run it: dense weights by PyTorch's own, word vectors by the rows of the batch.

    A word that is not in a batch keeps its vector and its moments; a dense step would move all of them.
    """

    def __init__(self, model: LexicalModel, config: LexicalSettings) -> None:
        self.lexical = config
        model.lexicon.choose_trained(words=config.train_words, encoder=config.encoder_rate > 0)
        self.table = model.lexicon.lazy_table if config.train_words else None
        super().__init__(model, config, lazy=self.table)
        self.betas = torch.tensor([config.beta1, config.beta2], dtype=torch.float64, device=model.device)
        self.row_moment = torch.zeros_like(self.table) if self.table is not None else None
        self.row_square = torch.zeros_like(self.table) if self.table is not None else None
        self.groups = self._group_by_rate(model.lexicon)

    def _group_by_rate(self, lexicon: Lexicon) -> list[WeightGroup]:
        """The dense weights by learning rate; those of a pretrained encoder have smaller ones, and do not decay."""
        config = self.lexical
        depths = {id(weight): depth for weight, depth in lexicon.pretrained_depths()}
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
        super().zero_grad()
        if self.table is not None:
            self.table.grad = None

    def step(self, batch: TreeBatch) -> None:
        """Update by the gradients of a batch of trees."""
        by_leaf = not len(batch.inner_word_index) and batch.pieces is None
        self.update(batch.num_trees, batch if by_leaf else None)

    @torch.no_grad()
    @one_thread()
    def update(self, num_examples: int, batch: TreeBatch | None = None) -> None:
        """Update the weights by their gradients.

        Args:
            num_examples: The size of the batch; see `Adam.update`.
            batch: Given where its leaves are the words that were looked up, one after the other.
        """
        self._update_dense(num_examples)
        if self.table is not None and self.table.grad is not None:
            self._step_rows(self.table, self.table.grad, batch, self._decay(num_examples))
        self._update_average()

    def _step_rows(self, table: Tensor, gradient: Tensor, batch: TreeBatch | None, decay: float) -> None:
        """Update the rows of the word table that the batch has."""
        assert self.row_moment is not None
        assert self.row_square is not None
        config = self.lexical
        is_l2 = config.decay_kind == "l2"
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
            self._scale,
            learning_rate=config.learning_rate * config.word_rate,
            epsilon=config.epsilon,
            shrink=0.0 if is_l2 else decay,
            l2=decay if is_l2 else 0.0,
        )

    def state_tensors(self) -> StateTensors:
        tensors = super().state_tensors()
        if self.row_moment is not None and self.row_square is not None:
            tensors["row_moment"], tensors["row_square"] = self.row_moment, self.row_square
        return tensors
