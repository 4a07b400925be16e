"""A parser and examples in, the best weights by development F1 out, epoch by epoch and resumable."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lexitree.errors import CheckpointError, NotFiniteError, TrainingDivergedError
from lexitree.files import atomic_write
from lexitree.learning.averaging import WeightAverage
from lexitree.learning.checkpoint import (
    CHECKPOINT_FILE,
    Checkpoint,
    compare_fingerprints,
    load_checkpoint,
    save_checkpoint,
)
from lexitree.learning.observers import METRICS_FILE, BatchProgress
from lexitree.parsers.network import ParserModel
from lexitree.tasks.parse.examples import (
    GoldBatch,
    ParserExample,
    WordDropper,
    draw_epoch,
    gold_batch,
    length_batches,
    parser_loss,
)
from lexitree.tasks.parse.recipe import ParserTraining

SECONDS_BETWEEN_READS = 0.5
"""Reading a loss makes a GPU wait, so it is done only now and then."""


@dataclass(frozen=True, slots=True)
class ParserEpoch:
    """What one epoch brought; scores are shares of 1."""

    epoch: int
    loss: float
    """The mean training loss a word."""
    dev_f1: float
    """The mean of the development treebanks' labelled F1."""
    dev: Mapping[str, float]
    """The labelled F1 of each of them."""
    learning_rate: float
    seconds: float
    """With the scoring of the development trees."""
    trees_per_second: float
    """In training alone."""
    is_best: bool

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(slots=True)
class ParserListeners:
    """Who is told what a run does."""

    on_batch: Callable[[BatchProgress], object] = field(default=lambda _: None)
    on_epoch: Callable[[ParserEpoch], object] = field(default=lambda _: None)
    on_best: Callable[[], object] = field(default=lambda: None)
    """Called after an epoch that is better than all before, while the model has the weights to be kept."""


class ParserTrainer:
    """One training run. All that is random in an epoch follows from the seed and the epoch's number, so a run that
    is cut and resumed from the checkpoint of its last whole epoch ends with the same weights (on a CPU, bit by bit).
    """

    def __init__(
        self,
        model: ParserModel,
        banks: Sequence[Sequence[ParserExample]],
        weights: Sequence[float],
        counts: Mapping[str, int],
        config: ParserTraining,
        score_dev: Callable[[], Mapping[str, float]],
        *,
        folder: Path | None = None,
        fingerprint: Mapping[str, Any] | None = None,
        listeners: ParserListeners | None = None,
    ) -> None:
        self.model = model
        self.banks = banks
        self.weights = weights
        self.config = config
        self.score_dev = score_dev
        self.folder = folder
        self.fingerprint = dict(fingerprint or {})
        self.listeners = listeners or ParserListeners()
        self.drop_words = WordDropper(model, counts, config)
        self.parameters = dict(model.named_parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=config.learning_rate,
            betas=(0.9, config.beta2),
            weight_decay=config.decay,
            fused=model.device.type == "cuda",
        )
        self.average = WeightAverage(self.parameters, 1 - config.averaging) if config.averaging else None
        self.num_updates = 0
        # The same number where the weights are: sent there at every update, it would make the host wait for a GPU.
        self.clock = torch.zeros((), dtype=torch.int64, device=model.device)
        self.history: list[ParserEpoch] = []
        self.best_weights = _copy_weights(model)

    def run(self, *, minutes: float | None = None) -> list[ParserEpoch]:
        """Train to the last epoch or until there is no time for another; the model then has the best weights.

        One epoch is run in any case: a run that is resumed again and again gets to its end.
        """
        start = time.perf_counter()
        if self.folder and (self.folder / CHECKPOINT_FILE).exists():
            self._resume(self.folder / CHECKPOINT_FILE)
        num_before = len(self.history)
        while not self.is_done and (len(self.history) == num_before or self._has_time(start, minutes)):
            record = self._run_epoch(len(self.history) + 1)
            self.history.append(record)
            if record.is_best:
                with self._weights_to_keep():
                    self.best_weights = _copy_weights(self.model)
                    self.listeners.on_best()
            self._save()
            self.listeners.on_epoch(record)
        self.model.load_state_dict(self.best_weights)
        return self.history

    @property
    def is_done(self) -> bool:
        """Whether all epochs are over, or so many brought nothing better that no other will."""
        since_best = next((age for age, record in enumerate(reversed(self.history)) if record.is_best), 0)
        return len(self.history) >= self.config.epochs or since_best >= self.config.patience

    def _has_time(self, start: float, minutes: float | None) -> bool:
        """Whether an epoch as long as the last one would still end in time."""
        spent = time.perf_counter() - start
        return minutes is None or spent + self.history[-1].seconds <= 60 * minutes

    def _weights_to_keep(self) -> AbstractContextManager[None]:
        """Inside, the model is the one that is scored and saved: the average, where one is made."""
        return nullcontext() if self.average is None else self.average.in_place()

    def _run_epoch(self, epoch: int) -> ParserEpoch:
        start = time.perf_counter()
        loss, num_trees, rate = self._train_epoch(epoch)
        seconds = time.perf_counter() - start
        try:
            with self._weights_to_keep():
                dev = dict(self.score_dev())
        except NotFiniteError as error:
            raise self._diverged(epoch) from error
        dev_f1 = sum(dev.values()) / len(dev)
        return ParserEpoch(
            epoch=epoch,
            loss=loss,
            dev_f1=dev_f1,
            dev=dev,
            learning_rate=rate,
            seconds=time.perf_counter() - start,
            trees_per_second=num_trees / max(seconds, 1e-9),
            is_best=dev_f1 > max((record.dev_f1 for record in self.history), default=-1.0),
        )

    def _train_epoch(self, epoch: int) -> tuple[float, int, float]:
        """One pass over the trees: the mean loss a word, the number of trees, and the last learning rate."""
        self.model.train()
        rng = np.random.Generator(np.random.PCG64([self.config.seed, epoch]))
        torch.manual_seed(int(rng.integers(2**62)))
        examples = draw_epoch(self.banks, self.weights, rng)
        lengths = np.array([example.num_words for example in examples], dtype=np.int64)
        batches = length_batches(lengths, self.config.batch_words, rng)
        start = last_read = time.perf_counter()
        losses = torch.zeros((), device=self.model.device)
        num_words = num_done = 0
        rate = 0.0
        for number, numbers in enumerate(batches):
            # The longest first, as LSTMs want them.
            chosen = sorted(numbers, key=lambda index: -lengths[index])
            batch = self._make_batch([examples[index] for index in chosen], rng)
            rate = self._rate((epoch - 1 + number / len(batches)) / self.config.epochs)
            losses += self._update(batch, rate)
            num_words += batch.num_words
            num_done += len(chosen)
            if time.perf_counter() - last_read > SECONDS_BETWEEN_READS or number == len(batches) - 1:
                mean = losses.item() / num_words
                if not math.isfinite(mean):
                    raise self._diverged(epoch)
                last_read = time.perf_counter()
                speed = num_done / max(last_read - start, 1e-9)
                self.listeners.on_batch(
                    BatchProgress(epoch, self.config.epochs, num_done, len(examples), mean, speed)
                )
        return losses.item() / max(num_words, 1), num_done, rate

    def _make_batch(self, examples: Sequence[ParserExample], rng: np.random.Generator) -> GoldBatch:
        is_generic = rng.random(len(examples)) < self.config.style_dropout
        styles = [
            0 if generic else example.style
            for example, generic in zip(examples, is_generic.tolist(), strict=True)
        ]
        batch = gold_batch(examples, self.model.config, self.model.device, styles)
        return dataclasses.replace(batch, sentences=self.drop_words(batch.sentences))

    def _rate(self, progress: float) -> float:
        """The learning rate: up in a line, then down along a cosine."""
        config = self.config
        warm = min(1.0, (self.num_updates + 1) / max(config.warm_up, 1))
        falling = config.final_rate + (1 - config.final_rate) * 0.5 * (1 + math.cos(math.pi * progress))
        return config.learning_rate * warm * falling

    def _update(self, batch: GoldBatch, rate: float) -> Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss = parser_loss(self.model, batch, self.config.tag_weight)
        (loss / batch.num_words).backward()
        nn.utils.clip_grad_norm_(list(self.parameters.values()), self.config.clip)
        self.optimizer.step()
        self.num_updates += 1
        self.clock += 1
        if self.average is not None:
            self.average.update(self.clock)
        return loss.detach()

    def _diverged(self, epoch: int) -> TrainingDivergedError:
        kept = f"The checkpoint of epoch {epoch - 1} is kept. " if self.folder and epoch > 1 else ""
        return TrainingDivergedError(
            f"the loss is no longer a number (epoch {epoch}, learning rate {self.config.learning_rate:g})",
            remedy=f"{kept}Start a new run with a smaller learning rate.",
        )

    def _save(self) -> None:
        if self.folder is None:
            return
        record = {
            "fingerprint": self.fingerprint,
            "num_updates": self.num_updates,
            "history": [epoch.as_dict() for epoch in self.history],
        }
        checkpoint = Checkpoint(self.model.state_dict(), self.best_weights, self._optimizer_tensors(), record)
        save_checkpoint(self.folder / CHECKPOINT_FILE, checkpoint)
        self._write_metrics()

    def _write_metrics(self) -> None:
        """One line an epoch, from the history, so that a resumed run neither loses nor repeats any."""
        if self.folder:
            with atomic_write(self.folder / METRICS_FILE) as stream:
                stream.writelines(json.dumps(epoch.as_dict()) + "\n" for epoch in self.history)

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        tensors = {
            f"{kind}/{name}": tensor
            for name, weight in self.parameters.items()
            for kind, tensor in self.optimizer.state[weight].items()
        }
        averages = {} if self.average is None else self.average.averages
        return {**tensors, **{f"average/{name}": tensor for name, tensor in averages.items()}}

    def _resume(self, path: Path) -> None:
        checkpoint = load_checkpoint(path, self.model.device)
        try:
            compare_fingerprints(path, checkpoint.record["fingerprint"], self.fingerprint)
            self.history = [ParserEpoch(**record) for record in checkpoint.record["history"]]
            self.num_updates = int(checkpoint.record["num_updates"])
            self.clock.fill_(self.num_updates)
            # Both sets of weights are tried now: a damaged best one must not wait for the last epoch.
            self.model.load_state_dict(dict(checkpoint.best_weights))
            self.best_weights = _copy_weights(self.model)
            self.model.load_state_dict(dict(checkpoint.weights))
            self._load_optimizer(checkpoint.optimizer)
        except (RuntimeError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise CheckpointError(path, f"does not fit this parser ({error})") from error
        self._write_metrics()

    def _load_optimizer(self, tensors: Mapping[str, Tensor]) -> None:
        state = {
            number: {kind: tensors[f"{kind}/{name}"] for kind in ("step", "exp_avg", "exp_avg_sq")}
            for number, name in enumerate(self.parameters)
        }
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        if self.average is not None:
            for name, average in self.average.averages.items():
                average.copy_(tensors[f"average/{name}"])


def _copy_weights(model: ParserModel) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
