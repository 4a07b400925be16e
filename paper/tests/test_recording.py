"""Finished runs and sweeps become records that anyone can repeat."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tests.tiny import tiny_recipe
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.sweeps.search_space import SweepSettings
from lexitree.sweeps.trial import TrialJob, run_trial
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree_paper.run_records import public_recipe
from lexitree_paper.runner import data_files

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "paper" / "scripts"))


def finished_run(folder: Path, **recipe: object) -> Path:
    """What `lexitree train` leaves of a run with one seed."""
    scores = {"best_epoch": 1, "dev_root": 0.5, "dev_phrase": None, "test_root": 0.25, "test_phrase": None}
    result = {
        "recipe": {**Recipe().as_dict(), **recipe},
        "num_parameters": 1,
        "corpus": {"train": 1},
        "environment": {"torch": "2.6.0", "python": "3.11.0"},
        **scores,
        "seconds": 1.0,
        "epochs": [],
    }
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


def test_a_run_becomes_a_record_without_the_paths_of_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = import_module("record_run")
    monkeypatch.setattr("result_records.RESULTS", tmp_path / "results")
    monkeypatch.setattr("result_records.PAPER_RESULTS", tmp_path / "paper" / "results")
    monkeypatch.setattr(recording, "describe_code", lambda: {"commit": "0" * 40})
    monkeypatch.setenv("LEXITREE_DATA", str(tmp_path))
    vectors = tmp_path / "some.npz"
    vectors.write_bytes(b"vectors")
    folder = finished_run(
        tmp_path / "run", vectors=str(vectors), data=str(tmp_path), model={"model": "contree"}
    )
    path = recording.record_run(folder, "mine", [vectors])
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["command"] == (
        "lexitree train mini-reviews -o runs/mine --vectors $LEXITREE_DATA/some.npz --model contree"
    )
    assert set(record["data"]) == {"mini-reviews", "some.npz"}
    assert str(tmp_path) not in json.dumps(record)


def test_the_command_of_a_run_gives_its_recipe_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(
        vector_length=5.0,
        teacher="runs/large",
        teacher_trees=("runs/a.txt", "runs/b.txt"),
        model={"model": "contree", "state_dropout": 0.3, "weight_dropout": 0.2, "bias_init": "zero"},
        training=TrainingConfig(
            averaging=0.999,
            word_rate=0.3,
            root_weight=2.0,
            decay=1e-5,
            decay_kind="l2",
            train_words=False,
            teacher_weight=0.9,
        ),
    )
    planned: list[Recipe] = []
    monkeypatch.setattr("lexitree.cli.train.run_classifier", lambda found, *_, **__: planned.append(found))
    command = import_module("record_run").command_of(recipe.as_dict(), [1], "mine")
    result = CliRunner().invoke(make_app(), shlex.split(command)[1:], env={"LEXITREE_DATA": ""})
    assert result.exit_code == 0, result.output
    assert planned == [recipe]


def test_differences_between_processes_are_problems() -> None:
    script = import_module("record_data_parallel")
    record = {
        "double": [{"model": "a", "largest_difference_of_weights": 1e-9}],
        "single": [{"model": "a", "difference_of_first_losses": 1e-4}],
        "kills": [{"model": "a", "different": []}],
    }
    assert list(script.find_problems(record)) == []
    record["double"].append({"model": "b", "largest_difference_of_weights": float("nan")})
    record["single"].append({"model": "b", "difference_of_first_losses": 2e-3})
    record["kills"].append({"model": "b", "different": ["optimizer"]})
    assert list(script.find_problems(record)) == [
        "b: weights in float64 differ by nan",
        "b: losses of the first epoch in float32 differ by 2.0e-03",
        "b: kills have changed optimizer",
    ]


@pytest.mark.parametrize(
    ("recipe", "said"), [({"corpus": "sst"}, "files of sst"), ({"vectors": "lost.npz"}, "lost.npz")]
)
def test_a_run_on_unnamed_data_is_not_recorded(recipe: dict[str, object], said: str, tmp_path: Path) -> None:
    recording = import_module("record_run")
    folder = finished_run(tmp_path / "run", **recipe)
    with pytest.raises(recording.RecordError, match=said):
        recording.record_run(folder, "mine", [])


def test_a_sweep_becomes_a_record(treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = import_module("record_sweep")
    monkeypatch.setattr("result_records.RESULTS", tmp_path / "results")
    monkeypatch.setattr("result_records.PAPER_RESULTS", tmp_path / "paper" / "results")
    monkeypatch.setattr(recording, "describe_code", lambda: {"commit": "0" * 40})
    recipe = tiny_recipe(treebank, epochs=2)
    folder = tmp_path / "runs"
    settings = SweepSettings(seeds=(1, 2))
    job = TrialJob(
        0, recipe, {"model.dropout": 0.1}, settings, folder / "trials" / "0000", folder, [], {"device": "cpu"}
    )
    outcome = run_trial(job)
    named = {**recipe.as_dict(), "corpus": "mini-questions"}
    sweep = {"recipe": named, "sweep": settings.as_dict(), "variants": {"dry": job.settings}}
    trial = {"trial": 0, "parameters": {"variant": "dry"}, "settings": job.settings, **outcome.as_dict()}
    (folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
    (folder / "trials.json").write_text(json.dumps([trial]), encoding="utf-8")
    command = shlex.split("lexitree sweep recipes/tiny.toml space.toml -o runs/tiny")
    path = recording.record_sweep(folder, "tiny", command)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["command"] == "lexitree sweep recipes/tiny.toml space.toml -o runs/tiny"
    (row,) = record["rows"]
    assert (row["recipe"], row["variant"], row["seeds"]) == ("tiny", "dry", 2)
    assert row["dev_root"] == pytest.approx(outcome.spread and outcome.spread.mean, abs=1e-4)
    assert [(run["seed"], len(run["loss"])) for run in record["histories"]] == [(1, 2), (2, 2)]


def test_the_recipe_of_a_taught_model_names_no_machine(treebank: Path, saved_model: Path) -> None:
    recipe = Recipe(
        corpus=str(treebank),
        teacher=str(saved_model),
        teacher_trees=("runs/a.txt", str(treebank / "train.txt")),
    )
    public = public_recipe(recipe.as_dict())
    assert public["teacher"] == saved_model.name
    assert public["teacher_trees"] == ["runs/a.txt", "train.txt"]
    assert data_files(dataclasses.replace(recipe, teacher_trees=(str(treebank / "dev.txt"),))) == [
        treebank / "dev.txt"
    ]
