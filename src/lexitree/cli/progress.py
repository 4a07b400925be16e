"""What a training run tells in, progress bars and a line an epoch out."""

from __future__ import annotations

from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from lexitree.cli.console import messages, percent
from lexitree.learning.observers import BatchProgress, EpochRecord


def show_place(progress: BatchProgress, what: str) -> None:
    """Where an epoch is, on one line of a screen that the next one overwrites; `what` is what is learnt from."""
    if messages.is_terminal:
        messages.print(
            f"epoch {progress.epoch}/{progress.num_epochs}  {progress.num_trees_done:,}/{progress.num_trees:,} {what}"
            f"  loss {progress.loss:.3f}  {progress.trees_per_second:.0f} {what}/s",
            end="\r",
        )


class TrainingProgress:
    """A bar for each seed: the running loss, trees per second and the development scores."""

    def __init__(self, num_epochs: int) -> None:
        self.num_epochs = num_epochs
        self.best: dict[int, float] = {}
        self.tasks: dict[int, TaskID] = {}
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("epoch {task.fields[epoch]}/{task.fields[num_epochs]}"),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[speed]} trees/s"),
            TextColumn("dev {task.fields[dev]} best {task.fields[best]}"),
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
        if isinstance(event, BatchProgress):
            self._on_batch(seed, event)
        else:
            self._on_epoch(seed, event)

    def observer(self, seed: int) -> SeedObserver:
        """The same bars, as the observer of a run in this process."""
        return SeedObserver(self, seed)

    def _task(self, seed: int, num_trees: int) -> TaskID:
        if seed not in self.tasks:
            fields: dict[str, Any] = {
                "epoch": 1,
                "num_epochs": self.num_epochs,
                "loss": "–",
                "speed": "–",
                "dev": "–",
                "best": "–",
            }
            self.tasks[seed] = self.bars.add_task(f"seed {seed}", total=num_trees * self.num_epochs, **fields)
        return self.tasks[seed]

    def _on_batch(self, seed: int, progress: BatchProgress) -> None:
        done = (progress.epoch - 1) * progress.num_trees + progress.num_trees_done
        self.bars.update(
            self._task(seed, progress.num_trees),
            completed=done,
            epoch=progress.epoch,
            loss=f"{progress.loss:.2f}",
            speed=f"{progress.trees_per_second:.0f}",
        )

    def _on_epoch(self, seed: int, record: EpochRecord) -> None:
        self.best[seed] = max(self.best.get(seed, 0.0), record.dev_root)
        if seed in self.tasks:
            self.bars.update(self.tasks[seed], dev=percent(record.dev_root), best=percent(self.best[seed]))
        phrase = f" phrase {percent(record.dev_phrase)}" if record.dev_phrase is not None else ""
        mark = "  [green]best[/green]" if record.is_best else ""
        self.bars.console.print(
            f"seed {seed} epoch {record.epoch:>2}  loss {record.loss:6.3f}"
            f"  dev root {percent(record.dev_root)}{phrase}"
            f"  {record.trees_per_second:.0f} trees/s{mark}",
            soft_wrap=True,
        )


class SeedObserver:
    """Passes the events of one run to the bars."""

    def __init__(self, progress: TrainingProgress, seed: int) -> None:
        self.progress = progress
        self.seed = seed

    def on_batch(self, progress: BatchProgress) -> None:
        self.progress.on_event(self.seed, progress)

    def on_epoch(self, record: EpochRecord) -> None:
        self.progress.on_event(self.seed, record)

    def close(self) -> None:
        return None
