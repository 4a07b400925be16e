"""A sweep ends with the same trials however its trials are interleaved, interrupted and resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import FileError, LexitreeError
from lexitree.sweeps.ledger import best_trial, open_sweep
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from tests.sweeps.fake_trials import results, run_all, write_space

pytest.importorskip("optuna", reason="the extra sweep is not installed")

NUM_TRIALS = 12


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_sweep_ends_with_the_same_trials(jobs: int, tmp_path: Path) -> None:
    space = write_space(tmp_path, trials=NUM_TRIALS)
    with open_sweep(tmp_path / "whole", Recipe(), space, jobs=jobs) as whole:
        run_all(whole)
        assert whole.is_done
    for most in (0, 3, 2, None):
        with open_sweep(tmp_path / "cut", Recipe(), space, jobs=jobs, resume=True) as cut:
            # With several jobs, what has ended is lost with the process if an earlier trial has not.
            run_all(cut, most=most, newest_first=True)
    assert results(cut) == results(whole)
    states = [trial.outcome.state for trial in cut.finished()]
    assert {"complete", "failed"} <= set(states)
    best = best_trial(cut.finished())
    assert best.number == best_trial(whole.finished()).number
    assert best.outcome.spread == max(
        (each.outcome.spread for each in cut.finished() if each.outcome.spread), key=lambda each: each.mean
    )


def test_the_paths_of_a_trial_hold_in_any_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_sweep("runs", Recipe(), write_space(tmp_path)) as sweep:
        job = sweep.next_job()
    assert job is not None
    assert job.folder == tmp_path / "runs" / "trials" / "0000"
    assert job.lessons == tmp_path / "runs" / "lessons"


def test_more_trials_can_be_added(tmp_path: Path) -> None:
    for trials in (3, 5):
        space = write_space(tmp_path, trials=trials)
        with open_sweep(tmp_path / "runs", Recipe(), space, resume=trials == 5) as sweep:
            run_all(sweep)
            assert len(sweep.finished()) == trials


def test_another_sweep_is_not_resumed(tmp_path: Path) -> None:
    space = write_space(tmp_path, trials=2)
    with open_sweep(tmp_path / "runs", Recipe(), space) as sweep:
        run_all(sweep)
        with (
            pytest.raises(FileError, match="in use"),
            open_sweep(tmp_path / "runs", Recipe(), space, resume=True),
        ):
            pass
    with (
        pytest.raises(FileError, match="already holds a sweep"),
        open_sweep(tmp_path / "runs", Recipe(), space),
    ):
        pass
    other = Recipe(training=TrainingConfig(epochs=3))
    with (
        pytest.raises(FileError, match=r"recipe.training.epochs was 30, is 3"),
        open_sweep(tmp_path / "runs", other, space, resume=True),
    ):
        pass
    wider = write_space(tmp_path, '[space]\n"model.dropout" = [0.2, 0.3]\n')
    with (
        pytest.raises(FileError, match=r"space\.model\.dropout"),
        open_sweep(tmp_path / "runs", Recipe(), wider, resume=True),
    ):
        pass


def test_without_a_complete_trial_there_is_no_best(tmp_path: Path) -> None:
    space = write_space(
        tmp_path, '[space]\n"training.learning_rate" = [0.05]\nmodel.dropout = [0.1]\n', trials=1
    )
    with open_sweep(tmp_path / "runs", Recipe(), space) as sweep:
        run_all(sweep)
        with pytest.raises(LexitreeError, match="no longer a number"):
            best_trial(sweep.finished())
