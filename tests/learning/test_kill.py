"""Training killed at ten random moments, and resumed each time, ends bit by bit as if nothing had happened."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint
from tests.command import COMMAND, environment, leftovers, run_command, set_options
from tests.tiny import write_treebank

NUM_KILLS = 10
NUM_EPOCHS = 60
MAX_SECONDS_OF_A_START = 60


def train_arguments(treebank: Path, folder: Path) -> list[str]:
    sizes = {"model.hidden": 24, "model.word_size": 24, "model.output": 16}
    options = ["--epochs", str(NUM_EPOCHS), "--batch-size", "8"]
    settings = set_options({**sizes, "training.learning_rate": 0.003})
    return ["train", str(treebank), "-o", str(folder), *settings, *options, "--device", "cpu"]


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + MAX_SECONDS_OF_A_START
    while not condition():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.0002)


def checkpoint_time(folder: Path) -> int:
    path = folder / CHECKPOINT_FILE
    return path.stat().st_mtime_ns if path.exists() else 0


def kill_within_an_epoch(folder: Path, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    """Let it finish a random number of epochs and then run on for a moment."""
    for _ in range(rng.randint(1, 3)):
        before = checkpoint_time(folder)
        wait_until(lambda before=before: checkpoint_time(folder) != before, process)
    time.sleep(rng.uniform(0, 0.04))


def kill_while_writing(pattern: str) -> Callable[[Path, subprocess.Popen[bytes], random.Random], None]:
    """Wait for an unfinished file or folder to appear; seldom is it finished before the signal arrives."""

    def wait(folder: Path, process: subprocess.Popen[bytes], rng: random.Random) -> None:
        before = checkpoint_time(folder)
        wait_until(lambda: checkpoint_time(folder) != before, process)
        wait_until(lambda: any(folder.glob(pattern)), process)
        time.sleep(rng.uniform(0, 0.001))

    return wait


def kill_while_starting(folder: Path, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    del folder, process
    time.sleep(rng.uniform(0.1, 2.0))


MOMENTS = (
    [kill_while_starting]
    + [kill_within_an_epoch] * 5
    + [kill_while_writing(".checkpoint.safetensors.*.part")] * 3
    + [kill_while_writing(".model.*.part")]
)


def final_state(folder: Path) -> dict[str, Any]:
    """All that a run ends with, but for the times it took."""
    checkpoint = load_checkpoint(folder / CHECKPOINT_FILE)
    timeless = [
        {key: value for key, value in record.items() if key not in ("seconds", "trees_per_second")}
        for record in checkpoint.record["history"]
    ]
    model = folder / "model"
    return {
        "model": {path.name: path.read_bytes() for path in model.iterdir()},
        "weights": tensor_bytes(checkpoint.weights),
        "best weights": tensor_bytes(checkpoint.best_weights),
        "optimizer": tensor_bytes(checkpoint.optimizer),
        "history": timeless,
    }


def tensor_bytes(tensors: Any) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def test_ten_kills_change_nothing(tmp_path: Path) -> None:
    treebank = write_treebank(tmp_path / "treebank", {"train": 80, "dev": 20, "test": 10})
    undisturbed = run_command(*train_arguments(treebank, tmp_path / "a"))
    assert undisturbed.returncode == 0, undisturbed.stderr

    rng = random.Random(2017)
    folder = tmp_path / "b"
    unfinished: list[str] = []
    for wait_for_moment in rng.sample(MOMENTS, NUM_KILLS):
        process = subprocess.Popen(
            [*COMMAND, *train_arguments(treebank, folder), "--resume"],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_moment(folder, process, rng)
        finally:
            process.kill()
        assert process.wait() == -signal.SIGKILL
        unfinished += [path.name for path in leftovers(folder)]
    assert any(name.startswith(".checkpoint") for name in unfinished), (
        "no kill hit the writing of a checkpoint"
    )
    num_epochs_done = len(load_checkpoint(folder / CHECKPOINT_FILE).record["history"])
    assert 0 < num_epochs_done < NUM_EPOCHS

    finished = run_command(*train_arguments(treebank, folder), "--resume")
    assert finished.returncode == 0, finished.stderr
    first, second = final_state(tmp_path / "a"), final_state(folder)
    for part in first:
        assert first[part] == second[part], part
    assert [record["epoch"] for record in first["history"]] == list(range(1, NUM_EPOCHS + 1))
    assert finished.stdout.partition("|  ")[0] == undisturbed.stdout.partition("|  ")[0]
    assert not leftovers(folder)
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in metrics] == list(range(1, NUM_EPOCHS + 1))


def test_the_comparison_would_see_one_bit(tmp_path: Path) -> None:
    weights = torch.zeros(3)
    changed = weights.clone()
    changed[1] = -0.0
    assert tensor_bytes({"w": weights}) != tensor_bytes({"w": changed})


@pytest.mark.slow
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    """Ctrl-C is kinder than a kill, and ends the same way."""
    treebank = write_treebank(tmp_path / "treebank")
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*COMMAND, *train_arguments(treebank, folder)],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # What runs in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(lambda: checkpoint_time(folder) > 0, process)
    process.send_signal(signal.SIGINT)
    assert b"Traceback" not in process.communicate()[1]
    assert process.returncode == 130
    assert run_command(*train_arguments(treebank, folder), "--resume").returncode == 0
