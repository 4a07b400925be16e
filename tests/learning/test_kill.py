"""Runs of every task that are killed at random moments and resumed end bit by bit as if nothing had happened."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint
from tests.command import COMMAND, environment, leftovers, run_command
from tests.tiny import write_treebank

NUM_EPOCHS = 40
MAX_SECONDS_OF_A_START = 60
TIMES = ("seconds", "examples_per_second")
TASKS = ("sentences", "parser")

PARSER_RECIPE = f"""
min_count = 1
[model]
word_size = 12
affix_size = 12
affix_rows = 64
style_size = 4
hidden = 12
layers = 1
span_size = 12
[training]
epochs = {NUM_EPOCHS}
batch_words = 40
averaging = 0.8
patience = {NUM_EPOCHS}
[[treebanks]]
name = "train"
path = "mini-questions/train"
last = 8
[[treebanks]]
name = "dev"
path = "mini-questions/train"
part = "dev"
last = 4
"""


def train_arguments(task: str, data: Path, folder: Path) -> list[str]:
    """A command that trains a tiny model of the task for many epochs."""
    common = ["-o", str(folder), "--device", "cpu"]
    epochs = ["--epochs", str(NUM_EPOCHS)]
    if task == "sentences":
        treebank = data / "treebank"
        if not treebank.exists():
            write_treebank(treebank, {"train": 80, "dev": 20, "test": 10})
        recipe = write_recipe(
            data,
            "[model]\nhidden = 24\nword_size = 24\noutput = 16\n"
            "[training]\nbatch_size = 8\nlearning_rate = 0.003\n",
        )
        return ["train", str(treebank), "--recipe", str(recipe), *common, *epochs]
    return ["parser", "train", "--recipe", str(write_recipe(data, PARSER_RECIPE)), *common]


def write_recipe(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + MAX_SECONDS_OF_A_START
    while not condition():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.0002)


def checkpoint_time(folder: Path) -> int:
    path = folder / CHECKPOINT_FILE
    return path.stat().st_mtime_ns if path.exists() else 0


Moment = Callable[[Path, subprocess.Popen[bytes], random.Random], None]


def within_an_epoch(folder: Path, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    """Let it finish an epoch and then run on for a moment."""
    before = checkpoint_time(folder)
    wait_until(lambda: checkpoint_time(folder) != before, process)
    time.sleep(rng.uniform(0, 0.04))


def while_writing(pattern: str) -> Moment:
    """Wait for an unfinished file or folder to appear; seldom is it finished before the signal arrives."""

    def wait(folder: Path, process: subprocess.Popen[bytes], rng: random.Random) -> None:
        before = checkpoint_time(folder)
        wait_until(lambda: checkpoint_time(folder) != before, process)
        wait_until(lambda: any(folder.glob(pattern)), process)
        time.sleep(rng.uniform(0, 0.001))

    return wait


def while_starting(folder: Path, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    del folder, process
    time.sleep(rng.uniform(0.1, 2.0))


CHECKPOINT_PART = ".checkpoint.safetensors.*.part"
FEW_MOMENTS = [within_an_epoch, while_writing(CHECKPOINT_PART)]
TEN_MOMENTS = [
    while_starting,
    *[within_an_epoch] * 5,
    *[while_writing(CHECKPOINT_PART)] * 3,
    while_writing(".model.*.part"),
]


def final_state(folder: Path) -> dict[str, Any]:
    """All that a run ends with, except for the times it took."""
    checkpoint = load_checkpoint(folder / CHECKPOINT_FILE)
    return {
        "model": {
            str(path.relative_to(folder)): path.read_bytes()
            for path in (folder / "model").rglob("*")
            if path.is_file()
        },
        "weights": tensor_bytes(checkpoint.weights),
        "best weights": tensor_bytes(checkpoint.best_weights),
        "optimizer": tensor_bytes(checkpoint.optimizer),
        "history": [
            {key: value for key, value in record.items() if key not in TIMES}
            for record in checkpoint.record["history"]
        ],
    }


def tensor_bytes(tensors: Any) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def check_kills(
    arguments_of: Callable[[Path, Path], list[str]], moments: list[Moment], tmp_path: Path
) -> None:
    """Kill a run at each of the moments, resume it, and compare it with one that ran through.

    `arguments_of` gives the command that trains: it takes a folder for data and that of the run.
    """
    undisturbed = run_command(*arguments_of(tmp_path, tmp_path / "a"))
    assert undisturbed.returncode == 0, undisturbed.stderr
    rng = random.Random(2017)
    folder = tmp_path / "b"
    arguments = arguments_of(tmp_path, folder)
    for wait_for_moment in moments:
        process = subprocess.Popen(
            [*COMMAND, *arguments, "--resume"],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_moment(folder, process, rng)
        finally:
            process.kill()
        assert process.wait() == -signal.SIGKILL
    num_epochs_done = len(load_checkpoint(folder / CHECKPOINT_FILE).record["history"])
    assert 0 < num_epochs_done < NUM_EPOCHS
    finished = run_command(*arguments, "--resume")
    assert finished.returncode == 0, finished.stderr
    first, second = final_state(tmp_path / "a"), final_state(folder)
    for part in first:
        assert first[part] == second[part], part
    assert finished.stdout.partition("|  ")[0] == undisturbed.stdout.partition("|  ")[0].replace("/a/", "/b/")
    assert not leftovers(folder)
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in metrics] == list(range(1, NUM_EPOCHS + 1))


@pytest.mark.slow  # tests/fault_injection kills training at single calls, which is quicker
@pytest.mark.parametrize("task", TASKS)
def test_a_few_kills_change_nothing(task: str, tmp_path: Path) -> None:
    check_kills(partial(train_arguments, task), FEW_MOMENTS, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_ten_kills_change_nothing(task: str, tmp_path: Path) -> None:
    # Whether a kill hits a checkpoint being written is luck here; tests/fault_injection kills at every call of a write.
    check_kills(partial(train_arguments, task), random.Random(1).sample(TEN_MOMENTS, 10), tmp_path)


def test_the_comparison_would_see_one_bit() -> None:
    weights = torch.zeros(3)
    changed = weights.clone()
    changed[1] = -0.0
    assert tensor_bytes({"w": weights}) != tensor_bytes({"w": changed})


@pytest.mark.slow
def test_an_interrupted_run_resumes(tmp_path: Path) -> None:
    """Ctrl-C is kinder than a kill, and ends the same way."""
    folder = tmp_path / "run"
    arguments = train_arguments("sentences", tmp_path, folder)
    process = subprocess.Popen(
        [*COMMAND, *arguments],
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
    assert run_command(*arguments, "--resume").returncode == 0
