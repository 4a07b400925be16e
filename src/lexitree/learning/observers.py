"""What a training run tells while it goes on, and who can listen: progress bars, TensorBoard, other processes."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

METRICS_FILE = "metrics.jsonl"
"""A line an epoch, in the directory of the run."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Where the run is within an epoch."""

    epoch: int
    num_epochs: int
    num_trees_done: int
    num_trees: int
    loss: float
    """The mean loss per sentence so far in this epoch."""
    trees_per_second: float


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What one epoch brought; accuracies are shares of 1."""

    epoch: int
    loss: float
    """The mean training loss per sentence."""
    dev_root: float
    dev_phrase: float | None
    seconds: float
    trees_per_second: float
    is_best: bool

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class Observer(Protocol):
    """Listens to a run."""

    def on_batch(self, progress: BatchProgress) -> None: ...

    def on_epoch(self, record: EpochRecord) -> None: ...

    def close(self) -> None: ...


class SilentObserver:
    """Listens to nothing."""

    def on_batch(self, progress: BatchProgress) -> None:
        del progress

    def on_epoch(self, record: EpochRecord) -> None:
        del record

    def close(self) -> None:
        return None


class ObserverGroup:
    """Passes everything on to several observers."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = observers

    def on_batch(self, progress: BatchProgress) -> None:
        for observer in self.observers:
            observer.on_batch(progress)

    def on_epoch(self, record: EpochRecord) -> None:
        for observer in self.observers:
            observer.on_epoch(record)

    def close(self) -> None:
        for observer in self.observers:
            observer.close()


class TensorBoardObserver(SilentObserver):
    """Writes the scores of each epoch where TensorBoard finds them; a run that has no epoch leaves nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def is_available() -> bool:
        return importlib.util.find_spec("tensorboard") is not None

    @cached_property
    def writer(self) -> Any:
        from torch.utils.tensorboard.writer import SummaryWriter

        return SummaryWriter(str(self.folder))

    def on_epoch(self, record: EpochRecord) -> None:
        scalars = {"loss/train": record.loss, "accuracy/dev root": record.dev_root}
        if record.dev_phrase is not None:
            scalars["accuracy/dev phrase"] = record.dev_phrase
        scalars["speed/trees per second"] = record.trees_per_second
        for name, value in scalars.items():
            self.writer.add_scalar(name, value, record.epoch)

    def close(self) -> None:
        if "writer" in self.__dict__:
            self.writer.close()
