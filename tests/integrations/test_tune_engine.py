"""Ray Tune runs the same trials as processes do; one whose process is killed again and again fails alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import LexitreeError
from lexitree.integrations.tune_engine import run_with_tune
from lexitree.sweeps.ledger import open_sweep
from lexitree.tasks.classify.recipe import Recipe
from tests.sweeps.fake_trials import (
    deadly_third,
    fake_trial,
    full_disk,
    note_working_folder,
    results,
    run_all,
    write_space,
)

pytest.importorskip("optuna", reason="the extra sweep is not installed")
ray: Any = pytest.importorskip("ray", reason="the extra ray is not installed")
pytest.importorskip("ray.tune", reason="Ray Tune is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def started_ray() -> Iterator[None]:
    """One Ray for all tests, since it takes long to start."""
    root = str(Path(__file__).parents[2])
    ray.init(
        num_cpus=2,
        object_store_memory=100 << 20,
        include_dashboard=False,
        log_to_driver=False,
        # Functions of the tests run in Ray's processes.
        runtime_env={"env_vars": {"PYTHONPATH": f"{root}:{root}/src"}},
    )
    yield
    ray.shutdown()


def test_ray_gives_the_same_trials(tmp_path: Path) -> None:
    """And one that was interrupted elsewhere is continued."""
    space = write_space(tmp_path, trials=6)
    with open_sweep(tmp_path / "here", Recipe(), space, jobs=2) as here:
        run_all(here)
    with open_sweep(tmp_path / "there", Recipe(), space, jobs=2) as begun:
        run_all(begun, most=2, newest_first=True)
    heard: set[int] = set()
    lock = threading.Lock()

    def listen(number: int, *_: float) -> None:
        # Bars on the screen have locks, too, and cannot be sent to other processes.
        with lock:
            heard.add(number)

    with open_sweep(tmp_path / "there", Recipe(), space, jobs=2, resume=True) as there:
        run_with_tune(there, run=fake_trial, on_progress=listen)
    assert results(there) == results(here)
    assert heard


def test_relative_paths_are_those_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray Tune would run trials in folders of its own."""
    monkeypatch.chdir(tmp_path)
    with open_sweep("runs", Recipe(), write_space(tmp_path, trials=1)) as sweep:
        run_with_tune(sweep, run=note_working_folder)
    assert (tmp_path / "runs" / "trials" / "0000" / "working-folder").read_text("utf-8") == str(tmp_path)


def test_a_killed_process_fails_its_trial_and_no_other(tmp_path: Path) -> None:
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=4)) as sweep:
        run_with_tune(sweep, run=deadly_third)
    errors = [trial.outcome.error for trial in sweep.finished()]
    assert "gave it up after 3 tries" in errors[2]
    assert not any("killed" in error for error in errors[:2] + errors[3:])


def test_a_fault_of_a_machine_ends_the_sweep_and_not_the_trial(tmp_path: Path) -> None:
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=3)) as sweep:
        with pytest.raises(LexitreeError, match="No space left") as raised:
            run_with_tune(sweep, run=full_disk)
        assert raised.value.remedy == "Make space."
        assert len(sweep.finished()) == 1
