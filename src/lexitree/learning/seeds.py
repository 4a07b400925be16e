"""Training several seeds of any task in parallel processes, with the mean and deviation of their scores."""

from __future__ import annotations

import multiprocessing
import os
import queue
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from lexitree.errors import ConfigError, LexitreeError, find_memory_error
from lexitree.learning.observers import BatchProgress, EpochRecord
from lexitree.learning.run_folder import read_result, seed_folder, write_json
from lexitree.learning.schedule import SeededRecipe
from lexitree.processes import (
    CLEAN_UP_SECONDS,
    Lifeline,
    ending_at_once,
    hold_on,
    how_it_ended,
    interrupt_on_signals,
    uninterrupted_children,
)

SUMMARY_FILE = "summary.json"
SECONDS_BETWEEN_MESSAGES = 0.25

Event = BatchProgress | EpochRecord
OnEvent = Callable[[int, Event], None]
"""Called with a seed and what its run reports."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A score over several seeds."""

    mean: float
    deviation: float
    """The sample standard deviation; 0 for one seed."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


@dataclass(frozen=True, slots=True)
class SeedSummary:
    """The results of all seeds, and the seed that its development score chooses."""

    results: dict[int, dict[str, Any]]
    """The result.json of each seed."""
    scores: Sequence[str]
    """The names of the task's scores; the first one chooses the best seed."""
    wall_seconds: float | None = None
    """How long all of them took together, start-up and evaluation included."""

    @property
    def best_seed(self) -> int:
        return max(self.results, key=lambda seed: self.results[seed][self.scores[0]] or 0.0)

    def spread(self, score: str) -> Spread | None:
        """Mean and deviation of one score; None where the data does not have it."""
        values = [result[score] for result in self.results.values()]
        return None if any(value is None for value in values) else Spread.of(values)

    def as_dict(self) -> dict[str, Any]:
        spreads = {score: self.spread(score) for score in self.scores}
        return {
            "best_seed": self.best_seed,
            "wall_seconds": self.wall_seconds,
            "scores": {
                score: {"mean": spread.mean, "deviation": spread.deviation} if spread else None
                for score, spread in spreads.items()
            },
            "seeds": {str(seed): result for seed, result in self.results.items()},
        }


def run_seeds(
    train: Callable[..., object],
    recipe: SeededRecipe,
    seeds: Sequence[int],
    folder: str | Path,
    *,
    scores: Sequence[str],
    jobs: int | None = None,
    options: Mapping[str, Any],
    on_event: OnEvent | None = None,
) -> SeedSummary:
    """Train a recipe once for each seed, each in a process and a folder of its own.

    Args:
        train: The task's function, called as `train(recipe, folder, observer=..., **options)` in each process.
        recipe: What is trained.
        seeds: The seeds.
        folder: Where the runs go, into `seed-1` and so on, with a summary beside them.
        scores: The names of the scores that are summarized; the first one chooses the best seed.
        jobs: How many are trained at the same time; None: as many as there are cores.
        options: Passed on to `train`.
        on_event: Is told of the progress of all seeds.

    Raises:
        ConfigError: If a seed is given twice, or none.
        LexitreeError: If a process was killed; what a run raises is raised here.
    """
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ConfigError("give each seed once, and at least one")
    start = time.perf_counter()
    folder = Path(folder)
    jobs = min(jobs or os.cpu_count() or 1, len(seeds))
    # A finished seed is started as well: only its checkpoint can tell whether it was trained with these settings.
    _Pool(train, recipe, folder, dict(options), on_event).run(seeds, jobs)
    results = {seed: read_result(seed_folder(folder, seed)) for seed in seeds}
    summary = SeedSummary(results, scores, time.perf_counter() - start)
    write_json(folder / SUMMARY_FILE, summary.as_dict())
    return summary


class _Pool:
    """Keeps `jobs` processes busy and passes on what they report; the first failure ends all of them."""

    def __init__(
        self,
        train: Callable[..., object],
        recipe: SeededRecipe,
        folder: Path,
        options: dict[str, Any],
        on_event: OnEvent | None,
    ) -> None:
        self.train = train
        self.recipe = recipe
        self.folder = folder
        self.options = options
        self.on_event = on_event
        # A fresh interpreter each: forking a process that runs threads is not safe.
        self.context = multiprocessing.get_context("spawn")
        self.messages: Any = self.context.Queue()
        self.line = Lifeline()
        self.running: dict[int, BaseProcess] = {}

    def run(self, seeds: Sequence[int], jobs: int) -> None:
        waiting = list(seeds)
        try:
            while waiting or self.running:
                while waiting and len(self.running) < jobs:
                    self._start(waiting.pop(0))
                self._listen()
                self._reap()
        finally:
            self.line.cut()
            for process in self.running.values():
                process.join(2 * CLEAN_UP_SECONDS)
                process.kill()

    def _start(self, seed: int) -> None:
        folder = seed_folder(self.folder, seed)
        recipe = self.recipe.with_seed(seed)
        arguments = (self.train, recipe, folder, self.options, seed, self.messages, self.line.end)
        process = self.context.Process(target=_train_one, args=arguments, daemon=True)
        with uninterrupted_children():
            process.start()
        self.running[seed] = process

    def _listen(self) -> None:
        try:
            seed, message = self.messages.get(timeout=SECONDS_BETWEEN_MESSAGES)
        except queue.Empty:
            return
        if isinstance(message, BaseException):
            raise message
        if self.on_event is not None:
            self.on_event(seed, message)

    def _reap(self) -> None:
        for seed, process in list(self.running.items()):
            if process.is_alive():
                continue
            # An error may still be on its way.
            while not self.messages.empty():
                self._listen()
            if process.exitcode != 0:
                raise LexitreeError(
                    f"the process of seed {seed} {how_it_ended(process.exitcode)}",
                    remedy="Run the same command with --resume; every seed continues from its last epoch.",
                )
            del self.running[seed]


def _train_one(
    train: Callable[..., object],
    recipe: SeededRecipe,
    folder: Path,
    options: dict[str, Any],
    seed: int,
    messages: Any,
    line: Connection,
) -> None:
    """The body of a worker process."""
    hold_on(line)
    interrupt_on_signals()
    # An ordinary exit would wait for somebody to read the messages.
    with ending_at_once():
        try:
            train(recipe, folder, observer=_Sender(seed, messages), **options)
        except LexitreeError as error:
            messages.put((seed, error))
        except (MemoryError, RuntimeError) as error:
            if not (shortage := find_memory_error(error)):
                raise
            messages.put((seed, shortage))


class _Sender:
    """Sends what a run reports to the parent process, batches not more often than people can read."""

    def __init__(self, seed: int, messages: Any) -> None:
        self.seed = seed
        self.messages = messages
        self.last = 0.0

    def on_batch(self, progress: BatchProgress) -> None:
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_MESSAGES:
            self.last = now
            self.messages.put((self.seed, progress))

    def on_epoch(self, record: EpochRecord) -> None:
        self.messages.put((self.seed, record))

    def close(self) -> None:
        return None
