"""Parts labelled by the workers of an engine: the same files as without one, and rows that fail are left out."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, LexitreeError
from lexitree.pipeline import part_engine, part_worker, parts
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.part_engine import ENDS_PROCESS, PartEngine, RunTasks
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker
from lexitree.pipeline.workers import LabellerSettings
from tests.command import files_of, leftovers
from tests.pipeline.stubs import open_stub

TEXTS = [f"the film is number {number} ." for number in range(11)]


class DeathError(BaseException):
    """The end of the process."""


@contextmanager
def here(worker: PartWorker) -> Generator[RunTasks]:
    """An engine that runs a copy of the worker in this process, and knows what has ended it."""
    copy: PartWorker = pickle.loads(pickle.dumps(worker))

    def run(task: PartTask) -> PartResult:
        try:
            return copy(task)
        except DeathError:
            return PartResult(task, problem=ENDS_PROCESS)

    yield lambda tasks: map(run, reversed(tasks))


def fail_at(row: Row) -> None:
    if "raises" in row.text:
        raise RuntimeError("too good\nto be true")
    if "dies" in row.text:
        raise DeathError


@pytest.fixture
def model(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> LabellerSettings:
    """A stand-in for a model: every text has the same labels, and some fail."""
    for module in (part_worker, parts):
        monkeypatch.setattr(module, "open_labeller", open_stub(fail_at))
    return LabellerSettings(saved_model)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS))
    return path


def label(
    source: Path,
    output: Path,
    model: LabellerSettings,
    on_progress: Callable[[int], object] | None = None,
    **settings: Any,
) -> LabellingJob:
    settings = {"column": "text", "part_rows": 4, **settings}
    job = LabellingJob(Inputs([str(source)]), f"{output}/", model, **settings)
    job.run(on_progress)
    return job


def test_an_engine_writes_what_one_process_writes(
    model: LabellerSettings, table: Path, tmp_path: Path
) -> None:
    done: list[int] = []
    label(table, tmp_path / "one", model)
    label(table, tmp_path / "two", model, done.append, engine=here)
    assert files_of(tmp_path / "two") == files_of(tmp_path / "one")
    assert done == [3, 7, 11]
    (tmp_path / "two" / "a.csv" / "part-00001.csv").unlink()
    # The other parts are not labelled again.
    table_of_others = tmp_path / "two" / "a.csv" / "part-00002.csv"
    table_of_others.write_text("kept\n")
    label(table, tmp_path / "two", model, done.append, engine=here)
    assert done[3:] == [4]
    assert table_of_others.read_text() == "kept\n"


def test_rows_that_fail_are_left_without_a_label(
    model: LabellerSettings, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_engine, "CHUNK_ROWS", 2)
    texts = [*TEXTS[:5], "it raises", "it dies", TEXTS[7], "dies", *TEXTS[9:]]
    table.write_text("text\n" + "".join(f"{text}\n" for text in texts))
    job = label(table, tmp_path / "out", model, engine=here, errors=True, format="json")
    assert job.failed.num_errors == 3
    assert not leftovers(tmp_path / "out")
    found = files_of(tmp_path / "out")
    rows = [
        json.loads(line)
        for part in range(3)
        for line in found[f"a.csv/part-{part:05}.jsonl"].decode().splitlines()
    ]
    assert [row["text"] for row in rows] == texts
    assert [number for number, row in enumerate(rows) if row["label"] is None] == [5, 6, 8]
    assert rows[5]["error"] == "The text cannot be labelled: RuntimeError: too good."
    assert [row["error"] for row in rows[:5]] == [None] * 5
    assert sorted(name for name in found if "_failed" in name) == [
        "a.csv/_failed-00001.jsonl",
        "a.csv/_failed-00002.jsonl",
    ]
    failed = [json.loads(line) for line in found["a.csv/_failed-00001.jsonl"].decode().splitlines()]
    assert failed == [
        {
            "row": 7,
            "text": "it raises",
            "problem": "the text cannot be labelled: RuntimeError: too good",
        },
        {"row": 8, "text": "it dies", "problem": f"the text cannot be labelled: {ENDS_PROCESS}"},
    ]


@pytest.mark.parametrize("engine", [here, None])
def test_a_list_of_failed_rows_goes_with_its_part(
    engine: PartEngine | None,
    model: LabellerSettings,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table.write_text("text\n" + "dies\n" + "good\n" * 4 + "dies\n")
    output = tmp_path / "out" / "a.csv"
    label(table, tmp_path / "out", model, engine=here)
    lists = ["_failed-00000.jsonl", "_failed-00001.jsonl"]
    assert sorted(path.name for path in output.glob("_failed*")) == lists
    (output / "part-00001.csv").unlink()
    for module in (part_worker, parts):
        monkeypatch.setattr(module, "open_labeller", open_stub())
    label(table, tmp_path / "out", model, engine=engine)
    assert [path.name for path in output.glob("_failed*")] == lists[:1]


def test_a_file_that_changes_after_its_rows_were_counted_is_refused(
    model: LabellerSettings, table: Path, tmp_path: Path
) -> None:
    def grow() -> None:
        with table.open("a") as stream:
            stream.writelines(f"{text}\n" for text in TEXTS)

    @contextmanager
    def slow_to_start(worker: PartWorker) -> Generator[RunTasks]:
        grow()
        with here(worker) as run_tasks:
            yield run_tasks

    @contextmanager
    def slow_to_end(worker: PartWorker) -> Generator[RunTasks]:
        with here(worker) as run_tasks:
            yield run_tasks
        grow()

    with pytest.raises(FileError, match=r"a\.csv: has changed while it was labelled"):
        label(table, tmp_path / "out", model, engine=slow_to_start)
    # Nothing was written, so the same command labels all rows.
    assert label(table, tmp_path / "out", model, engine=here).failed.num_errors == 0
    assert sum(map(count_rows, (tmp_path / "out" / "a.csv").glob("part-*"))) == 22
    with pytest.raises(FileError, match=r"a\.csv: has changed while it was labelled"):
        label(table, tmp_path / "other", model, engine=slow_to_end)
    with pytest.raises(FileError, match="partly labelled"):
        label(table, tmp_path / "other", model, engine=here)


def count_rows(part: Path) -> int:
    """The rows of a part, without its header."""
    return len(part.read_text().splitlines()) - 1


def test_if_everything_fails_the_rows_are_not_to_blame(
    model: LabellerSettings, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write_text("text\n" + "dies\n" * 11)
    monkeypatch.setattr(part_engine, "MAX_FAILED", 10)
    with pytest.raises(LexitreeError, match=r"a\.csv: part 0 cannot be labelled: it ends the process"):
        label(table, tmp_path / "out", model, engine=here)
    monkeypatch.setattr(part_engine, "MAX_FAILED", 2)
    with pytest.raises(LexitreeError, match="cannot be labelled"):
        label(table, tmp_path / "out", model, engine=here)


def test_what_is_not_about_rows_ends_the_run(
    model: LabellerSettings, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def cannot_open(*_: object) -> Generator[Any]:
        raise FileError("model", "is missing")
        yield

    monkeypatch.setattr(part_worker, "open_labeller", cannot_open)
    with pytest.raises(FileError, match="is missing") as raised:
        label(table, tmp_path / "out", model, engine=here)
    assert "on every node" in raised.value.remedy
    with pytest.raises(ConfigError, match="an engine writes a folder"):
        LabellingJob(Inputs([str(table)]), tmp_path / "a.jsonl", model, column="text", engine=here).run()
