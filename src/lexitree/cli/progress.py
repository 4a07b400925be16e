"""Progress bars and a line per epoch for training runs of any task."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from lexitree.cli.console import messages, percent
from lexitree.learning.observers import BatchProgress, EpochRecord, SilentObserver


class TrainingProgress:
    """A bar for each run: its epoch, running loss, speed and development scores.

    Args:
        num_epochs: The number of epochs of each run.
        unit: What is trained on: trees or lists.
    """

    def __init__(self, num_epochs: int, unit: str = "trees") -> None:
        self.num_epochs = num_epochs
        self.unit = unit
        self.tasks: dict[str, TaskID] = {}
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("epoch {task.fields[epoch]}/{task.fields[num_epochs]}"),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn(f"{{task.fields[speed]}} {unit}/s"),
            TextColumn("{task.fields[scores]}"),
            TimeRemainingColumn(),
            console=messages,
            transient=True,
        )

    def __enter__(self) -> TrainingProgress:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def on_event(self, seed: int, event: BatchProgress | EpochRecord) -> None:
        """Show what the run of a seed reports."""
        self.show(f"seed {seed}", event)

    def observer(self, name: str) -> ProgressObserver:
        """The same bars, as the observer of a run in this process."""
        return ProgressObserver(self, name)

    def show(self, name: str, event: BatchProgress | EpochRecord) -> None:
        """Show what a run reports."""
        if isinstance(event, BatchProgress):
            self._show_batch(name, event)
        else:
            self._show_epoch(name, event)

    def _show_batch(self, name: str, progress: BatchProgress) -> None:
        if name not in self.tasks:
            fields: dict[str, Any] = {"num_epochs": self.num_epochs, "scores": ""}
            self.tasks[name] = self.bars.add_task(
                name, total=progress.num_examples * self.num_epochs, epoch=1, loss="–", speed="–", **fields
            )
        self.bars.update(
            self.tasks[name],
            completed=(progress.epoch - 1) * progress.num_examples + progress.num_done,
            epoch=progress.epoch,
            loss=f"{progress.loss:.2f}",
            speed=f"{progress.examples_per_second:.0f}",
        )

    def _show_epoch(self, name: str, record: EpochRecord) -> None:
        if name in self.tasks:
            self.bars.update(self.tasks[name], scores=_describe_scores(record.scores))
        _print_epoch(name, record, self.unit)


class ProgressObserver:
    """Passes the events of one run to the bars."""

    def __init__(self, progress: TrainingProgress, name: str) -> None:
        self.progress = progress
        self.name = name

    def on_batch(self, progress: BatchProgress) -> None:
        self.progress.show(self.name, progress)

    def on_epoch(self, record: EpochRecord) -> None:
        self.progress.show(self.name, record)

    def close(self) -> None:
        return None


class EpochPrinter(SilentObserver):
    """Prints a line per epoch and no bars, for one of several runs in processes of their own."""

    def __init__(self, name: str, unit: str = "trees") -> None:
        self.name = name
        self.unit = unit

    def on_epoch(self, record: EpochRecord) -> None:
        _print_epoch(self.name, record, self.unit)


def _print_epoch(name: str, record: EpochRecord, unit: str) -> None:
    messages.print(
        f"{name} epoch {record.epoch:>2}  loss {record.loss:6.3f}  {_describe_scores(record.scores)}"
        f"  {record.examples_per_second:.0f} {unit}/s" + ("  [green]best[/green]" if record.is_best else ""),
        soft_wrap=True,
    )


def _describe_scores(scores: Mapping[str, Any]) -> str:
    """Development scores on one line, such as `dev root 48.5  dev phrase 81.2`."""
    parts: list[str] = []
    for name, value in scores.items():
        if isinstance(value, Mapping):
            shares = cast(Mapping[str, float], value)
            inner = ", ".join(f"{key} {percent(share)}" for key, share in shares.items())
            parts.append(f"({inner})")
        elif name == "base_weight":
            parts.append(f"weight {value:.2f}")
        elif value is not None:
            parts.append(f"{name.replace('_', ' ').replace('f1', 'F1')} {percent(value)}")
    return "  ".join(parts)


def show_progress(
    num_epochs: int, unit: str, *, quiet: bool
) -> AbstractContextManager[TrainingProgress | None]:
    """The bars of a command, or None where it is to be quiet."""
    return nullcontext() if quiet else TrainingProgress(num_epochs, unit)
