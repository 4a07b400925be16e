"""Drivers of a file: the same as of its documents, in one process or several, by group and by period."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from lexitree.analysis.driver_counts import find_drivers
from lexitree.errors import ConfigError, TableError
from lexitree.pipeline import loading, workers
from lexitree.pipeline.file_drivers import find_drivers_in_file
from lexitree.pipeline.workers import LabellerSettings
from lexitree.trees.brackets import ReadReport
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import RightBranching

ROWS = [
    ("1", "2026-01-31", "north", "the film is good ."),
    ("2", "2026-02-01T10:00:00", "south", "the plot is bad ."),
    ("3", "2026-02", "north", ""),
    ("4", "", "", "a bad film"),
    ("5", "20260401", "south", "good"),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "date", "shop", "comment"), *ROWS])
    return path


@pytest.fixture
def labeller(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> LabellerSettings:
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())
    return LabellerSettings(saved_model, "stub", batch_size=1)


def test_a_file_is_counted_as_its_documents_are(table: Path, labeller: LabellerSettings) -> None:
    found = find_drivers_in_file(table, "comment", by="shop", labeller=labeller)
    with labeller.open_pipeline() as pipe:
        documents = pipe([text for *_, text in ROWS])
    expected = find_drivers(documents, groups=[shop or None for _, _, shop, _ in ROWS], by="shop")
    assert found.rows() == expected.rows()
    assert found.drivers
    assert (found.source, found.num_texts, found.num_empty, found.num_without_group) == (str(table), 4, 1, 1)
    text, _ = found.drivers[0].examples[0]
    assert text.text == ROWS[text.row - 1][3]
    assert text.place == f"{table}:{text.row + 1}"


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("date:month", ["2026-01", "2026-02", "2026-04"]),
        ("date:quarter", ["2026-Q1", "2026-Q2"]),
        ("date:year", ["2026"]),
        ("date:week", ["2026-W05", "2026-W14"]),
        ("date:day", ["2026-01-31", "2026-02-01", "2026-04-01"]),
        ("shop", ["north", "south"]),
    ],
)
def test_groups_and_periods(table: Path, labeller: LabellerSettings, by: str, groups: list[str]) -> None:
    found = find_drivers_in_file(table, "comment", by=by, labeller=labeller)
    assert list(found.groups or {}) == groups


def test_what_cannot_be_grouped(table: Path, labeller: LabellerSettings) -> None:
    with pytest.raises(TableError, match="there is no column 'town'\nThe columns are 'id', 'date'"):
        find_drivers_in_file(table, "comment", by="town", labeller=labeller)
    with pytest.raises(TableError, match="there is no column 'date:century'"):
        find_drivers_in_file(table, "comment", by="date:century", labeller=labeller)
    with pytest.raises(
        TableError, match=r"reviews.csv:2: 'shop' is not a date: 'north'\nWrite dates as 2026"
    ):
        find_drivers_in_file(table, "comment", by="shop:month", labeller=labeller)
    report = ReadReport()
    found = find_drivers_in_file(
        table, "comment", by="shop:month", labeller=labeller, on_error="skip", report=report
    )
    assert (report.num_errors, found.num_texts) == (4, 1)
    with pytest.raises(ConfigError, match="--by shop is for a table"):
        find_drivers_in_file(table, by="shop", labeller=labeller)


def test_a_column_with_a_colon_and_json_lines(tmp_path: Path, labeller: LabellerSettings) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text('{"text": "good film", "at:day": 3}\n{"text": "bad film", "at:day": 4}\n{"text": null}\n')
    (tmp_path / "reviews.csv").write_text("text,at:day\ngood film,3\nbad film,4\n")
    found = find_drivers_in_file(tmp_path / "reviews.csv", "text", by="at:day", labeller=labeller)
    assert list(found.groups or {}) == ["3", "4"]
    found = find_drivers_in_file(path, "text", by="text", labeller=labeller)
    assert list(found.groups or {}) == ["bad film", "good film"]
    assert found.num_empty == 1


def test_lines_of_text(tmp_path: Path, labeller: LabellerSettings) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the film is good .\n\n(not a tree) bad\n")
    progress: list[int] = []
    found = find_drivers_in_file(path, labeller=labeller, on_progress=progress.append)
    assert (found.num_texts, found.num_empty, progress) == (2, 1, [1, 2, 3])


@pytest.mark.slow
def test_several_processes_count_alike(
    table: Path, saved_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CHUNK_ROWS", 2)
    parser = save_untrained_parser(tmp_path / "parser")
    labeller = LabellerSettings(saved_model, f"builtin:{parser}", batch_size=1)
    one = find_drivers_in_file(table, "comment", by="date:month", labeller=labeller)
    two = find_drivers_in_file(table, "comment", by="date:month", labeller=labeller, num_workers=2)
    assert one.as_dict() == two.as_dict()
