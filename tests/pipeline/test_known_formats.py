"""The formats of this package: what each can write, and which one a file's name means."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, Place
from lexitree.pipeline.formats import OutputSettings, RecordFormat, Source
from lexitree.pipeline.known_formats import (
    FORMATS,
    CsvFormat,
    JsonFormat,
    TableFormat,
    format_name,
    open_format,
)
from lexitree.results.document import Document
from tests.pipeline.stubs import tiny_pipeline

TEXT = "The film is good. Bad."
ROW = Row(TEXT, (("id", "7"), ("review", TEXT)), Place("t.csv", 2))
CSV = OutputSettings("review", ("id", "review"), prefix="p_", phrases=True)


@pytest.fixture(scope="module")
def document() -> Document:
    return tiny_pipeline()(TEXT)


@pytest.mark.parametrize("output_format", sorted(set(FORMATS.values()), key=lambda each: each.name))
def test_a_format_writes_what_it_says(output_format: Any, document: Document) -> None:
    trees = list(document.sentences)
    for source in output_format.sources:
        made = open_format(output_format.name, source, CSV if source == "column" else OutputSettings())
        if not isinstance(made, RecordFormat):
            written = made.tree_file(trees) if source == "trees" else made.text_file([document])
        elif source == "trees":
            written = made.tree_record(trees[0])
        else:
            written = made.text_record(ROW, document)
        assert "good" in written
        assert written.endswith("\n") or not isinstance(made, RecordFormat)


@pytest.mark.parametrize(
    ("output", "source", "columns", "name"),
    [
        (None, "texts", (), "json"),
        ("a", "trees", (), "json"),
        ("a.mrg", "trees", (), "brackets"),
        ("a.SVG", "texts", (), "svg"),
        ("a.svg.gz", "texts", (), "svg"),
        ("a.jsonl.gz", "column", ("a",), "json"),
        ("a.htm", "trees", (), "html"),
        ("a.tsv", "texts", (), "table"),
        ("a.csv", "texts", (), "csv"),
        (None, "column", ("a",), "csv"),
        ("a", "column", ("a",), "csv"),
        ("a.ndjson", "column", ("a",), "json"),
        ("a", "column", (), "json"),
        # JSON Lines cannot become CSV, and the format says so.
        ("a.csv.gz", "column", (), "csv"),
        ("a.tsv", "column", (), "csv"),
    ],
)
def test_the_name_of_a_file_decides(
    output: str | None, source: Source, columns: tuple[str, ...], name: str
) -> None:
    assert format_name(output, source, columns) == name


@pytest.mark.parametrize(
    ("output", "source", "asked"),
    [
        ("a.html", "column", None),
        ("a.png", "texts", None),
        ("a.txt", "texts", None),
        ("a.json", "texts", None),
        ("a.tsv", "trees", None),
        ("a.csv", "trees", None),
        ("a.html", "texts", "json"),
        ("a.csv", "texts", "table"),
        ("a.png", "trees", "svg"),
    ],
)
def test_a_name_that_would_lie_is_refused(output: str, source: Source, asked: str | None) -> None:
    with pytest.raises(FileError, match=rf"^{output}: .*\.{output[2:]}") as caught:
        format_name(output, source, ("a",), asked=asked)
    fitting = {None: ".jsonl", "json": ".jsonl, .ndjson.", "table": ".tsv.", "svg": ".svg."}
    assert caught.value.remedy.startswith(f"Endings that fit: {fitting[asked]}")


def test_a_format_that_was_asked_for_may_have_any_other_name() -> None:
    assert format_name("a.txt", "texts", asked="draw") == "tree"
    assert format_name("a.tsv", "column", ("a",), asked="csv") == "csv"
    # It does not fit, whatever the file is called: `open_format` says so.
    assert format_name("a.csv", "column", asked="draw") == "tree"


@pytest.mark.parametrize(
    ("name", "source", "settings", "problem"),
    [
        ("nonsense", "texts", {}, "unknown format 'nonsense'"),
        ("table", "trees", {}, "the format table is for text"),
        ("draw", "column", {}, "a column cannot be written as tree"),
        ("csv", "column", {"column": "a"}, "JSON Lines cannot be written as CSV"),
        ("json", "texts", {"prefix": "p_"}, "--prefix is for a column"),
        ("json", "texts", {"phrases": True}, "--phrases is for a table or a column"),
        ("table", "texts", {"head_weights": True}, "--head-weights is for JSON, not for table"),
    ],
)
def test_what_does_not_fit_is_refused(
    name: str, source: Source, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        open_format(name, source, OutputSettings(**settings))


def test_columns_are_copied_and_added(document: Document) -> None:
    (cells,) = csv.reader(io.StringIO(CsvFormat(CSV).text_record(ROW, document), newline=""))
    values = json.loads(JsonFormat(CSV).text_record(ROW, document))
    assert list(values) == ["id", "review", "p_label", "p_probability", "p_phrases"]
    assert cells[:3] == ["7", TEXT, document.label]
    assert json.loads(cells[4]) == values["p_phrases"]
    assert values["p_probability"] == pytest.approx(document.probability, abs=1e-6)
    assert [phrase["text"] for phrase in values["p_phrases"]] == [phrase.text for phrase in document.phrases]
    empty = OutputSettings(phrases=True).added_columns(tiny_pipeline()(""))
    assert empty == [("label", None), ("probability", None), ("phrases", [])]


ODD_ROWS = (
    ROW,
    Row("", (("id", ""), ("review", "")), Place("t.csv", 3)),
    Row("=1\u2028é", (("id", "\t@\ud800"), ("review", "=1\u2028é")), Place("t.csv", 4)),
)


@pytest.mark.parametrize("row", ODD_ROWS)
@pytest.mark.parametrize(
    "made", [CsvFormat(CSV), CsvFormat(replace(CSV, guard_formulas=True)), JsonFormat(CSV), JsonFormat()]
)
def test_the_start_of_a_record_is_known(made: RecordFormat, row: Row) -> None:
    record = made.text_record(row, tiny_pipeline()(row.text))
    assert record.startswith(made.record_start(row))
    for other in ODD_ROWS:
        assert record.startswith(made.record_start(other)) == (other is row)


def test_formulas_are_guarded_only_if_asked(document: Document) -> None:
    row = Row("-1", (("=id", "=1+1"), ("review", "-1")), Place("t.csv", 2))
    settings = OutputSettings("review", ("=id", "review"))
    for guard, expected in ((False, ["=id", "=1+1", "-1"]), (True, ["'=id", "'=1+1", "'-1"])):
        made = CsvFormat(replace(settings, guard_formulas=guard))
        header, cells = csv.reader(io.StringIO(made.opening() + made.text_record(row, document), newline=""))
        assert [header[0], *cells[:2]] == expected
    with pytest.raises(ConfigError, match="--guard-formulas is for CSV, not for json"):
        open_format("json", "texts", OutputSettings(guard_formulas=True))


def test_cells_of_a_table_stay_on_their_line() -> None:
    odd = tiny_pipeline()("a\tfilm\nis good")
    assert TableFormat().text_record(ROW, odd).split("\t")[2] == "a film is good\n"
