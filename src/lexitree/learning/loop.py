"""The training loop of all tasks: epochs, evaluation, the best epoch, checkpoints and resuming.

A task brings its data, model, update and score (see `Task`). The rest is the same for sentence models, parsers and
rerankers, by these rules:

- **Randomness.** Everything random in an epoch follows from the seed and the number of the epoch. A run that is
  killed and resumed from the checkpoint of its last whole epoch ends with the same weights, bit by bit on a CPU.
- **Learning rate.** The warm-up is a share of all updates of the run, and so is the place on the schedule. Where the
  number of batches differs between epochs, updates are counted as if every epoch had as many as the current one.
- **Best epoch.** The epoch with the highest score is kept; ties go to the later epoch, as in the paper. Without
  development data the score is None, and the last epoch is kept.
- **Patience.** The run stops after `patience` epochs in which the highest score has not been exceeded; without
  development data it never does.
- **Time limit.** With `minutes`, no epoch begins that would end later; one epoch is always run, so that a run that
  is resumed again and again comes to its end.
- **Averaging.** Where weights are averaged, the average is what is evaluated, saved and left in the model.
- **Checkpoint.** It holds the weights that are trained, after every epoch; fixed word vectors are not in it. It also
  holds the task's fingerprint: the settings that change results (the number of epochs only if the learning rate
  depends on it) and checksums of the data and of the initial word vectors. A run is resumed only if all agree.
- **Several processes.** Each of them runs this loop, with the same seed and so with the same batches; a task's update
  takes its share of a batch (`lexitree.learning.distributed`). The first process scores, writes and reports.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from lexitree.errors import CheckpointError, NotFiniteError, TrainingDivergedError
from lexitree.learning.checkpoint import (
    CHECKPOINT_FILE,
    Checkpoint,
    checksum_arrays,
    compare_fingerprints,
    load_checkpoint,
    save_checkpoint,
)
from lexitree.learning.distributed import OneProcess
from lexitree.learning.observers import METRICS_FILE, BatchProgress, EpochRecord, Observer, SilentObserver
from lexitree.learning.optimizer import Adam
from lexitree.learning.schedule import TrainingSettings, rate_scale
from lexitree.writing import atomic_write

SECONDS_BETWEEN_READS = 0.25
"""Reading a loss makes a GPU wait, so it is done only now and then."""

UPDATES_BETWEEN_READS = 10
"""The same where several processes train together, whose clocks differ."""

_NO_SCORE = -1.0
"""What an epoch without a score counts as: less than any score."""

Batch = TypeVar("Batch")


class BatchSize(NamedTuple):
    """How much an update was about."""

    num_examples: int
    num_terms: int
    """What the loss is a sum over: examples, or their words."""


@dataclass(frozen=True, slots=True)
class EpochBatches(Generic[Batch]):
    """The batches of one epoch, in their order; they may be made one at a time."""

    num_examples: int
    num_batches: int
    batches: Iterable[Batch]


class Task(Protocol[Batch]):
    """What a training run is about."""

    @property
    def config(self) -> TrainingSettings: ...

    @property
    def model(self) -> nn.Module: ...

    @property
    def optimizer(self) -> Adam: ...

    @property
    def losses(self) -> Tensor:
        """The sum of the losses of all updates since it was last set to zero, on the model's device."""
        ...

    @property
    def score_name(self) -> str:
        """The score by which epochs are compared."""
        ...

    def fingerprint(self) -> Mapping[str, Any]:
        """What must be the same for a run to be resumed."""
        ...

    def batches(self, rng: np.random.Generator) -> EpochBatches[Batch]:
        """The shuffled batches of an epoch; all that is random about them comes from `rng`."""
        ...

    def update(self, batch: Batch) -> BatchSize:
        """Update the model by a batch and add its loss to `losses`."""
        ...

    def evaluate(self) -> dict[str, Any]:
        """Development scores by name."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The history of a run; the model that was trained holds the best weights."""

    history: tuple[EpochRecord, ...]

    @property
    def best(self) -> EpochRecord:
        """The epoch whose weights are kept."""
        return next(record for record in reversed(self.history) if record.is_best)

    @property
    def seconds(self) -> float:
        return sum(record.seconds for record in self.history)

    def summary(self) -> str:
        """`best epoch 7 of 10, dev_root 0.900`: the run in a few words."""
        scores = [
            f"{name} {value:.3f}" for name, value in self.best.scores.items() if isinstance(value, float)
        ]
        return ", ".join([f"best epoch {self.best.epoch} of {len(self.history)}", *scores])

    def __repr__(self) -> str:
        return f"TrainingResult({self.summary()})"


class Trainer(Generic[Batch]):
    """One training run of a task.

    Args:
        task: What is trained.
        folder: Where checkpoint and metrics go; a checkpoint that is there is resumed. None: nowhere.
        observer: Is told of every batch and epoch.
        save_best: Called after an epoch that is the best so far, while the model has the weights to be kept.
        processes: The processes that train together; only the first one uses folder, observer and `save_best`.
    """

    def __init__(
        self,
        task: Task[Batch],
        *,
        folder: Path | None = None,
        observer: Observer | None = None,
        save_best: Callable[[TrainingResult], object] | None = None,
        processes: OneProcess | None = None,
    ) -> None:
        self.task = task
        self.config = task.config
        self.folder = folder
        self.processes = processes or OneProcess()
        self.observer: Observer = (self.processes.is_first and observer) or SilentObserver()
        self.save_best = save_best
        self.fingerprint = {**task.fingerprint(), **self.processes.fingerprint}
        self.history: list[EpochRecord] = []
        self.best_weights = _copy_weights(task.model)

    def run(self, *, minutes: float | None = None) -> TrainingResult:
        """Train to the last epoch, from the checkpoint if there is one, and load the best weights.

        Raises:
            TrainingDivergedError: If the loss or the scores are no longer finite.
            CheckpointError: If the checkpoint is damaged or belongs to another run.
        """
        start = time.perf_counter()
        self.processes.check_same(self.fingerprint, "settings or data")
        if self.folder:
            self._resume(self.folder / CHECKPOINT_FILE)
        num_before = len(self.history)
        while not self.is_done and (len(self.history) == num_before or self._has_time(start, minutes)):
            self._run_epoch(len(self.history) + 1)
        _load_weights(self.task.model, self.best_weights)
        return TrainingResult(tuple(self.history))

    @property
    def is_done(self) -> bool:
        """Whether all epochs are over, or too many have brought no improvement."""
        scores = [self._score(record.scores) for record in self.history]
        age = len(scores) - 1 - scores.index(max(scores)) if scores and max(scores) > _NO_SCORE else 0
        return len(scores) >= self.config.epochs or 0 < self.config.patience <= age

    def _score(self, scores: Mapping[str, Any]) -> float:
        score = scores[self.task.score_name]
        return _NO_SCORE if score is None else score

    def _has_time(self, start: float, minutes: float | None) -> bool:
        """Whether an epoch as long as the last one would still end in time."""
        if minutes is None:
            return True
        end = start + 60 * minutes - self.history[-1].seconds
        return self.processes.from_first(lambda: time.perf_counter() <= end)

    def _weights_to_keep(self) -> AbstractContextManager[None]:
        """Inside, the model has the weights that are evaluated and saved."""
        average = self.task.optimizer.average
        return nullcontext() if average is None else average.in_place()

    def _run_epoch(self, epoch: int) -> None:
        record = self._train_and_score(epoch)
        self.history.append(record)
        if record.is_best:
            with self._weights_to_keep():
                self.best_weights = _copy_weights(self.task.model)
        self.processes.from_first(lambda: self._keep(record))

    def _keep(self, record: EpochRecord) -> None:
        """Write what is left of an epoch, and report it."""
        if self.folder:
            save_checkpoint(self.folder / CHECKPOINT_FILE, self._checkpoint())
            _write_metrics(self.folder / METRICS_FILE, self.history)
        with self._weights_to_keep():
            if record.is_best and self.save_best is not None:
                self.save_best(TrainingResult(tuple(self.history)))
            self.observer.on_epoch(record)

    def _train_and_score(self, epoch: int) -> EpochRecord:
        start = time.perf_counter()
        loss, num_examples = self._train_epoch(epoch)
        seconds = time.perf_counter() - start
        return self.processes.from_first(lambda: self._score_epoch(epoch, loss, num_examples, start, seconds))

    def _score_epoch(
        self, epoch: int, loss: float, num_examples: int, start: float, seconds: float
    ) -> EpochRecord:
        scores = self._evaluate(epoch)
        best_before = max((self._score(record.scores) for record in self.history), default=-math.inf)
        return EpochRecord(
            epoch=epoch,
            loss=loss,
            scores=scores,
            learning_rate=self.config.learning_rate * self.task.optimizer.rate_scale,
            seconds=time.perf_counter() - start,
            examples_per_second=num_examples / max(seconds, 1e-9),
            is_best=self._score(scores) >= best_before,
        )

    def _evaluate(self, epoch: int) -> dict[str, Any]:
        try:
            with self._weights_to_keep():
                return self.task.evaluate()
        except NotFiniteError as error:
            # The last update of the epoch was one too many; no loss has shown it yet.
            raise self._diverged(f"epoch {epoch}, after its last update", epoch) from error

    def _train_epoch(self, epoch: int) -> tuple[float, int]:
        """Train one epoch; its mean loss and the number of its examples."""
        self.task.model.train()
        rng = np.random.Generator(np.random.PCG64([self.config.seed, epoch]))
        seed = int(rng.integers(2**62))
        torch.manual_seed(seed)
        self.processes.begin_epoch(seed)
        plan = self.task.batches(rng)
        start = last_read = time.perf_counter()
        losses = self.task.losses.zero_()
        num_done = num_terms = 0
        for number, batch in enumerate(plan.batches, (epoch - 1) * plan.num_batches + 1):
            self.task.optimizer.rate_scale = rate_scale(
                self.config, number, self.config.epochs * plan.num_batches
            )
            size = self.task.update(batch)
            num_done += size.num_examples
            num_terms += size.num_terms
            now = time.perf_counter()
            reads = losses.device.type == "cpu" or now - last_read > SECONDS_BETWEEN_READS
            if self.processes.size > 1:
                # All of them read the same sums, and end together if these are no longer finite.
                reads = number % UPDATES_BETWEEN_READS == 0
            if reads or num_done == plan.num_examples:
                mean = losses.item() / num_terms
                if not math.isfinite(mean):
                    raise self._diverged(
                        f"epoch {epoch}, batch {number - (epoch - 1) * plan.num_batches}", epoch
                    )
                last_read = time.perf_counter()
                speed = num_done / max(last_read - start, 1e-9)
                self.observer.on_batch(
                    BatchProgress(epoch, self.config.epochs, num_done, plan.num_examples, mean, speed)
                )
        if self.processes.size > 1:
            self.processes.check_same(_checksum(self.task.model), "weights")
        return losses.item() / max(num_terms, 1), num_done

    def _diverged(self, where: str, epoch: int) -> TrainingDivergedError:
        kept = f"The checkpoint of epoch {epoch - 1} is kept. " if self.folder and epoch > 1 else ""
        return TrainingDivergedError(
            f"the loss is no longer a number ({where}, learning rate {self.config.learning_rate:g}): the weights"
            " have grown out of range",
            remedy=f"{kept}Start a new run with a smaller learning rate, or look for vectors with huge values.",
        )

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            weights=_trained_weights(self.task.model),
            best_weights=self.best_weights,
            optimizer=self.task.optimizer.state_tensors(),
            record={
                "fingerprint": self.fingerprint,
                "history": [record.as_dict() for record in self.history],
            },
        )

    def _resume(self, path: Path) -> None:
        checkpoint = self.processes.from_first(lambda: load_checkpoint(path) if path.exists() else None)
        if checkpoint is None:
            return
        try:
            compare_fingerprints(path, checkpoint.record["fingerprint"], self.fingerprint)
            self.history = self._read_history(checkpoint.record["history"])
            # Both sets of weights are tried now: a damaged best one must not wait for the last epoch.
            _load_weights(self.task.model, checkpoint.best_weights)
            self.best_weights = _copy_weights(self.task.model)
            _load_weights(self.task.model, checkpoint.weights)
            self.task.optimizer.load_state_tensors(dict(checkpoint.optimizer))
        except (RuntimeError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise CheckpointError(path, f"does not fit this model ({error})") from error
        self.processes.from_first(lambda: _write_metrics(path.parent / METRICS_FILE, self.history))

    def _read_history(self, records: Sequence[Mapping[str, Any]]) -> list[EpochRecord]:
        history = [EpochRecord.from_dict(record) for record in records]
        if [record.epoch for record in history] != [*range(1, len(history) + 1)]:
            raise ValueError("the epochs of its history are not in order")
        scores = [self._score(record.scores) for record in history]
        # Either all epochs have a score, or none has one.
        are_scored = all(map(math.isfinite, scores)) and len({score == _NO_SCORE for score in scores}) == 1
        if not are_scored or not history[0].is_best:
            raise ValueError("its history has no best epoch")
        return history


def _write_metrics(path: Path, history: Sequence[EpochRecord]) -> None:
    """Write one line per epoch, from the checkpoint's history: a resumed run neither loses nor repeats any."""
    with atomic_write(path) as stream:
        stream.writelines(json.dumps(record.as_dict()) + "\n" for record in history)


def _trained_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights that training changes: fixed vectors would be most of every checkpoint."""
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


def _checksum(model: nn.Module) -> int:
    return checksum_arrays(weight.numpy(force=True) for weight in _trained_weights(model).values())


def _copy_weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in _trained_weights(model).items()}


def _load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    if weights.keys() != _trained_weights(model).keys():
        raise KeyError("other weights than those that are trained")
    model.load_state_dict({**model.state_dict(), **weights})
