"""The folder of a run: no run is overwritten, and what a user calls a system leads to its models."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.learning.run_folder import claim_folder, model_folders, parse_named_folder


def make_model(folder: Path) -> str:
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "config.json").write_text("{}")
    return str(folder / "model")


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "result.json", "model"])
def test_a_run_is_not_overwritten(tmp_path: Path, name: str) -> None:
    folder = claim_folder(tmp_path / "new" / "run", resume=False)
    (folder / "notes.txt").write_text("mine")
    assert claim_folder(folder, resume=False) == folder
    (folder / name).write_text("")
    with pytest.raises(FileError, match="already holds a run"):
        claim_folder(folder, resume=False)
    (folder / "checkpoint.safetensors").write_text("")
    assert claim_folder(folder, resume=True) == folder
    assert (folder / "notes.txt").read_text() == "mine"


def test_models_of_a_run_of_seeds_and_alone(tmp_path: Path) -> None:
    model = make_model(tmp_path / "run")
    assert model_folders(tmp_path / "run") == model_folders(model) == [model]
    seeds = [make_model(tmp_path / "seeds" / f"seed-{seed}") for seed in (1, 2, 10)]
    assert model_folders(tmp_path / "seeds") == seeds
    assert model_folders("owner/name") == ["owner/name"]


@pytest.mark.parametrize(
    ("text", "name", "folder"),
    [
        ("BiConTree=runs/bi", "BiConTree", "runs/bi"),
        ("runs/bi/model", "runs/bi", "runs/bi/model"),
        ("runs/bi", "runs/bi", "runs/bi"),
        ("model", "model", "model"),
        ("runs/lr=0.1/model", "runs/lr=0.1", "runs/lr=0.1/model"),
        ("=runs/bi", "=runs/bi", "=runs/bi"),
    ],
)
def test_names(text: str, name: str, folder: str) -> None:
    assert parse_named_folder(text) == (name, folder)


def test_a_folder_with_such_a_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rate=1").mkdir()
    assert parse_named_folder("rate=1") == ("rate=1", "rate=1")
