"""Curves from the folders of runs: one run, several seeds, runs that go on, and files that are damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.learning.observers import METRICS_FILE, EpochRecord
from lexitree_paper.analyze.curves import LearningCurve, read_curve


def write_run(folder: Path, losses: list[float], phrase: float | None = 0.9) -> Path:
    folder.mkdir(parents=True)
    records = [
        EpochRecord(epoch, loss, {"dev_root": loss / 10, "dev_phrase": phrase}, 0.1, 1.0, 5.0, False)
        for epoch, loss in enumerate(losses, 1)
    ]
    lines = "".join(json.dumps(record.as_dict()) + "\n" for record in records)
    (folder / METRICS_FILE).write_text(lines, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_real_run(trained_run: Path) -> None:
    curve = read_curve(trained_run)
    epochs = curve.epochs()
    assert curve.name == trained_run.name
    assert [epoch.epoch for epoch in epochs] == list(range(1, 26))
    assert epochs[-1].loss.mean < epochs[0].loss.mean
    assert all(epoch.loss.deviation == 0 and epoch.num_seeds == 1 for epoch in epochs)
    result = json.loads((trained_run / "result.json").read_text())
    assert max(epoch.dev_root.mean for epoch in epochs) == pytest.approx(result["dev_root"])


def test_several_seeds_of_which_one_is_behind(tmp_path: Path) -> None:
    for seed, losses in ((2, [4.0, 2.0]), (10, [6.0, 3.0]), (1, [5.0])):
        write_run(tmp_path / f"seed-{seed}", losses)
    curve = read_curve(tmp_path, "mine")
    assert list(curve.runs) == ["seed-1", "seed-2", "seed-10"]
    first, second = curve.epochs()
    assert (first.num_seeds, first.loss.mean, first.loss.deviation) == (3, 5.0, 1.0)
    assert (second.num_seeds, second.loss.mean) == (2, 2.5)
    assert second.loss.deviation == pytest.approx(0.5**0.5)
    values = json.loads(json.dumps(curve.as_dict()))
    assert values["name"] == "mine"
    assert values["epochs"][0]["dev_root"]["mean"] == pytest.approx(0.5)


def test_without_phrases(tmp_path: Path) -> None:
    curve = read_curve(write_run(tmp_path / "run", [1.0], None))
    assert curve.epochs()[0].dev_phrase is None
    assert LearningCurve("nothing", {}).epochs() == []


def test_folders_that_hold_no_run(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds neither"):
        read_curve(tmp_path)
    with pytest.raises(FileError, match="no such folder"):
        read_curve(tmp_path / "nowhere")


def test_a_run_that_has_no_sentence_model(tmp_path: Path) -> None:
    (tmp_path / METRICS_FILE).write_text("{}\n")
    with pytest.raises(FileError, match="line 1"):
        read_curve(tmp_path)
