"""Several seeds in parallel processes: scores over all of them, and failures that name themselves."""

from __future__ import annotations

import json
import os
import queue
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from lexitree.errors import (
    BracketError,
    CheckpointError,
    ConfigError,
    FileError,
    LexitreeError,
    NotEnoughMemoryError,
)
from lexitree.learning import seeds as seeds_module
from lexitree.learning.observers import BatchProgress, EpochRecord
from lexitree.learning.run_folder import seed_folder
from lexitree.learning.seeds import SeedSummary
from lexitree.processes import Lifeline
from lexitree.tasks.classify.run import train, train_seeds
from lexitree.tasks.classify.task import SCORES
from tests.command import environment, is_alive, leftovers, processes_below, wait_until
from tests.tiny import tiny_recipe


@pytest.mark.slow
def test_two_seeds_in_parallel(treebank: Path, tmp_path: Path) -> None:
    heard: list[tuple[int, BatchProgress | EpochRecord]] = []
    recipe = tiny_recipe(treebank, epochs=2)
    summary = train_seeds(
        recipe, [3, 5], tmp_path / "both", jobs=2, on_event=lambda *event: heard.append(event)
    )
    epochs = [(seed, event.epoch) for seed, event in heard if isinstance(event, EpochRecord)]
    assert sorted(epochs) == [(3, 1), (3, 2), (5, 1), (5, 2)]
    values = [summary.results[seed]["dev_phrase"] for seed in (3, 5)]
    spread = summary.spread("dev_phrase")
    assert spread is not None
    assert spread.mean == pytest.approx(statistics.mean(values))
    assert spread.deviation == pytest.approx(statistics.stdev(values))
    assert json.loads((tmp_path / "both" / "summary.json").read_text()) == json.loads(
        json.dumps(summary.as_dict())
    )
    # A seed trained among others is the seed trained alone.
    train(recipe.with_seed(5), tmp_path / "alone")
    alone, among = (
        (folder / "model" / "model.safetensors").read_bytes()
        for folder in (tmp_path / "alone", seed_folder(tmp_path / "both", 5))
    )
    assert alone == among

    with pytest.raises(FileError, match="already holds a run"):
        train_seeds(recipe, [3], tmp_path / "both")
    more = train_seeds(tiny_recipe(treebank, epochs=3), [3], tmp_path / "both", resume=True)
    assert len(more.results[3]["epochs"]) == 3
    with pytest.raises(CheckpointError, match="batch_size was 25, is 4"):
        train_seeds(tiny_recipe(treebank, batch_size=4), [3], tmp_path / "both", resume=True)


def test_a_seed_among_others_is_not_the_recipes(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank, epochs=1)
    assert recipe.training.seed != 7
    train_seeds(recipe, [7], tmp_path)
    record = json.loads((seed_folder(tmp_path, 7) / "result.json").read_text())
    assert record["recipe"]["training"]["seed"] == 7


def test_the_summary_chooses_by_development_accuracy() -> None:
    def scores(dev: float, test: float | None) -> dict[str, float | None]:
        return {"dev_root": dev, "dev_phrase": None, "test_root": test, "test_phrase": None}

    summary = SeedSummary({1: scores(0.5, 0.9), 2: scores(0.7, 0.1), 3: scores(0.6, 0.5)}, SCORES)
    assert summary.best_seed == 2
    assert summary.spread("dev_phrase") is None
    spread = summary.spread("test_root")
    assert spread is not None
    assert spread.mean == pytest.approx(0.5)
    assert spread.deviation == pytest.approx(0.4)
    only = SeedSummary({1: scores(0.5, 0.9)}, SCORES).spread("test_root")
    assert only is not None
    assert (only.mean, only.deviation) == (0.9, 0.0)


@pytest.mark.parametrize("seeds", [[], [1, 1]])
def test_seeds_are_given_once_each(treebank: Path, tmp_path: Path, seeds: list[int]) -> None:
    with pytest.raises(ConfigError, match="each seed once"):
        train_seeds(tiny_recipe(treebank), seeds, tmp_path)


def test_an_error_in_a_worker_is_the_error_itself(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("(1 (0 a) (1 b))\n(1 (0 a)\n")
    with pytest.raises(BracketError) as caught:
        train_seeds(tiny_recipe(tmp_path), [1, 2], tmp_path / "run", jobs=1)
    assert caught.value.place.path == str(tmp_path / "train.txt")
    assert "^" in str(caught.value)


@pytest.mark.slow
def test_a_worker_killed_from_outside(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank, epochs=100_000)
    killed: list[int] = []

    def kill_first(seed: int, event: BatchProgress | EpochRecord) -> None:
        if isinstance(event, EpochRecord) and not killed:
            killed.append(seed)
            os.kill(_child_process(), signal.SIGKILL)

    with pytest.raises(LexitreeError, match=r"seed 1 was killed \(SIGKILL\)") as caught:
        train_seeds(recipe, [1], tmp_path, on_event=kill_first)
    assert "--resume" in caught.value.remedy
    num_epochs = len((seed_folder(tmp_path, 1) / "metrics.jsonl").read_text().splitlines())
    summary = train_seeds(tiny_recipe(treebank, epochs=num_epochs + 2), [1], tmp_path, resume=True)
    assert len(summary.results[1]["epochs"]) >= num_epochs + 2


def _child_process() -> int:
    """The one process that multiprocessing runs for us."""
    import multiprocessing

    (process,) = multiprocessing.active_children()
    assert process.pid is not None
    return process.pid


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=str
)
def test_workers_end_with_their_parent(treebank: Path, tmp_path: Path, number: int) -> None:
    """Killed, or stopped as the command line is by SIGTERM; no unfinished file is left."""
    code = f"""
import signal
from pathlib import Path
from lexitree.tasks.classify.run import train_seeds
from tests.tiny import tiny_recipe
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    recipe = tiny_recipe(Path({str(treebank)!r}), epochs=100_000)
    train_seeds(recipe, [1, 2], {str(tmp_path / "run")!r}, jobs=2)
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        env={**environment(), "PYTHONPATH": path},
        cwd=root,
        stderr=subprocess.DEVNULL,
    )
    metrics = [seed_folder(tmp_path / "run", seed) / "metrics.jsonl" for seed in (1, 2)]
    try:
        wait_until(lambda: all(path.exists() for path in metrics))
        workers = processes_below(parent.pid)
        assert len(workers) >= 2
    finally:
        parent.send_signal(number)
        parent.wait()
    wait_until(lambda: not any(map(is_alive, workers)))
    assert not leftovers(tmp_path)


def test_a_process_without_memory_says_so_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds_module, "interrupt_on_signals", lambda: None)
    monkeypatch.setattr(seeds_module, "hold_on", lambda _: None)
    messages: queue.SimpleQueue[tuple[int, object]] = queue.SimpleQueue()

    def run(error: Exception) -> None:
        def train(*_: object, **__: object) -> None:
            raise error

        seeds_module._train_one(train, tiny_recipe(Path("none")), Path(), {}, 7, messages, Lifeline().end)

    run(MemoryError("Unable to allocate 8 EiB"))
    seed, error = messages.get()
    assert seed == 7
    assert isinstance(error, NotEnoughMemoryError)
    with pytest.raises(RuntimeError, match="something else"):
        run(RuntimeError("something else"))
    assert messages.empty()
