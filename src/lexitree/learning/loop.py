"""A model and prepared trees in, the best model by development accuracy out, epoch by epoch and resumable."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lexitree.batch.examples import Example
from lexitree.errors import CheckpointError, NotFiniteError, TrainingDivergedError
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.files import atomic_write
from lexitree.learning.checkpoint import (
    CHECKPOINT_FILE,
    Checkpoint,
    compare_fingerprints,
    load_checkpoint,
    save_checkpoint,
)
from lexitree.learning.observers import METRICS_FILE, BatchProgress, EpochRecord, Observer, SilentObserver
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.tasks.classify.config import TrainingConfig
from lexitree.tasks.classify.steps import make_step
from lexitree.tasks.classify.task import PhraseEpochs

SECONDS_BETWEEN_READS = 0.25
"""Reading a loss makes a GPU wait, so there it is done only now and then."""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The history of a run; the model that was trained holds the best weights."""

    history: tuple[EpochRecord, ...]

    @property
    def best(self) -> EpochRecord:
        return next(record for record in reversed(self.history) if record.is_best)

    @property
    def seconds(self) -> float:
        return sum(record.seconds for record in self.history)


class Trainer:
    """One training run.

    Everything random in an epoch follows from the seed and the epoch's number, so a run that is killed and
    resumed from the checkpoint of its last whole epoch ends with the very same weights, bit by bit.
    """

    def __init__(
        self,
        model: TreeClassifier,
        train: Sequence[Example],
        dev: Sequence[Example],
        config: TrainingConfig,
        *,
        folder: Path | None = None,
        fingerprint: Mapping[str, Any] | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.model = model
        self.train = train
        self.dev = dev
        self.config = config
        self.folder = folder
        self.fingerprint = dict(fingerprint or {})
        self.observer: Observer = observer or SilentObserver()
        self.optimizer = LazyAdam(model, config, config.epochs * -(-len(train) // config.batch_size))
        self.step = make_step(model, self.optimizer)
        self.phrases = None
        if model.encoder.trains_on_phrases and model.config.supervision == "all":
            self.phrases = PhraseEpochs(train, distinct=config.distinct_phrases)
        self.history: list[EpochRecord] = []
        self.best_weights = _copy_weights(model)

    def run(self) -> TrainingResult:
        """Train to the last epoch, from the checkpoint if there is one, and load the best weights."""
        if self.folder and (self.folder / CHECKPOINT_FILE).exists():
            self._resume(self.folder / CHECKPOINT_FILE)
            _write_metrics(self.folder / METRICS_FILE, self.history)
        for epoch in range(len(self.history) + 1, self.config.epochs + 1):
            record = self._run_epoch(epoch)
            self.history.append(record)
            if record.is_best:
                with self._weights_to_keep():
                    self.best_weights = _copy_weights(self.model)
            if self.folder:
                save_checkpoint(self.folder / CHECKPOINT_FILE, self._checkpoint())
                _write_metrics(self.folder / METRICS_FILE, self.history)
            with self._weights_to_keep():
                self.observer.on_epoch(record)
        self.model.load_state_dict(self.best_weights)
        return TrainingResult(tuple(self.history))

    def _weights_to_keep(self) -> AbstractContextManager[None]:
        """Inside, the model is the one that is scored and saved: the average, where one is made."""
        average = self.optimizer.average
        return nullcontext() if average is None else average.in_place()

    def _run_epoch(self, epoch: int) -> EpochRecord:
        start = time.perf_counter()
        loss = self._train_epoch(epoch)
        seconds = time.perf_counter() - start
        scores = self._score_dev(epoch)
        best_before = max((record.dev_root for record in self.history), default=-1.0)
        return EpochRecord(
            epoch=epoch,
            loss=loss,
            dev_root=scores.root.accuracy,
            dev_phrase=scores.phrase.accuracy if scores.phrase else None,
            seconds=time.perf_counter() - start,
            trees_per_second=len(self.train) / max(seconds, 1e-9),
            # Ties go to the later epoch, as in the paper.
            is_best=scores.root.accuracy >= best_before,
        )

    def _score_dev(self, epoch: int) -> Evaluation:
        try:
            with self._weights_to_keep():
                return evaluate(self.model, self.dev)
        except NotFiniteError as error:
            # The last update of the epoch was the one too many: no loss has shown it yet.
            raise self._diverged(f"epoch {epoch}, after its last update", epoch) from error

    def _train_epoch(self, epoch: int) -> float:
        """One pass over the shuffled trees; the mean loss per sentence."""
        self.model.train()
        rng = np.random.Generator(np.random.PCG64([self.config.seed, epoch]))
        torch.manual_seed(int(rng.integers(2**62)))
        start = last_read = time.perf_counter()
        losses = self.step.losses.zero_()
        num_done = 0
        for number, examples in enumerate(self._shuffled_batches(rng), 1):
            self.step(examples)
            num_done += len(examples)
            now = time.perf_counter()
            reads = losses.device.type == "cpu" or now - last_read > SECONDS_BETWEEN_READS
            if reads or num_done == len(self.train):
                mean = losses.item() / num_done
                self._check_finite(mean, epoch, number)
                last_read = time.perf_counter()
                speed = num_done / max(last_read - start, 1e-9)
                self.observer.on_batch(
                    BatchProgress(epoch, self.config.epochs, num_done, len(self.train), mean, speed)
                )
        return losses.item() / max(num_done, 1)

    def _shuffled_batches(self, rng: np.random.Generator) -> Iterator[list[Example]]:
        if self.phrases is not None:
            yield from self.phrases.shuffled_batches(rng, self.config.batch_size)
            return
        order = rng.permutation(len(self.train)).tolist()
        for first in range(0, len(order), self.config.batch_size):
            yield [self.train[index] for index in order[first : first + self.config.batch_size]]

    def _check_finite(self, loss: float, epoch: int, batch: int) -> None:
        if not np.isfinite(loss):
            raise self._diverged(f"epoch {epoch}, batch {batch}", epoch)

    def _diverged(self, where: str, epoch: int) -> TrainingDivergedError:
        kept = f"The checkpoint of epoch {epoch - 1} is kept. " if self.folder and epoch > 1 else ""
        return TrainingDivergedError(
            f"the loss is no longer a number ({where}, learning rate {self.config.learning_rate:g}): the weights"
            " have grown out of range",
            remedy=f"{kept}Start a new run with a smaller learning rate, or look for vectors with huge values.",
        )

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            weights=self.model.state_dict(),
            best_weights=self.best_weights,
            optimizer=self.optimizer.state_tensors(),
            record={
                "fingerprint": self.fingerprint,
                "history": [record.as_dict() for record in self.history],
            },
        )

    def _resume(self, path: Path) -> None:
        checkpoint = load_checkpoint(path, self.model.device)
        try:
            compare_fingerprints(path, checkpoint.record["fingerprint"], self.fingerprint)
            self.history = [EpochRecord(**record) for record in checkpoint.record["history"]]
            # Both sets of weights are tried now: a damaged best one must not wait for the last epoch.
            self.model.load_state_dict(dict(checkpoint.best_weights))
            self.best_weights = _copy_weights(self.model)
            self.model.load_state_dict(dict(checkpoint.weights))
            self.optimizer.load_state_tensors(dict(checkpoint.optimizer))
        except (RuntimeError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(path, f"does not fit this model ({error})") from error


def _write_metrics(path: Path, history: Sequence[EpochRecord]) -> None:
    """One line an epoch; written from the checkpoint's history, so a resumed run neither loses nor repeats any."""
    with atomic_write(path) as stream:
        for record in history:
            stream.write(json.dumps(record.as_dict()) + "\n")


def _copy_weights(model: TreeClassifier) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
