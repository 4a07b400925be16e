"""Reads the texts of one column of CSV or JSON Lines, and writes rows of both.

Rows are read one at a time, whatever the size of the file. CSV needs a header; line breaks inside cells are kept,
written as `\\n`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from lexitree.errors import JsonLinesError, OnError, Place, TableError
from lexitree.files import MAX_LINE_CHARACTERS, display_name, read_lines, to_json
from lexitree.trees.brackets import ReadReport
from lexitree.trees.jsonl import parse_json_line

MAX_BLANK_LINES = 10_000
"""How many lines are searched for one that is not blank."""

NumberedLine = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Row:
    """A text to label, with the other columns of its row."""

    text: str
    columns: tuple[tuple[str, Any], ...]
    """Names and values in the order of the input, the text included; empty for a text that stands alone."""
    place: Place
    """Where the row comes from, for error messages."""


class CsvTable:
    """The rows of CSV with a header."""

    def __init__(
        self,
        lines: Iterable[NumberedLine],
        name: str,
        column: str,
        *,
        delimiter: str = ",",
        on_error: OnError = "raise",
        report: ReadReport | None = None,
    ) -> None:
        self.name = name
        self.on_error: OnError = on_error
        self.report = report or ReadReport()
        self._records = read_csv_records(lines, name, delimiter)
        line, self.columns = next(self._records, (1, list[str]()))
        self._chosen = _find_column(column, self.columns, Place(self.name, line))

    def __iter__(self) -> Iterator[Row]:
        for line, cells in self._records:
            place = Place(self.name, line)
            if len(cells) != len(self.columns):
                problem = f"{_count(cells, 'cell')}, but the header has {len(self.columns)}"
                self.report.note(TableError(place, problem), self.on_error)
                continue
            yield Row(cells[self._chosen], tuple(zip(self.columns, cells, strict=True)), place)


def read_csv_records(
    lines: Iterable[NumberedLine], name: str, delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of CSV, each with the number of its first line; blank lines between them are skipped."""
    csv.field_size_limit(MAX_LINE_CHARACTERS)
    reader = csv.reader((line + "\n" for _, line in lines), delimiter=delimiter, strict=True)
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise TableError(
                Place(name, first),
                f"this is not CSV ({error})",
                remedy='Write quotes inside a cell twice: "like ""this""".',
            ) from error
        if cells is None:
            return
        if cells:
            yield first, cells


def _find_column(column: str, columns: Sequence[str], place: Place) -> int:
    if list(columns).count(column) == 1:
        return list(columns).index(column)
    problem = (
        f"there is no column {column!r}" if column not in columns else f"the column {column!r} occurs twice"
    )
    known = f"The columns are {', '.join(map(repr, columns))}." if columns else "The file is empty."
    raise TableError(place, problem, remedy=known)


class JsonLinesTable:
    """The rows of JSON Lines: objects with a text under one key."""

    columns: Sequence[str] = ()
    """Each row has its own keys."""

    def __init__(
        self,
        lines: Iterable[NumberedLine],
        name: str,
        column: str,
        *,
        on_error: OnError = "raise",
        report: ReadReport | None = None,
    ) -> None:
        self.lines = lines
        self.name = name
        self.column = column
        self.on_error: OnError = on_error
        self.report = report or ReadReport()

    def __iter__(self) -> Iterator[Row]:
        for number, line in self.lines:
            if not line.strip():
                continue
            try:
                yield self._row(line, Place(self.name, number))
            except JsonLinesError as error:
                self.report.note(error, self.on_error)

    def _row(self, line: str, place: Place) -> Row:
        values = parse_json_line(line, place.line, place.path)
        if self.column not in values:
            known = ", ".join(map(repr, values)) or "none"
            raise JsonLinesError(place, f"there is no key {self.column!r}", remedy=f"The keys are {known}.")
        text = values[self.column]
        if text is not None and not isinstance(text, str):
            raise JsonLinesError(place, f"{self.column!r} is not a text: {str(text)[:40]}")
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            raise JsonLinesError(place, f"{self.column!r} holds half a character ({error.reason})") from error
        return Row(text or "", tuple(values.items()), place)


def open_table(
    path: str | Path,
    column: str,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> CsvTable | JsonLinesTable:
    """Open a table of texts.

    Args:
        path: A file, or `-` for standard input. It is JSON Lines if it begins with `{` or is called `.jsonl` or
            `.ndjson`, else CSV, with tabs if it is called `.tsv`.
        column: The column, or key, that holds the texts.
        encoding: The encoding of the file.
        on_error: Whether a malformed row is an error or is skipped and reported.
        report: Where skipped rows are noted.

    Raises:
        TableError: The file has no such column.
    """
    first, lines = look_at_first(read_lines(path, encoding))
    name = display_name(path)
    if first.startswith("{") or _plain_suffix(path) in (".jsonl", ".ndjson"):
        return JsonLinesTable(lines, name, column, on_error=on_error, report=report)
    delimiter = "\t" if _plain_suffix(path) == ".tsv" else ","
    return CsvTable(lines, name, column, delimiter=delimiter, on_error=on_error, report=report)


def _plain_suffix(path: str | Path) -> str:
    return Path(str(path).removesuffix(".gz")).suffix.lower()


def look_at_first(lines: Iterator[NumberedLine]) -> tuple[str, Iterator[NumberedLine]]:
    """Return the first line that is not blank, stripped ("" if there is none), and an iterator over all lines."""
    taken: list[NumberedLine] = []
    for number, line in islice(lines, MAX_BLANK_LINES):
        taken.append((number, line))
        if line.strip():
            return line.strip(), chain(taken, lines)
    return "", chain(taken, lines)


def csv_line(cells: Sequence[object], delimiter: str = ",") -> str:
    """Write a record of CSV, with quotes only where they are needed."""
    written = [_csv_cell(cell, delimiter) for cell in cells]
    # A record of one empty cell would be a blank line, which readers skip.
    return (delimiter.join(written) if written != [""] else '""') + "\n"


def _csv_cell(cell: object, delimiter: str) -> str:
    if cell is None:
        return ""
    text = cell if isinstance(cell, str) else to_json(cell)
    if any(sign in text for sign in (delimiter, '"', "\n", "\r")) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def json_line(columns: Sequence[tuple[str, Any]], place: Place) -> str:
    """Write a row as a JSON object on one line."""
    values = dict(columns)
    if len(values) < len(columns):
        raise TableError(place, "two columns have the same name, which JSON cannot hold", remedy="Write CSV.")
    return to_json(values) + "\n"


def _count(things: Sequence[object], what: str) -> str:
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")
