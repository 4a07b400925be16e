"""A trial trains all seeds, never sees the test split, continues after a kill, and reports what goes wrong."""

from __future__ import annotations

import dataclasses
import errno
import json
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import CorpusNotFoundError, FileError, LexitreeError
from lexitree.learning.run_folder import read_result, seed_folder
from lexitree.sweeps.proposals import MAX_EPOCHS
from lexitree.sweeps.search_space import SweepSettings
from lexitree.sweeps.trial import Outcome, TrialJob, read_trial_corpus, run_trial, step_scores
from lexitree.tasks.classify.run import train
from tests.tiny import tiny_recipe

OPTIONS: dict[str, Any] = {"device": "cpu", "backend": "levelwise"}


def make_job(
    treebank: Path, folder: Path, settings: dict[str, Any] | None = None, **changes: Any
) -> TrialJob:
    recipe = tiny_recipe(treebank, epochs=3)
    job = TrialJob(
        0,
        recipe,
        settings or {},
        SweepSettings(seeds=(1, 2), unstopped_trials=1, unstopped_epochs=1),
        folder / "trials" / "0000",
        folder / "lessons",
        [],
        OPTIONS,
    )
    return dataclasses.replace(job, **changes)


def test_steps_compare_like_with_like() -> None:
    """The second seed is averaged with the first after as many epochs."""
    assert step_scores({1: [0.1, 0.3], 2: [0.3, 0.5, 0.5]}) == [
        (1, 0.1),
        (2, 0.3),
        (MAX_EPOCHS + 1, pytest.approx(0.2)),
        (MAX_EPOCHS + 2, pytest.approx(0.4)),
        (MAX_EPOCHS + 3, pytest.approx(0.4)),
    ]


def test_it_trains_every_seed_without_the_test_split(treebank: Path, tmp_path: Path) -> None:
    job = make_job(treebank, tmp_path, {"model.hidden": 6})
    heard: list[tuple[int, int]] = []
    outcome = run_trial(job, lambda seed, epoch, score: heard.append((seed, epoch)))
    assert outcome.error == ""
    assert outcome.state == "complete"
    assert heard == [(seed, epoch) for seed in (1, 2) for epoch in (1, 2, 3)]
    for seed in (1, 2):
        result = read_result(seed_folder(job.folder, seed))
        assert result["model"]["hidden"] == 6
        assert result["dev_root"] == max(outcome.curves[seed])
        assert result["test_root"] is None
        assert "test" not in result["corpus"]
    assert Outcome.from_dict(json.loads(json.dumps(outcome.as_dict()))) == outcome


def test_it_continues_where_it_was_interrupted(treebank: Path, tmp_path: Path) -> None:
    """The epochs before are part of its scores, and of what decides whether it goes on."""
    whole = run_trial(make_job(treebank, tmp_path / "whole"))
    job = make_job(treebank, tmp_path / "cut")
    for seed in (1, 2):
        # No epoch begins after the first: the run is as if it had been killed there.
        train(job.recipe.with_seed(seed), seed_folder(job.folder, seed), minutes=0, **OPTIONS)
        (seed_folder(job.folder, seed) / "result.json").unlink()
    cut = run_trial(job)
    assert (cut.state, cut.curves) == ("complete", whole.curves)
    again = run_trial(job)
    assert again.curves == whole.curves


def test_a_hopeless_trial_is_stopped(treebank: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="the extra sweep is not installed")
    better = {1: 2.0, 2: 2.0, 3: 2.0}
    outcome = run_trial(make_job(treebank, tmp_path, others=[better]))
    assert outcome.state == "pruned"
    assert {seed: len(curve) for seed, curve in outcome.curves.items()} == {1: 2}
    assert outcome.spread is None
    # After the last epoch of the last seed, there is nothing left to stop.
    late = SweepSettings(unstopped_trials=1, unstopped_epochs=2)
    assert run_trial(make_job(treebank, tmp_path / "late", others=[better], sweep=late)).state == "complete"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"training.decay": 0.99, "training.epochs": 30}, "no longer a number"),
        ({"teacher_trees": ["a.txt"]}, "no teacher"),
    ],
)
def test_what_goes_wrong_is_reported(
    settings: dict[str, Any], said: str, treebank: Path, tmp_path: Path
) -> None:
    outcome = run_trial(make_job(treebank, tmp_path, settings))
    assert outcome.state == "failed"
    assert said in outcome.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"trials/0000: cannot be used \(No space left"),
        (FileError("vectors.txt", "cannot be read"), "vectors.txt: cannot be read"),
        (CorpusNotFoundError("unknown corpus"), "unknown corpus"),
    ],
)
def test_a_fault_of_the_machine_is_not_an_outcome(
    error: Exception, said: str, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("lexitree.sweeps.trial.train", fail)
    with pytest.raises(LexitreeError, match=said) as raised:
        run_trial(make_job(treebank, tmp_path))
    assert "--resume" in raised.value.remedy


def test_a_corpus_is_read_once_for_all_shapes_of_a_model(treebank: Path) -> None:
    recipe = tiny_recipe(treebank)
    first = read_trial_corpus(recipe)
    assert read_trial_corpus(recipe.with_values({"model.dropout": 0.4, "training.epochs": 9})) is first
    assert read_trial_corpus(recipe.with_values({"model.supervision": "root"})) is not first


def test_a_teacher_is_asked_once(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    """What it says serves all trials and seeds over the same trees."""
    first, second = (
        run_trial(
            make_job(
                treebank,
                tmp_path / str(weight),
                {"teacher": str(saved_model), "training.teacher_weight": weight},
                lessons=tmp_path / "lessons",
            )
        )
        for weight in (0.5, 0.9)
    )
    assert (first.error, second.error) == ("", "")
    assert len(list((tmp_path / "lessons").glob("*.safetensors"))) == 1
