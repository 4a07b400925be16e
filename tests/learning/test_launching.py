"""`lexitree train --processes` and torchrun: killed at random moments and resumed, and errors that are shown once."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, LexitreeError, LostProcessError, NotEnoughMemoryError
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.launching import launch_processes
from tests.command import (
    COMMAND,
    assert_one_clear_error,
    environment,
    is_alive,
    leftovers,
    processes_below,
    run_command,
)
from tests.learning.forked import torchrun_variables
from tests.learning.test_kill import (
    NUM_EPOCHS,
    checkpoint_time,
    final_state,
    train_arguments,
    wait_until,
)

NUM_KILLS = 5
TORCHRUN = (
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--standalone",
    "--nproc-per-node",
    "2",
    "-m",
    "lexitree",
)


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that train."""
    return [
        number
        for number in processes_below(process.pid)
        if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]


def kill_at_random(arguments: list[str], folder: Path, rng: random.Random) -> None:
    """Start a run, let it finish an epoch and go on for a moment, and kill the command or one of its processes."""
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--resume"],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    before = checkpoint_time(folder)
    wait_until(lambda: checkpoint_time(folder) != before, process)
    time.sleep(rng.uniform(0, 1.0))
    workers = workers_of(process)
    victim = rng.choice([process.pid, *workers])
    os.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    if victim == process.pid:
        assert process.returncode == -signal.SIGKILL
        # The others notice that they are alone, and give the folder back.
        end = time.monotonic() + 60
        while any(map(is_alive, workers)):
            assert time.monotonic() < end
            time.sleep(0.05)
    else:
        assert process.returncode == 1
        assert errors.decode().count("error:") == 1
        assert "was killed (SIGKILL)" in errors.decode()


@pytest.mark.slow
def test_kills_change_nothing_and_neither_does_torchrun(tmp_path: Path) -> None:
    arguments = train_arguments("sentences", tmp_path, tmp_path / "a")
    undisturbed = run_command(*arguments, "--processes", "2", timeout=600)
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert undisturbed.stderr.count("epoch  1 ") == 1
    folder = tmp_path / "b"
    arguments = [*train_arguments("sentences", tmp_path, folder), "--processes", "2"]
    rng = random.Random(2017)
    for _ in range(NUM_KILLS):
        kill_at_random(arguments, folder, rng)
    finished = subprocess.run(
        [*TORCHRUN, *train_arguments("sentences", tmp_path, folder), "--resume"],
        env=environment(),
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    first, second = final_state(tmp_path / "a"), final_state(folder)
    for part in first:
        assert first[part] == second[part], part
    assert len(second["history"]) == NUM_EPOCHS
    assert not leftovers(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_all_processes(number: signal.Signals, status: int, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = [*train_arguments("sentences", tmp_path, folder), "--processes", "2"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    wait_until(lambda: checkpoint_time(folder) > 0, process)
    workers = workers_of(process)
    process.send_signal(number)
    assert b"Traceback" not in process.communicate(timeout=60)[1]
    assert process.returncode == status
    assert not any(map(is_alive, workers))
    assert not leftovers(folder)


@pytest.mark.slow
def test_one_error_for_all_processes(tmp_path: Path) -> None:
    missing = run_command("train", tmp_path / "none", "-o", tmp_path / "run", "--processes", 2)
    assert_one_clear_error(missing, "no such file or folder")
    seeds = run_command("train", "mini-reviews", "-o", tmp_path / "run", "--processes", 2, "--seeds", "1-2")
    assert_one_clear_error(seeds, "several processes train one seed together")
    # A run whose dropout was drawn in another way is another run.
    arguments = train_arguments("sentences", tmp_path, tmp_path / "run")
    assert run_command(*arguments, "--set", "training.epochs=1", timeout=300).returncode == 0
    other = run_command(*arguments, "--resume", "--processes", 2, timeout=300)
    assert_one_clear_error(other, "belongs to another run", "dropout is drawn by was None, is 'example'")
    assert (tmp_path / "run" / CHECKPOINT_FILE).exists()


def fail_while_another_waits(error: Exception) -> None:
    """The second process fails; the first waits for it without noticing, as for a sum on a GPU."""
    if int(os.environ["RANK"]):
        raise error
    time.sleep(600)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConfigError("wrong", remedy="Mend it."), ConfigError("wrong", remedy="Mend it.")),
        (RuntimeError("CUDA out of memory."), NotEnoughMemoryError("not enough memory: CUDA out of memory.")),
        (LostProcessError("it does not answer"), LostProcessError("it does not answer")),
    ],
)
def test_a_process_that_fails_ends_those_that_wait_for_it(error: Exception, expected: LexitreeError) -> None:
    start = time.monotonic()
    with pytest.raises(type(expected), match=expected.message) as raised:
        launch_processes(2, functools.partial(fail_while_another_waits, error))
    assert raised.value.remedy == expected.remedy
    assert time.monotonic() - start < 60


def test_no_processes_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    work: Any = functools.partial(pytest.fail, "it was started")
    for name, value in torchrun_variables(0, 2, 1).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="torchrun has started the processes already"):
        launch_processes(2, work)
