"""What a training run reports while it runs, and who can listen: progress bars, TensorBoard, other processes."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lexitree.files import file_errors

METRICS_FILE = "metrics.jsonl"
"""In the run folder: one line per epoch."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Where a run is within an epoch; examples are whatever the task trains on."""

    epoch: int
    num_epochs: int
    num_done: int
    num_examples: int
    loss: float
    """The mean loss so far in this epoch."""
    examples_per_second: float


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The outcome of one epoch."""

    epoch: int
    loss: float
    """The mean training loss."""
    scores: Mapping[str, Any]
    """The task's development scores by name; shares of 1."""
    learning_rate: float
    """That of the last update."""
    seconds: float
    """Including the evaluation."""
    examples_per_second: float
    """In training alone."""
    is_best: bool
    """Whether no epoch before scored higher."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record for metrics.jsonl and result.json, scores beside the rest."""
        return {
            "epoch": self.epoch,
            "loss": self.loss,
            **self.scores,
            **{name: getattr(self, name) for name in _AFTER_SCORES},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EpochRecord:
        """The inverse of `as_dict`.

        Raises:
            KeyError: If something is missing.
            TypeError: If something has another type.
        """
        own = ("epoch", "loss", *_AFTER_SCORES)
        # A bool is an int to Python, but an epoch is no bool.
        if type(values["epoch"]) is not int or not isinstance(values["is_best"], bool):
            raise TypeError("epoch must be a whole number and is_best true or false")
        for name in ("loss", *_AFTER_SCORES[:-1]):
            if isinstance(values[name], bool) or not isinstance(values[name], int | float):
                raise TypeError(f"{name} is not a number")
        for name, value in values.items():
            # NaN is not below anything, and an int may be too large for a float.
            if isinstance(value, int | float) and not abs(value) < _MAX_NUMBER:
                raise TypeError(f"{name} is out of range")
        scores = {name: value for name, value in values.items() if name not in own}
        return cls(scores=scores, **{name: values[name] for name in own})


_MAX_NUMBER = 1e100
"""No time, loss or score is so large."""
_AFTER_SCORES = ("learning_rate", "seconds", "examples_per_second", "is_best")


class Observer(Protocol):
    """Listens to a run."""

    def on_batch(self, progress: BatchProgress) -> None: ...

    def on_epoch(self, record: EpochRecord) -> None: ...

    def close(self) -> None: ...


class SilentObserver:
    """Ignores everything; a base for observers that listen to some events."""

    def on_batch(self, progress: BatchProgress) -> None:
        del progress

    def on_epoch(self, record: EpochRecord) -> None:
        del record

    def close(self) -> None:
        return None


class ObserverGroup:
    """Passes every event on to several observers."""

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
    """Writes loss, scores and speed of each epoch for TensorBoard; a run without an epoch leaves no files.

    TensorBoard's own writer has a thread, which cannot tell the run that the disk is full. Here an epoch is written
    before the next one begins.
    """

    def __init__(self, folder: Path) -> None:
        # TensorBoard reads all files of the folder whose names begin like this, oldest first.
        self.path = folder / f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"

    @staticmethod
    def is_available() -> bool:
        return importlib.util.find_spec("tensorboard") is not None

    def on_epoch(self, record: EpochRecord) -> None:
        # These modules have no types.
        proto: Any = importlib.import_module("tensorboard.compat.proto.event_pb2")
        summaries: Any = importlib.import_module("tensorboard.compat.proto.summary_pb2")
        writing: Any = importlib.import_module("tensorboard.summary.writer.record_writer")
        scalars = {"loss/train": record.loss, "speed/examples per second": record.examples_per_second}
        for name, value in record.scores.items():
            if isinstance(value, int | float):
                scalars[f"scores/{name.replace('_', ' ')}"] = value
        values = [summaries.Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
        now = time.time()
        events = [proto.Event(wall_time=now, step=record.epoch, summary=summaries.Summary(value=values))]
        if not self.path.exists():
            events.insert(0, proto.Event(wall_time=now, file_version="brain.Event:2"))
        with file_errors(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as stream:
                for event in events:
                    writing.RecordWriter(stream).write(event.SerializeToString())
