"""Interrupted output files: what is whole is checked and kept, what is partial is dropped, what is foreign stays."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora.tables import Row, csv_line
from lexitree.errors import ConfigError, FileError, Place
from lexitree.files import to_json
from lexitree.pipeline import resuming
from lexitree.pipeline.formats import OutputSettings, RecordFormat
from lexitree.pipeline.known_formats import CsvFormat, JsonFormat, SvgFormat, TableFormat
from lexitree.pipeline.resuming import check_resumable, record_ends, resume_output, settings_file
from lexitree.trees.brackets import ReadReport

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
MUST_BE_QUOTED = st.text(st.sampled_from(["\n", "\r", '"', ",", "a"]), max_size=6)
"""Random characters are hardly ever those that make a cell hard to read."""
CELLS = st.lists(ANY_TEXT | MUST_BE_QUOTED, min_size=1, max_size=3)

CSV = CsvFormat(OutputSettings("text", ("id", "text")))
JSON = JsonFormat(OutputSettings("text"))
TEXTS = ['good,\n"really" good', "", "été", "=1+1"]
SETTINGS = {"--phrases": False, "--model": "sentiment"}


def rows_of(texts: list[str]) -> list[Row]:
    return [
        Row(text, (("id", str(number)), ("text", text)), Place("in.csv", number))
        for number, text in enumerate(texts, 1)
    ]


def record_of(output_format: RecordFormat, row: Row) -> str:
    """A record as a labeller would write it."""
    added = [("label", "positive"), ("probability", 0.5)]
    if isinstance(output_format, CsvFormat):
        return csv_line([value for _, value in (*row.columns, *added)])
    return to_json(dict([*row.columns, *added])) + "\n"


def label(
    path: Path, output_format: RecordFormat = CSV, texts: list[str] | None = None, **options: Any
) -> int:
    """Resume an output and write what it lacks; return how many records there were."""
    rows, settings = iter(rows_of(TEXTS if texts is None else texts)), options.pop("settings", SETTINGS)
    with resume_output(path, output_format, rows, settings, **options) as opened:
        for row in opened.rows:
            opened.write(record_of(output_format, row))
        return opened.num_done


@given(st.lists(CELLS, max_size=5), st.integers(min_value=0), st.sampled_from([1, 3, 1 << 20]))
def test_any_file_of_csv_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], cut: int, chunk: int
) -> None:
    records = [csv_line(cells).encode() for cells in rows]
    whole = b"".join(records)
    cut = cut % (len(whole) + 1)
    path = tmp_path_factory.mktemp("torn") / "out.csv"
    path.write_bytes(whole[:cut])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resuming, "CHUNK_BYTES", chunk)
        found = list(record_ends(path, quoted=True))
    ends = [len(b"".join(records[:number])) for number in range(1, len(records) + 1)]
    assert found == [end for end in ends if end <= cut]


def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert list(record_ends(path, quoted=False)) == []
    path.write_bytes(b'{"a": "\\""}\n{"b": 1}\n{"c')
    assert list(record_ends(path, quoted=False)) == [12, 21]
    with pytest.raises(FileError, match="cannot be read"):
        list(record_ends(tmp_path, quoted=False))


@pytest.mark.parametrize("output_format", [CSV, JSON])
def test_an_output_that_was_cut_at_any_byte_is_completed(
    tmp_path: Path, output_format: RecordFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    path = tmp_path / "out"
    assert label(path, output_format) == 0
    whole = path.read_bytes()
    ends = list(record_ends(path, quoted=output_format.is_quoted))
    has_header = bool(output_format.opening())
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        num_whole = sum(end <= cut for end in ends)
        assert label(path, output_format) == max(num_whole - has_header, 0)
        assert path.read_bytes() == whole
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".out.resume.json", "out"]


@pytest.mark.parametrize("content", [b"one line", b"one\ntwo", b"one\ntwo\n", b'{"id": "1', b"id,text"])
@pytest.mark.parametrize("output_format", [CSV, JSON])
def test_a_foreign_file_is_not_touched(tmp_path: Path, output_format: RecordFormat, content: bytes) -> None:
    path = tmp_path / "out"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"not started with --resume: there is no \.out\.resume\.json"):
        label(path, output_format)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "content", [b"one line", b"one\ntwo", b"one\ntwo\n", b'{"id": "2', b"id,text,labels"]
)
@pytest.mark.parametrize("output_format", [CSV, JSON])
def test_a_file_that_took_the_place_of_an_output_is_not_touched(
    tmp_path: Path, output_format: RecordFormat, content: bytes
) -> None:
    path = tmp_path / "out"
    label(path, output_format)
    for foreign in (content, path.read_bytes() + content):
        path.write_bytes(foreign)
        with pytest.raises(FileError, match="does not hold the first results for this input"):
            label(path, output_format)
        assert path.read_bytes() == foreign


def test_what_differs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "out"
    label(path)
    before = path.read_bytes()
    for settings, problem in (
        ({**SETTINGS, "--phrases": True}, "--phrases was False, is True$"),
        ({**SETTINGS, "--model": "x"}, "--model was 'sentiment', is 'x'$"),
        ({"--phrases": False}, "--model was 'sentiment', is None$"),
    ):
        with pytest.raises(FileError) as caught:
            label(path, settings=settings)
        assert caught.match(f"started with other settings: {problem}".replace("$", "\n"))
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"\xff", b"[" * 100_000, b'{"a":' * 900 + b"1" + b"}" * 900]
)
def test_damaged_settings(tmp_path: Path, content: bytes) -> None:
    label(tmp_path / "out")
    before = (tmp_path / "out").read_bytes()
    settings_file(tmp_path / "out").write_bytes(content)
    with pytest.raises(FileError):
        label(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == before


def test_an_empty_output_is_started_with_the_current_settings(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out"
    label(path, texts=[])
    path.write_bytes(b"")
    label(path, settings={"--phrases": True})
    assert json.loads(settings_file(path).read_text()) == {"--phrases": True}


def test_the_input_may_change_only_where_it_has_no_record(tmp_path: Path) -> None:
    path = tmp_path / "out"
    label(path, texts=TEXTS[:2])
    before = path.read_bytes()
    with pytest.raises(FileError, match=r"record 2 is not about in\.csv:2"):
        label(path, texts=[TEXTS[0], "changed"])
    with pytest.raises(FileError, match="record 2 is about no row of the input"):
        label(path, texts=TEXTS[:1])
    assert path.read_bytes() == before
    # Another column of a labelled row.
    path.write_bytes(before.replace(b"2,,", b"3,,"))
    with pytest.raises(FileError, match="record 2 is not about"):
        label(path)
    path.write_bytes(before)
    assert label(path) == 2
    assert path.read_bytes().startswith(before)
    assert len(list(record_ends(path, quoted=True))) == len(TEXTS) + 1


def test_rows_that_were_skipped_are_found(tmp_path: Path) -> None:
    """Records of rows 1 and 3, and a part of that of row 4; a labeller skipped row 2."""
    path, report = tmp_path / "out", ReadReport()
    label(path)
    starts = [0, *record_ends(path, quoted=True)]
    header, one, _, three, four = [path.read_bytes()[start:end] for start, end in pairwise(starts)]
    torn = header + one + three + four[:4]
    path.write_bytes(torn)
    with pytest.raises(FileError, match=r"record 2 is not about in\.csv:2") as caught:
        label(path)
    assert "--on-error skip" in caught.value.remedy
    assert path.read_bytes() == torn
    assert label(path, on_error="skip", report=report) == 2
    assert path.read_bytes() == header + one + three + four
    assert [(error.place.line, error.problem) for error in report.errors] == [
        (2, "skipped by the run that is resumed")
    ]


@pytest.mark.parametrize("limit", [10, 60, 90, 110])
def test_a_full_disk_is_an_error_and_the_rest_follows(tmp_path: Path, limit: int) -> None:
    resource = pytest.importorskip("resource")
    path, expected = tmp_path / "out", tmp_path / "expected"
    label(expected)
    whole = expected.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        with pytest.raises(FileError, match="cannot be written"):
            label(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not path.exists() or whole.startswith(path.read_bytes())
    label(path)
    assert path.read_bytes() == whole


def test_records_are_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with resume_output(path, CSV, iter(rows_of(TEXTS)), SETTINGS) as opened:
        for row in opened.rows:
            opened.write(record_of(CSV, row))
            assert path.read_text().endswith(record_of(CSV, row))


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path, output_format in (
        (None, CSV),
        ("-", JSON),
        ("a.svg", SvgFormat()),
        ("a.tsv", TableFormat()),
        (tmp_path / "pipe.csv", CSV),
    ):
        with pytest.raises(ConfigError, match="only a file of JSON Lines or CSV"):
            check_resumable(path, output_format)
    with pytest.raises(ConfigError, match="compressed file cannot be resumed") as caught:
        check_resumable("a.csv.gz", CSV)
    assert "Write a.csv with --resume" in caught.value.remedy
