"""The folder of a run: no run is overwritten, and what a user calls a system leads to its models."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.learning.loop import TrainingResult
from lexitree.learning.observers import EpochRecord
from lexitree.learning.run_folder import FinishedRun, claim_folder, model_folders, read_metrics
from lexitree.tasks.classify.run import train
from lexitree.tasks.parse.run import train_parser
from tests.tiny import tiny_recipe
from tests.tiny_parser import mini_recipe


def make_model(folder: Path) -> str:
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "config.json").write_text("{}")
    return str(folder / "model")


def claim(folder: Path, *, resume: bool = False) -> Path:
    with claim_folder(folder, resume=resume) as claimed:
        return claimed


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "result.json", "model"])
def test_a_run_is_not_overwritten(tmp_path: Path, name: str) -> None:
    folder = claim(tmp_path / "new" / "run")
    (folder / "notes.txt").write_text("mine")
    assert claim(folder) == folder
    (folder / name).write_text("")
    with pytest.raises(FileError, match="already holds a run"):
        claim(folder)
    (folder / "checkpoint.safetensors").write_text("")
    assert claim(folder, resume=True) == folder
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_has_one_run_at_a_time(tmp_path: Path, resume: bool) -> None:
    with claim_folder(tmp_path / "run", resume=resume) as folder:
        (folder / ".checkpoint.safetensors.mine.part").write_text("being written")
        with pytest.raises(FileError, match="run: is in use by another process") as caught:
            claim(folder, resume=True)
        assert "the process that trains into it" in caught.value.remedy
        assert (folder / ".checkpoint.safetensors.mine.part").exists()
        assert claim(tmp_path / "other") != folder
    assert claim(folder, resume=True) == folder


TRAINERS: list[tuple[Callable[..., object], Callable[[Path], object]]] = [
    (train, tiny_recipe),
    (train_parser, lambda _: mini_recipe()),
]


@pytest.mark.parametrize(("trainer", "make_recipe"), TRAINERS, ids=["classify", "parse"])
@pytest.mark.parametrize("resume", [True, False])
def test_every_task_keeps_to_that(
    tmp_path: Path, trainer: Callable[..., object], make_recipe: Callable[[Path], object], resume: bool
) -> None:
    with (
        claim_folder(tmp_path / "run", resume=False),
        pytest.raises(FileError, match="run: is in use by another process"),
    ):
        trainer(make_recipe(tmp_path), tmp_path / "run", resume=resume)


def test_a_model_left_aside_by_a_kill_is_put_back(tmp_path: Path) -> None:
    for find in (lambda run: claim(run, resume=True), model_folders):
        make_model(tmp_path / "run" / ".model.killed.old")
        find(tmp_path / "run")
        assert (tmp_path / "run" / "model" / "config.json").exists()
        assert not (tmp_path / "run" / ".model.killed.old").exists()
        shutil.rmtree(tmp_path / "run")


def test_models_of_a_run_of_seeds_and_alone(tmp_path: Path) -> None:
    model = make_model(tmp_path / "run")
    assert model_folders(tmp_path / "run") == model_folders(model) == [model]
    seeds = [make_model(tmp_path / "seeds" / f"seed-{seed}") for seed in (1, 2, 10)]
    assert model_folders(tmp_path / "seeds") == seeds
    assert model_folders("owner/name") == ["owner/name"]


def test_a_run_is_short_and_pickles() -> None:
    epochs = tuple(
        EpochRecord(epoch, 0.5, {"dev_root": 0.25 * epoch}, 0.01, 1.0, 10.0, is_best=epoch < 3)
        for epoch in (1, 2, 3)
    )
    run = FinishedRun(Path("runs/mine"), TrainingResult(epochs))
    assert repr(run) == "FinishedRun('runs/mine', best epoch 2 of 3, dev_root 0.500)"
    assert pickle.loads(pickle.dumps(run)) == run


EPOCH = EpochRecord(1, 0.5, {"dev_root": 0.25}, 0.01, 1.0, 10.0, is_best=True)


def test_metrics_of_a_run(tmp_path: Path) -> None:
    line = json.dumps(EPOCH.as_dict()) + "\n"
    (tmp_path / "metrics.jsonl").write_text(line * 2)
    assert read_metrics(tmp_path / "metrics.jsonl", "dev_root") == (EPOCH, EPOCH)
    with pytest.raises(FileError, match="line 1 is not the record of an epoch"):
        read_metrics(tmp_path / "metrics.jsonl", "dev_f1")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "no epoch is done"), ("{}\n", "line 1"), ("[1\n", "line 1"), ("[1]\n", "line 1")],
)
def test_damaged_metrics(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(text)
    with pytest.raises(FileError, match=problem):
        read_metrics(tmp_path / "metrics.jsonl", "dev_root")
