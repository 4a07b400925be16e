"""One recipe and several seeds in, parallel runs with mean and standard deviation out."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError, FileError, LexitreeError
from lexitree.files import atomic_write
from lexitree.learning.observers import BatchProgress, EpochRecord
from lexitree.learning.run_folder import read_result
from lexitree.ops.precision import products_in
from lexitree.ops.threads import use_cores
from lexitree.processes import how_it_ended
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import load_recipe_corpus, make_lessons, train
from lexitree.tasks.classify.teaching import LESSONS_FILE

SUMMARY_FILE = "summary.json"
SCORES = ("dev_root", "dev_phrase", "test_root", "test_phrase")
SECONDS_BETWEEN_MESSAGES = 0.25

Event = BatchProgress | EpochRecord
OnEvent = Callable[[int, Event], None]


@dataclass(frozen=True, slots=True)
class Spread:
    """A score over several seeds."""

    mean: float
    deviation: float
    """The sample standard deviation; 0 for one seed."""


@dataclass(frozen=True, slots=True)
class SeedSummary:
    """The scores of all seeds, and the seed whose model development accuracy chooses."""

    results: dict[int, dict[str, Any]]
    wall_seconds: float | None = None
    """How long all of them took together, start-up and evaluation included."""

    @property
    def best_seed(self) -> int:
        return max(self.results, key=lambda seed: self.results[seed]["dev_root"])

    def spread(self, score: str) -> Spread | None:
        """Mean and deviation of one score, None where the corpus does not have it."""
        values = [result[score] for result in self.results.values()]
        if any(value is None for value in values):
            return None
        return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)

    def as_dict(self) -> dict[str, Any]:
        spreads = {score: self.spread(score) for score in SCORES}
        return {
            "best_seed": self.best_seed,
            "wall_seconds": self.wall_seconds,
            "scores": {
                score: {"mean": spread.mean, "deviation": spread.deviation} if spread else None
                for score, spread in spreads.items()
            },
            "seeds": {str(seed): result for seed, result in self.results.items()},
        }


def seed_folder(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def train_seeds(
    recipe: Recipe,
    seeds: Sequence[int],
    folder: str | Path,
    *,
    corpus: Corpus | None = None,
    jobs: int | None = None,
    threads: int = 1,
    device: str = "cpu",
    backend: str = "auto",
    precision: str = "float32",
    resume: bool = False,
    on_event: OnEvent | None = None,
) -> SeedSummary:
    """Train a recipe once for each seed, `jobs` at a time, each in its own process and directory.

    Each of them reads the corpus; a teacher labels it once for all, as it was given or is read here.
    """
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ConfigError("give each seed once, and at least one")
    start = time.perf_counter()
    folder = Path(folder)
    jobs = min(jobs or os.cpu_count() or 1, len(seeds))
    options: dict[str, Any] = {
        "threads": threads,
        "device": device,
        "backend": backend,
        "precision": precision,
        "resume": resume,
    }
    if recipe.teacher:
        with use_cores(threads), products_in(precision):
            options["lessons"] = _common_lessons(recipe, corpus, folder, resume, device, backend)
    # A seed that is done starts as well: only its checkpoint can tell whether it was done with these settings.
    _Pool(recipe, folder, options, on_event).run(seeds, jobs)
    results = {seed: read_result(seed_folder(folder, seed)) for seed in seeds}
    summary = SeedSummary(results, time.perf_counter() - start)
    with atomic_write(folder / SUMMARY_FILE) as stream:
        json.dump(summary.as_dict(), stream, indent=2)
        stream.write("\n")
    return summary


def _common_lessons(
    recipe: Recipe, corpus: Corpus | None, folder: Path, resume: bool, device: str, backend: str
) -> Path:
    path = folder / LESSONS_FILE
    if path.exists() and not resume:
        raise FileError(
            folder, "already holds runs", remedy="Go on with them by --resume, or choose another directory."
        )
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_lessons(recipe, corpus or load_recipe_corpus(recipe), path, device=device, backend=backend)
    return path


class _Pool:
    """Keeps `jobs` processes busy and passes on what they tell; the first failure ends all of them."""

    def __init__(
        self, recipe: Recipe, folder: Path, options: dict[str, Any], on_event: OnEvent | None
    ) -> None:
        self.recipe = recipe
        self.folder = folder
        self.options = options
        self.on_event = on_event
        # A fresh interpreter each: forking a process that runs threads is not safe.
        self.context = multiprocessing.get_context("spawn")
        self.messages: Any = self.context.Queue()
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
            for process in self.running.values():
                process.terminate()
            for process in self.running.values():
                process.join()

    def _start(self, seed: int) -> None:
        folder = seed_folder(self.folder, seed)
        arguments = (self.recipe.with_seed(seed), folder, self.options, self.messages)
        process = self.context.Process(target=_train_one, args=arguments, daemon=True)
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
                    remedy="Run the same command with --resume; every seed goes on from its last epoch.",
                )
            del self.running[seed]


def _train_one(recipe: Recipe, folder: Path, options: dict[str, Any], messages: Any) -> None:
    """The body of a worker process."""
    seed = recipe.training.seed
    try:
        train(recipe, folder, observer=_Sender(seed, messages), **options)
    except LexitreeError as error:
        messages.put((seed, error))
    except KeyboardInterrupt:
        pass


class _Sender:
    """Sends what a run tells to the parent, batches not more often than people can read."""

    def __init__(self, seed: int, messages: Any) -> None:
        self.seed = seed
        self.messages = messages
        self.last = 0.0

    def on_batch(self, progress: BatchProgress) -> None:
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_MESSAGES:
            self.last = now
            _stop_without_parent()
            self.messages.put((self.seed, progress))

    def on_epoch(self, record: EpochRecord) -> None:
        self.messages.put((self.seed, record))

    def close(self) -> None:
        return None


def _stop_without_parent() -> None:
    """A worker whose parent was killed would train on unseen, into the directory of the run that resumes it."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        sys.exit(1)
