"""A reranker and lists in, the best weights by development F1 out, epoch by epoch and resumable."""

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
from jaxtyping import Bool, Float
from torch import Tensor

from lexitree.errors import CheckpointError, NotFiniteError, TrainingDivergedError
from lexitree.files import atomic_write
from lexitree.learning.checkpoint import (
    CHECKPOINT_FILE,
    Checkpoint,
    compare_fingerprints,
    load_checkpoint,
    save_checkpoint,
)
from lexitree.learning.observers import METRICS_FILE, BatchProgress
from lexitree.learning.optimizer import LazyAdam
from lexitree.tasks.rerank.batches import batch_lists
from lexitree.tasks.rerank.config import RerankTraining
from lexitree.tasks.rerank.examples import ListExample
from lexitree.tasks.rerank.model import RerankerModel
from lexitree.tasks.rerank.scoring import choose_weight, score_lists


def margin_loss(
    scores: Float[Tensor, "lists ranks"],
    wrong: Float[Tensor, "lists ranks"],
    is_there: Bool[Tensor, "lists ranks"],
    margin: float,
) -> Float[Tensor, " lists"]:
    """By how much the worst offender of each list comes too close to its best candidate.

    The best candidate has the fewest wrong constituents; of several, the one that the scores like most. Another one
    should score lower by `margin` for each constituent it has wrong beyond those: the loss is the largest shortfall,
    max over candidates of (score + margin * wrong) less that of the best, and 0 where all keep their distance.
    """
    nowhere = float("inf")
    fewest = wrong.masked_fill(~is_there, nowhere).amin(1, keepdim=True)
    best = scores.masked_fill(~is_there | (wrong > fewest), -nowhere).amax(1)
    offending = (scores + margin * (wrong - fewest)).masked_fill(~is_there, -nowhere).amax(1)
    return torch.clamp(offending - best, min=0.0)


SECONDS_BETWEEN_READS = 0.5
"""Reading a loss makes a GPU wait, so it is done only now and then."""


@dataclass(frozen=True, slots=True)
class RerankEpoch:
    """What one epoch brought."""

    epoch: int
    loss: float
    """The mean margin loss a list."""
    dev_f1: float
    """Labelled F1 of the development lists, with the weight of the parser's score that suits them best."""
    mean_f1: float
    """The mean over that weight and its neighbours, by which epochs are compared: it moves less by chance."""
    base_weight: float
    """That weight."""
    seconds: float
    lists_per_second: float
    """In training alone."""
    is_best: bool

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(slots=True)
class RerankListeners:
    """Who is told what a run does."""

    on_batch: Callable[[BatchProgress], object] = field(default=lambda _: None)
    on_epoch: Callable[[RerankEpoch], object] = field(default=lambda _: None)


class RerankTrainer:
    """One training run. All that is random in an epoch follows from the seed and the epoch's number, so a run that
    is cut and resumed from the checkpoint of its last whole epoch ends with the same weights (on a CPU, bit by bit).
    """

    def __init__(
        self,
        model: RerankerModel,
        train: Sequence[ListExample],
        dev: Sequence[ListExample],
        config: RerankTraining,
        *,
        folder: Path | None = None,
        fingerprint: Mapping[str, Any] | None = None,
        listeners: RerankListeners | None = None,
    ) -> None:
        self.model = model
        # Where there is nothing to choose there is nothing to learn.
        self.train = [example for example in train if example.num_candidates > 1]
        self.dev = dev
        self.config = config
        self.folder = folder
        self.fingerprint = dict(fingerprint or {})
        self.listeners = listeners or RerankListeners()
        self.optimizer = LazyAdam(model, config.optimizer())
        self.history: list[RerankEpoch] = []
        self.best_weights = _copy_weights(model)

    def run(self, *, minutes: float | None = None) -> list[RerankEpoch]:
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
            self._save()
            self.listeners.on_epoch(record)
        _load_weights(self.model, self.best_weights)
        return self.history

    @property
    def is_done(self) -> bool:
        return len(self.history) >= self.config.epochs

    @property
    def best(self) -> RerankEpoch:
        """The epoch whose weights are kept."""
        return next(record for record in reversed(self.history) if record.is_best)

    def _has_time(self, start: float, minutes: float | None) -> bool:
        """Whether an epoch as long as the last one would still end in time."""
        spent = time.perf_counter() - start
        return minutes is None or spent + self.history[-1].seconds <= 60 * minutes

    def _weights_to_keep(self) -> AbstractContextManager[None]:
        """Inside, the model is the one that is scored and saved: the average, where one is made."""
        average = self.optimizer.average
        return nullcontext() if average is None else average.in_place()

    def _run_epoch(self, epoch: int) -> RerankEpoch:
        start = time.perf_counter()
        loss = self._train_epoch(epoch)
        seconds = time.perf_counter() - start
        try:
            with self._weights_to_keep():
                choice = choose_weight(list(score_lists(self.model, self.dev)))
        except NotFiniteError as error:
            raise self._diverged(epoch) from error
        return RerankEpoch(
            epoch=epoch,
            loss=loss,
            dev_f1=choice.f1,
            mean_f1=choice.mean_f1,
            base_weight=choice.weight,
            seconds=time.perf_counter() - start,
            lists_per_second=len(self.train) / max(seconds, 1e-9),
            # Ties go to the later epoch: its weights have seen more.
            is_best=choice.mean_f1 >= max((record.mean_f1 for record in self.history), default=-1.0),
        )

    def _train_epoch(self, epoch: int) -> float:
        """One pass over the shuffled lists; the mean loss a list."""
        self.model.train()
        rng = np.random.Generator(np.random.PCG64([self.config.seed, epoch]))
        torch.manual_seed(int(rng.integers(2**62)))
        order: list[int] = rng.permutation(len(self.train)).tolist()
        start = last_read = time.perf_counter()
        losses = torch.zeros((), dtype=torch.float64, device=self.model.device)
        for first in range(0, len(order), self.config.batch_lists):
            chosen = order[first : first + self.config.batch_lists]
            losses += self._update([self.train[number] for number in chosen])
            num_done = first + len(chosen)
            if time.perf_counter() - last_read > SECONDS_BETWEEN_READS or num_done == len(order):
                mean = losses.item() / num_done
                if not math.isfinite(mean):
                    raise self._diverged(epoch)
                last_read = time.perf_counter()
                speed = num_done / max(last_read - start, 1e-9)
                self.listeners.on_batch(
                    BatchProgress(epoch, self.config.epochs, num_done, len(order), mean, speed)
                )
        return losses.item() / max(len(order), 1)

    def _update(self, examples: Sequence[ListExample]) -> Tensor:
        """One update of the weights; the loss of all lists together."""
        model = self.model
        batch = batch_lists(examples, model.device, goes_down=model.goes_down, shares=model.shares_subtrees)
        self.optimizer.zero_grad()
        scores = batch.table(model(batch), 0.0) + self.config.base_weight * batch.base_scores
        loss = margin_loss(scores, batch.wrong, batch.is_there, self.config.margin).sum()
        (loss / batch.num_lists).backward()
        self.optimizer.update(batch.num_lists, batch.up if batch.leaf_word is None else None)
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
            "history": [epoch.as_dict() for epoch in self.history],
        }
        state = Checkpoint(_trained(self.model), self.best_weights, self.optimizer.state_tensors(), record)
        save_checkpoint(self.folder / CHECKPOINT_FILE, state)
        self._write_metrics(self.folder)

    def _write_metrics(self, folder: Path) -> None:
        """One line an epoch, from the history, so that a resumed run neither loses nor repeats any."""
        with atomic_write(folder / METRICS_FILE) as stream:
            stream.writelines(json.dumps(epoch.as_dict()) + "\n" for epoch in self.history)

    def _resume(self, path: Path) -> None:
        checkpoint = load_checkpoint(path, self.model.device)
        try:
            compare_fingerprints(path, checkpoint.record["fingerprint"], self.fingerprint)
            self.history = [RerankEpoch(**record) for record in checkpoint.record["history"]]
            # Both sets of weights are tried now: a damaged best one must not wait for the last epoch.
            _load_weights(self.model, checkpoint.best_weights)
            self.best_weights = _copy_weights(self.model)
            _load_weights(self.model, checkpoint.weights)
            self.optimizer.load_state_tensors(dict(checkpoint.optimizer))
        except (RuntimeError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(path, f"does not fit this reranker ({error})") from error
        self._write_metrics(path.parent)


def _trained(model: RerankerModel) -> dict[str, Tensor]:
    """All weights that move: vectors that stay as they are would be most of every checkpoint."""
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


def _copy_weights(model: RerankerModel) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in _trained(model).items()}


def _load_weights(model: RerankerModel, weights: Mapping[str, Tensor]) -> None:
    if weights.keys() != _trained(model).keys():
        raise KeyError("other weights than those that are trained")
    model.load_state_dict({**model.state_dict(), **weights})
