"""Trials in processes: their order does not matter, and faults of the machine are not those of a trial."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.sweeps.ledger import FinishedTrial, open_sweep
from lexitree.sweeps.local_engine import run_locally
from lexitree.tasks.classify.recipe import Recipe
from tests.sweeps.fake_trials import (
    deadly_third,
    dies_afterwards,
    dies_once,
    full_disk,
    results,
    run_all,
    slow_at_first,
    write_space,
)

pytest.importorskip("optuna", reason="the extra sweep is not installed")
pytestmark = pytest.mark.slow


def test_processes_give_the_same_trials(tmp_path: Path) -> None:
    space = write_space(tmp_path, trials=8)
    with open_sweep(tmp_path / "here", Recipe(), space, jobs=2) as here:
        run_all(here)
    heard: set[int] = set()

    def listen(number: int, *_: float) -> None:
        heard.add(number)

    with open_sweep(tmp_path / "there", Recipe(), space, jobs=2) as there:
        run_locally(there, run=slow_at_first, on_progress=listen)
    assert results(there) == results(here)
    assert heard == {trial.number for trial in there.finished() if trial.outcome.state != "failed"}


def test_a_killed_process_fails_its_trial_and_no_other(tmp_path: Path) -> None:
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=4), jobs=1) as sweep:
        run_locally(sweep, run=deadly_third)
    errors = [trial.outcome.error for trial in sweep.finished()]
    assert "was killed (SIGKILL), 3 times in a row" in errors[2]
    assert not any("killed" in error for error in errors[:2] + errors[3:])


def test_a_trial_whose_process_dies_is_continued(tmp_path: Path) -> None:
    space = write_space(tmp_path, trials=1)
    with open_sweep(tmp_path / "here", Recipe(), space) as here:
        run_all(here)
    with open_sweep(tmp_path / "there", Recipe(), space) as there:
        run_locally(there, run=dies_once)
    assert results(there) == results(here)


def test_a_fault_of_the_machine_ends_the_sweep_and_not_the_trial(tmp_path: Path) -> None:
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=3)) as sweep:
        with pytest.raises(FileError, match="No space left") as raised:
            run_locally(sweep, run=full_disk)
        assert raised.value.remedy == "Make space."
        assert len(sweep.finished()) == 1
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=3), resume=True) as again:
        run_all(again)
        assert len(again.finished()) == 3


def test_a_process_that_dies_between_two_trials_is_replaced(tmp_path: Path) -> None:
    def dawdle(trial: FinishedTrial) -> None:
        time.sleep(1.0)

    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=2), on_trial=dawdle) as sweep:
        run_locally(sweep, run=dies_afterwards)
        assert [trial.number for trial in sweep.finished()] == [0, 1]
