"""A worker labels the parts that it is given, in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.pipeline import part_worker, parts
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.part_folder import InputFile
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker
from lexitree.pipeline.workers import LabellerSettings
from tests.command import files_of
from tests.pipeline.stubs import open_stub


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InputFile:
    """A table of eleven texts."""
    for module in (part_worker, parts):
        monkeypatch.setattr(module, "open_labeller", open_stub())
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "".join(f"text {number}\n" for number in range(11)))
    return InputFile(path, "a.csv")


def job_for(file: InputFile, output: Path, model: Path) -> LabellingJob:
    return LabellingJob(
        Inputs([file.path]), f"{output}/", LabellerSettings(model), column="text", part_rows=4
    )


def worker_for(job: LabellingJob) -> PartWorker:
    assert job.folder is not None
    return PartWorker(job, job.folder)


def test_parts_are_read_in_any_order(file: InputFile, tmp_path: Path, saved_model: Path) -> None:
    job_for(file, tmp_path / "one", saved_model).run()
    expected = files_of(tmp_path / "one")
    worker = worker_for(job_for(file, tmp_path / "two", saved_model))
    for part in (0, 2, 1, 1, 2):
        task = PartTask(file, part, 3 if part == 2 else 4)
        assert worker(task) == PartResult(task, num_labelled=task.num_rows)
        name = f"a.csv/part-{part:05}.csv"
        assert files_of(tmp_path / "two")[name] == expected[name]
        (tmp_path / "two" / name).unlink()


@pytest.mark.parametrize(("part", "num_rows"), [(1, 3), (2, 4), (3, 4)])
def test_a_part_without_the_rows_that_were_counted_is_not_written(
    part: int, num_rows: int, file: InputFile, tmp_path: Path, saved_model: Path
) -> None:
    worker = worker_for(job_for(file, tmp_path / "out", saved_model))
    error = worker(PartTask(file, part, num_rows)).error
    assert isinstance(error, FileError)
    assert error.problem == "has changed while it was labelled"
    assert not files_of(tmp_path / "out")


def test_rows_that_are_tried_are_not_written(file: InputFile, tmp_path: Path, saved_model: Path) -> None:
    worker = worker_for(job_for(file, tmp_path / "out", saved_model))
    tasks = PartTask(file, 1, 4).pieces(3)
    assert [task.tried for task in tasks] == [(0, 3), (3, 4)]
    assert [worker(task).problem for task in tasks] == ["", ""]
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there_is_an_error(file: InputFile, tmp_path: Path, saved_model: Path) -> None:
    worker = worker_for(job_for(file, tmp_path / "out", saved_model))
    Path(file.path).unlink()
    error = worker(PartTask(file, 0, 4)).error
    assert isinstance(error, FileError)
    assert error.remedy.endswith("on every node.")
