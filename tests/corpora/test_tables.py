"""Columns of CSV and JSON Lines: read as they are, written back as they were, errors with file and line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora import tables
from lexitree.corpora.tables import (
    MAX_RECORD_CHARACTERS,
    CsvTable,
    JsonLinesTable,
    csv_line,
    look_at_first,
    open_table,
    read_csv_records,
)
from lexitree.errors import EncodingError, InputError, JsonLinesError, TableError
from lexitree.files import to_json
from lexitree.trees import jsonl
from lexitree.trees.brackets import ReadReport

CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=12)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5), st.sampled_from(",\t"))
def test_what_is_written_is_read_again(records: list[list[str]], delimiter: str) -> None:
    text = "".join(csv_line(cells, delimiter) for cells in records)
    lines = enumerate(text.removesuffix("\n").split("\n"), 1)
    assert [cells for _, cells in read_csv_records(lines, "t", delimiter)] == records
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)) == records


def test_one_empty_cell_and_other_values() -> None:
    assert csv_line([""]) == '""\n'
    assert csv_line(["a", None, 1, 0.5, [{"b": "c"}]]) == 'a,,1,0.5,"[{""b"": ""c""}]"\n'
    assert csv_line([" padded "]) == '" padded "\n'


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas(sign: str) -> None:
    cells = [f"{sign}1", f"a{sign}", "", -0.5]
    assert next(csv.reader([csv_line(cells)]))[0] == cells[0]
    guarded = next(csv.reader(io.StringIO(csv_line(cells, guard_formulas=True), newline="")))
    assert guarded == [f"'{sign}1", f"a{sign}", "", "-0.5"], "a number is no formula"


@pytest.mark.parametrize("limit", [10, MAX_RECORD_CHARACTERS + 1])
def test_the_limit_of_the_program_is_never_lowered(limit: int) -> None:
    before = csv.field_size_limit(limit)
    try:
        assert list(read_csv_records([(1, "a" * 20)], "t")) == [(1, ["a" * 20])]
        assert csv.field_size_limit() == max(limit, MAX_RECORD_CHARACTERS)
    finally:
        csv.field_size_limit(before)


def test_quotes_commas_and_line_breaks_in_cells(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", 'id,review\r\n1,"a ""b"", c"\r\n2,"two\r\nlines"\r\n\r\n3,plain\r\n')
    rows = list(open_table(path, "review"))
    assert [row.text for row in rows] == ['a "b", c', "two\nlines", "plain"]
    assert [row.place.line for row in rows] == [2, 3, 6]
    assert rows[0].columns == (("id", "1"), ("review", 'a "b", c'))


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "\ufeffreview,id\ngood,1\n")
    assert [row.text for row in open_table(path, "review")] == ["good"]


def test_tabs_and_packed_files(tmp_path: Path) -> None:
    import gzip

    path = write(tmp_path, "t.tsv.gz", gzip.compress(b"id\treview\n1\ta, b\n"))
    assert [row.text for row in open_table(path, "review")] == ["a, b"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,text\n1,a\n", "t.csv:1: there is no column 'review'"),
        ("", "t.csv:1: there is no column 'review'"),
        ("review,review\na,b\n", "t.csv:1: the column 'review' occurs twice"),
        ("id,review\n1,a\n2\n", "t.csv:3: 1 cell, but the header has 2"),
        ("id,review\n1,a,b\n", "t.csv:2: 3 cells, but the header has 2"),
        ('id,review\n1,"a\nb\n', "t.csv:2: this is not CSV"),
        ('id,review\n1,"a"b\n', "t.csv:2: this is not CSV"),
    ],
)
def test_wrong_csv_names_file_and_line(tmp_path: Path, content: str, problem: str) -> None:
    path = write(tmp_path, "t.csv", content)
    with pytest.raises(TableError) as caught:
        list(open_table(path, "review"))
    assert problem in caught.value.message


def test_the_columns_that_there_are_stand_in_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        open_table(write(tmp_path, "t.csv", "id,text\n"), "review")
    assert caught.value.remedy == "The columns are 'id', 'text'."
    with pytest.raises(JsonLinesError) as caught_json:
        list(open_table(write(tmp_path, "t.jsonl", '{"id": 1}\n'), "review"))
    assert caught_json.value.remedy == "The keys are 'id'."


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "invalid JSON"),
        ("[1]", "one object"),
        ('{"other": "a"}', "no key 'review'"),
        ('{"review": 7}', "'review' is not a text: 7"),
        ('{"review": ["a"]}', "'review' is not a text"),
        ('{"review": "\\ud800"}', "half a character"),
        ('{"review": "a", "review": "b"}', "duplicate key"),
        ('{"review": NaN}', "NaN"),
        ('{"review": "a", "x": 1e999}', "'x' holds a number that is too large: 1e999"),
        ('{"review": "a", "y": 1.5, "x": [{"a": [-1e999]}]}', "'x' holds a number that is too large: -1e999"),
    ],
)
def test_odd_lines_of_json_name_file_and_line(tmp_path: Path, line: str, problem: str) -> None:
    path = write(tmp_path, "t.jsonl", f'{{"review": "good"}}\n\n{line}\n{{"review": "bad"}}\n')
    with pytest.raises(JsonLinesError, match=f"t.jsonl:3.*{problem}"):
        list(open_table(path, "review"))
    report = ReadReport()
    rows = list(open_table(path, "review", on_error="skip", report=report))
    assert [row.text for row in rows] == ["good", "bad"]
    assert report.num_errors == 1


def test_null_is_an_empty_text(tmp_path: Path) -> None:
    (row,) = open_table(write(tmp_path, "t.jsonl", '{"review": null, "b": [1, {"c": 2.0}]}'), "review")
    assert row.text == ""
    assert dict(row.columns) == {"review": None, "b": [1, {"c": 2.0}]}


def test_json_lines_are_known_by_name_or_by_their_first_line(tmp_path: Path) -> None:
    assert isinstance(open_table(write(tmp_path, "a", '\n {"review": "x"}\n'), "review"), JsonLinesTable)
    assert isinstance(open_table(write(tmp_path, "b.jsonl", ""), "review"), JsonLinesTable)
    assert isinstance(open_table(write(tmp_path, "c", "review\n{x}\n"), "review"), CsvTable)


def test_rows_that_are_skipped(tmp_path: Path) -> None:
    report = ReadReport()
    path = write(tmp_path, "t.csv", "id,review\n1,a\n2\n3,c\n")
    assert [row.text for row in open_table(path, "review", on_error="skip", report=report)] == ["a", "c"]
    assert [str(error.place) for error in report.errors] == [f"{path}:3"]


@pytest.mark.parametrize(
    ("content", "texts", "skipped"),
    [
        # Never closed: it swallows everything, but only its own line is lost.
        ('1,a\n2,"b\n3,c\n4,d\n', ["a", "c", "d"], [3]),
        ('1,a\n2,"b"x\n3,c\n', ["a", "c"], [3]),
        ('1,"a\n2,"b\n3,"c\nd"\n', ["c\nd"], [2, 3]),
        ('1,a\n2,"b\n\n3,"c"\n', ["a", "c"], [3]),
        ('1,a\n2,"b', ["a"], [3]),
        ("1,a\n2,b\rc\n3,d\n", ["a", "d"], [3]),
        ('1,"a\nb"x\n2,c\n', ["c"], [2, 3]),
    ],
)
def test_broken_quotes_are_skipped(
    tmp_path: Path, content: str, texts: list[str], skipped: list[int]
) -> None:
    report, path = ReadReport(), write(tmp_path, "t.csv", "id,review\n" + content)
    assert [row.text for row in open_table(path, "review", on_error="skip", report=report)] == texts
    assert [error.place.line for error in report.errors] == skipped
    with pytest.raises(TableError, match=rf"t\.csv:{skipped[0]}: this is not CSV"):
        list(open_table(path, "review"))


def test_a_broken_header_is_an_error_in_any_case(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", '"id"x,review\n1,a\n')
    with pytest.raises(TableError, match=r"t\.csv:1: this is not CSV"):
        open_table(path, "review", on_error="skip")


def test_the_next_row_is_not_searched_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these lines opens a quote that no later one closes."""
    monkeypatch.setattr(tables, "FEW_CHARACTERS", 100)
    num_lines, num_read, errors = 3_000, 0, list[TableError]()

    class Counting(tables._RecordLines):
        def __next__(self) -> str:
            nonlocal num_read
            num_read += 1
            return super().__next__()

    monkeypatch.setattr(tables, "_RecordLines", Counting)
    lines = [(number, 'x","') for number in range(1, num_lines + 1)]
    with pytest.raises(TableError, match="too many broken quotes"):
        list(read_csv_records(lines, "t", note=errors.append))
    assert 0 < len(errors) < 20
    assert num_read < (tables.MAX_TIMES_READ + 2) * num_lines


def test_a_row_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_RECORD_CHARACTERS", 20)
    lines = [(1, '"a'), *((number, "b" * 5) for number in range(2, 9)), (9, "c" * 19), (10, "d" * 20)]
    with pytest.raises(TableError, match=r"t:1: .*more than 20 characters"):
        list(read_csv_records(lines, "t"))
    errors: list[TableError] = []
    found = list(read_csv_records(lines, "t", note=errors.append))
    assert [first for first, _ in found] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert [error.place.line for error in errors] == [1, 10]


def test_an_object_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_JSON_CHARACTERS", 20)
    path = write(tmp_path, "t.jsonl", '{"r": "a"}\n{"r": "' + "b" * 20 + '"}\n{"r": "c"}\n')
    with pytest.raises(JsonLinesError, match=r"t\.jsonl:2: object of more than 20 characters"):
        list(open_table(path, "r"))
    assert [row.text for row in open_table(path, "r", on_error="skip")] == ["a", "c"]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_values_have_a_depth(tmp_path: Path, opening: str, closing: str) -> None:
    def line(depth: int) -> str:
        return '{"r": "a", "x": ' + opening * depth + "1" + closing * depth + "}\n"

    path = write(tmp_path, "t.jsonl", line(99) + line(100) + line(900) + line(50_000))
    report = ReadReport()
    (row,) = open_table(path, "r", on_error="skip", report=report)
    assert to_json(dict(row.columns)) + "\n" == line(99)
    assert [error.place.line for error in report.errors] == [2, 3, 4]
    assert "nested more than 100 levels deep" in report.errors[0].problem


@pytest.mark.parametrize(("lines", "characters"), [(3, 1 << 20), (1 << 20, 12)])
def test_blank_lines_are_kept_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch, lines: int, characters: int
) -> None:
    monkeypatch.setattr(tables, "MAX_BLANK_LINES", lines)
    monkeypatch.setattr(tables, "MAX_BLANK_CHARACTERS", characters)
    blank = [(number, " " * 5) for number in range(1, 9)]
    first, again = look_at_first(iter([*blank[:2], (3, " a ")]), "t")
    assert (first, list(again)) == ("a", [*blank[:2], (3, " a ")])
    assert look_at_first(iter(blank[:2]), "t")[0] == ""
    source = iter(blank)
    with pytest.raises(InputError, match=r"t:3: nothing but white space in 3 lines \(at most"):
        look_at_first(source, "t")
    assert len(list(source)) == 5


def test_a_wrong_encoding_is_an_error_with_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "review\ngood\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(EncodingError, match=r"t\.csv:3"):
        list(open_table(path, "review"))
    assert [row.text for row in open_table(path, "review", encoding="latin-1")] == ["good", "café"]


def test_half_characters_beside_the_text_stay_escaped(tmp_path: Path) -> None:
    (row,) = open_table(write(tmp_path, "t.jsonl", '{"review": "a", "b": "\\ud800"}'), "review")
    assert to_json(dict(row.columns)) == '{"review": "a", "b": "\\ud800"}'
