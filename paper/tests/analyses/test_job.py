"""An analysis leaves a record that says all, trains nothing that is trained, and is made once."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import FileError
from lexitree_paper.analyses.job import Findings, Job, is_current, record_findings
from lexitree_paper.experiments import find_experiment
from lexitree_paper.kinds import ANALYSES, make_report, perform
from lexitree_paper.report import to_markdown
from lexitree_paper.run_records import read_record
from lexitree_paper.runner import Settings, watch_nothing
from lexitree_paper.score_tables import read_records
from lexitree_paper.trained import train_missing


def settings(runs: Path, folder: Path, **changes: Any) -> Settings:
    return Settings(folder=runs, results=folder / "results", smoke=True, jobs=1, **changes)


def refuse_training(*_: Any) -> Any:
    raise AssertionError("there is nothing to train")


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_at_its_smoke_size(name: str, smoke_runs: Path, tmp_path: Path) -> None:
    if name == "accuracy-by-length":
        pytest.importorskip("matplotlib")
    experiment, where = find_experiment(name), settings(smoke_runs, tmp_path)
    perform(experiment, where, watch=refuse_training)
    folder = tmp_path / "results" / "smoke"
    record = read_record(folder, name)
    assert record is not None
    assert record["command"] == f"lexitree reproduce {name} --smoke"
    assert {"commit", "date", "data", "machine", "seeds", "figures"} <= set(record)
    assert set(record["data"].values()) == {"embedded"}
    assert set(record["systems"]) == set(experiment.rows)
    assert str(tmp_path) not in json.dumps(record)
    page = to_markdown(make_report(experiment, read_records(experiment, where.records_folder)))
    assert "1 seed, 1 epoch" in page
    for picture in record["pictures"]:
        assert f"(images/{picture})" in page
        assert (where.pictures_folder / picture).is_file()
    # The second time nothing is done, unless it is asked for.
    (path,) = folder.glob("*.jsonl")
    before = path.stat().st_mtime_ns
    perform(experiment, where, watch=refuse_training)
    assert path.stat().st_mtime_ns == before
    perform(experiment, dataclasses.replace(where, again=True), watch=refuse_training)
    assert path.stat().st_mtime_ns > before
    repeated = read_record(folder, name)
    assert repeated is not None
    assert repeated["figures"] == record["figures"]


@pytest.fixture
def pictures(smoke_runs: Path, tmp_path: Path) -> tuple[dict[str, Any], Job]:
    """The record of an analysis of models that a test may change."""
    shutil.copytree(smoke_runs / "smoke" / "sst-bicontree", tmp_path / "runs" / "smoke" / "sst-bicontree")
    job = Job(find_experiment("head-pictures"), settings(tmp_path / "runs", tmp_path), watch_nothing)
    perform(job.experiment, job.settings, watch=refuse_training)
    record = read_record(tmp_path / "results" / "smoke", "head-pictures")
    assert record is not None
    return record, job


def test_the_command_names_the_vectors_of_the_models(pictures: tuple[dict[str, Any], Job]) -> None:
    """Others that were given came too late: the models were there."""
    record, job = pictures
    late = dataclasses.replace(job, settings=dataclasses.replace(job.settings, vectors="late.npz"))
    systems = train_missing(job.experiment, job.settings, watch=refuse_training)
    found = record_findings(late, Findings(systems, {}, [], "phrases"))
    assert found["command"] == record["command"] == "lexitree reproduce head-pictures --smoke"
    assert record["data"] == {"the paper's phrases": "embedded"}


def test_when_a_record_is_old(pictures: tuple[dict[str, Any], Job]) -> None:
    record, job = pictures
    asked = dataclasses.replace(job.settings, sentences=["(_ (_ not) (_ bad))"])
    full = dataclasses.replace(job.settings, smoke=False, pictures=job.settings.pictures_folder)
    weights = job.settings.folder / "smoke" / "sst-bicontree" / "seed-1" / "model" / "model.safetensors"
    drawn = job.settings.pictures_folder / record["pictures"][0]
    assert is_current(record, job)
    assert not is_current(record, dataclasses.replace(job, settings=asked))
    assert not is_current(record, dataclasses.replace(job, settings=full))
    weights.write_bytes(weights.read_bytes() + b" ")
    assert not is_current(record, job)
    # The models may have gone, the record stays true; its pictures may not.
    weights.unlink()
    assert is_current(record, job)
    drawn.unlink()
    assert not is_current(record, job)


def test_a_seed_without_its_model_is_trained_again(
    pictures: tuple[dict[str, Any], Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job = pictures
    shutil.rmtree(job.settings.folder / "smoke" / "sst-bicontree" / "seed-1" / "model")
    asked: list[list[int]] = []

    def train_nothing(*arguments: Any) -> Any:
        asked.append(arguments[2])
        raise FileError("run", "no training in this test")

    monkeypatch.setattr("lexitree_paper.trained.train_run", train_nothing)
    with pytest.raises(FileError):
        train_missing(job.experiment, job.settings)
    assert asked == [[1]]


def test_the_models_leave_the_records_of_their_scores(smoke_runs: Path) -> None:
    records = smoke_runs.parent / "results" / "smoke"
    for name in ("sst-contree", "sst-contree-lex", "sst-bicontree"):
        record = read_record(records, name)
        assert record is not None
        assert len(record["runs"]["1"]["test_root_answers"]) == len(record["test_root_gold"]) == 300
    report = make_report(find_experiment("main-table"), read_records(find_experiment("main-table"), records))
    assert len(report.tables) == 1, "one seed each cannot be compared"
