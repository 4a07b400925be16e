"""Reads the texts of one column of CSV or JSON Lines, and writes rows of both.

Rows are read one at a time, whatever the size of the file. Line breaks inside the cells of CSV are kept, written as
`\\n`. Without a header, the columns of CSV are called 1, 2, 3 and so on.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self, cast

from lexitree.errors import InputError, JsonLinesError, OnError, Place, TableError
from lexitree.files import (
    JSON_LINES_SUFFIXES,
    STANDARD_STREAM,
    display_name,
    plain_suffix,
    read_lines,
    to_json,
)
from lexitree.trees.brackets import ReadReport
from lexitree.trees.jsonl import parse_json_line

MAX_BLANK_LINES = 10_000
MAX_BLANK_CHARACTERS = 1 << 20
"""How many lines and characters are searched for a line that is not blank."""
MAX_RECORD_CHARACTERS = 1 << 24
"""Longer records of CSV, over all their lines, are an error: a quote may never be closed."""
MAX_JSON_DEPTH = 100
"""Values that are nested deeper are an error."""
MAX_TIMES_READ = 8
"""How often lines may be read again, on average, to find the next record after broken ones."""
FEW_CHARACTERS = 1 << 20
"""So few characters may be read again more often."""

_DOUBLE_QUOTES = 'Write quotes inside a cell twice: "like ""this""".'
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""What a formula begins with, or what a spreadsheet removes before it looks for one."""

DELIMITERS = (",", "\t", ";", "|")
"""What may separate the cells of CSV, if nobody says what does."""
_SNIFFED_LINES = 20

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
    """The rows of CSV, by default with a header."""

    def __init__(
        self,
        lines: Iterable[NumberedLine],
        name: str,
        column: str,
        *,
        delimiter: str = ",",
        has_header: bool = True,
        on_error: OnError = "raise",
        report: ReadReport | None = None,
    ) -> None:
        self.name = name
        self.on_error: OnError = on_error
        self.report = report or ReadReport()
        self.columns: Sequence[str] = ()
        self._records = read_csv_records(lines, name, delimiter, note=self._note)
        line, cells = next(self._records, (1, list[str]()))
        self.columns = cells if has_header else numbered_columns(cells)
        if not has_header and cells:
            self._records = chain([(line, cells)], self._records)
        self._chosen = find_column(column, self.columns, Place(self.name, line))

    def _note(self, error: TableError) -> None:
        # Without its header, a table cannot be read.
        self.report.note(error, self.on_error if self.columns else "raise")

    def __iter__(self) -> Iterator[Row]:
        for line, cells in self._records:
            place = Place(self.name, line)
            if len(cells) != len(self.columns):
                problem = f"{_count(cells, 'cell')}, but the header has {len(self.columns)}"
                self.report.note(TableError(place, problem), self.on_error)
                continue
            yield Row(cells[self._chosen], tuple(zip(self.columns, cells, strict=True)), place)


def read_csv_records(
    lines: Iterable[NumberedLine],
    name: str,
    delimiter: str = ",",
    *,
    note: Callable[[TableError], None] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of CSV, each with the number of its first line; blank lines between them are skipped.

    Args:
        lines: The numbered lines, without their line breaks.
        name: The name of the file, for error messages.
        delimiter: What separates the cells.
        note: Called with the error of a broken record, which is then skipped: reading goes on with the line after its
            first, since a wrong quote may have swallowed good rows. Without it, the error is raised.
    """
    # The limit is one for the whole program, which may need a higher one; records have their own bound.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_CHARACTERS))
    source = _RecordLines(lines)
    while True:
        # A reader cannot be used again after an error.
        reader = csv.reader(source, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                first = source.end_record()
                if cells:
                    yield first, cells
            return
        except csv.Error as error:
            place = Place(name, source.taken[0][0])
            problem = TableError(place, f"this is not CSV ({error})", remedy=_DOUBLE_QUOTES)
            if note is None:
                raise problem from error
            note(problem)
            if not source.back_up():
                raise TableError(
                    place, "too many broken quotes to find the next row", remedy=_DOUBLE_QUOTES
                ) from error


class _RecordLines:
    """The lines of CSV, with those of the record that is being read, which can be read again."""

    def __init__(self, lines: Iterable[NumberedLine]) -> None:
        self.lines = iter(lines)
        self.again = deque[NumberedLine]()
        self.taken: list[NumberedLine] = []
        self.num_characters = self.num_new = self.num_again = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        number, line = self.again.popleft() if self.again else self._next_new()
        self.taken.append((number, line))
        self.num_characters += len(line) + 1
        if self.num_characters > MAX_RECORD_CHARACTERS:
            raise csv.Error(f"more than {MAX_RECORD_CHARACTERS:,} characters; is a quote never closed?")
        return line + "\n"

    def _next_new(self) -> NumberedLine:
        number, line = next(self.lines)
        self.num_new += len(line) + 1
        return number, line

    def end_record(self) -> int:
        """Begin a new record; return the number of the first line of the one before."""
        first, _ = self.taken[0]
        self.taken.clear()
        self.num_characters = 0
        return first

    def back_up(self) -> bool:
        """Go back to the second line of this record; False if lines were read again too often."""
        self.num_again += self.num_characters
        self.again.extendleft(reversed(self.taken[1:]))
        self.end_record()
        return self.num_again <= MAX_TIMES_READ * max(self.num_new, FEW_CHARACTERS)


def numbered_columns(cells: Sequence[str]) -> list[str]:
    """The names of the columns of a table without a header."""
    return [str(number) for number in range(1, len(cells) + 1)]


def find_column(column: str, columns: Sequence[str], place: Place) -> int:
    """The position of a column.

    Raises:
        TableError: There is no such column, or there are two; the remedy lists the columns.
    """
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
        _refuse_depth(values, place)
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            raise JsonLinesError(place, f"{self.column!r} holds half a character ({error.reason})") from error
        return Row(text or "", tuple(values.items()), place)


def _refuse_depth(values: dict[str, Any], place: Place) -> None:
    """Refuse values that are too deep to be copied, whatever runs around the encoder."""
    level: list[Any] = [values]
    for _ in range(MAX_JSON_DEPTH):
        items: Iterator[Any] = chain.from_iterable(
            cast(dict[str, Any], each).values() if isinstance(each, dict) else each for each in level
        )
        level = [item for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise JsonLinesError(place, f"JSON nested more than {MAX_JSON_DEPTH} levels deep")


def open_table(
    path: str | Path,
    column: str,
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    has_header: bool = True,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> CsvTable | JsonLinesTable:
    """Open a table of texts.

    Args:
        path: A file, or `-` for standard input. It is JSON Lines if it begins with `{` or is called `.jsonl` or
            `.ndjson`, else CSV.
        column: The column, or key, that holds the texts.
        encoding: The encoding of the file.
        delimiter: What separates the cells of CSV; by default tabs if it is called `.tsv`, else what fits its first
            lines.
        has_header: Whether the first row of CSV names the columns; otherwise they are called 1, 2, 3 and so on.
        on_error: Whether a malformed row is an error or is skipped and reported.
        report: Where skipped rows are noted.

    Raises:
        TableError: The file has no such column.
    """
    name = display_name(path)
    first, lines = look_at_first(read_lines(path, encoding), name)
    suffix = plain_suffix(path)
    if first.startswith("{") or suffix in JSON_LINES_SUFFIXES:
        return JsonLinesTable(lines, name, column, on_error=on_error, report=report)
    if delimiter is None and suffix == ".tsv":
        delimiter = "\t"
    elif delimiter is None and str(path) != STANDARD_STREAM:  # a pipe may give its lines one at a time
        delimiter, lines = sniff_delimiter(lines)
    return CsvTable(
        lines,
        name,
        column,
        delimiter=delimiter or ",",
        has_header=has_header,
        on_error=on_error,
        report=report,
    )


def sniff_delimiter(lines: Iterator[NumberedLine]) -> tuple[str, Iterator[NumberedLine]]:
    """Return what separates the cells of CSV, and an iterator over all lines.

    It is what divides the first records into equally many cells, and into most; if nothing does, what divides the
    very first into most.
    """
    sample = list(islice(lines, _SNIFFED_LINES))
    widths = {delimiter: _widths(sample, delimiter) for delimiter in DELIMITERS}
    return max(DELIMITERS, key=widths.__getitem__), chain(sample, lines)


def _widths(sample: Sequence[NumberedLine], delimiter: str) -> tuple[int, int]:
    """The number of cells of the first records, or 0 if they differ or have one each; and of the very first."""
    records: list[list[str]] = []
    # The last record may go on after the sample, with a quote that is still open.
    with suppress(InputError):
        records.extend(cells for _, cells in read_csv_records(sample, "", delimiter))
    widths = [len(cells) for cells in records]
    first = widths[0] if widths else 0
    return (first if first > 1 and len(set(widths)) == 1 else 0), first


def look_at_first(lines: Iterator[NumberedLine], name: str) -> tuple[str, Iterator[NumberedLine]]:
    """Return the first line that is not blank, stripped ("" if there is none), and an iterator over all lines.

    Raises:
        InputError: The input, called `name`, begins with so much white space that it is not searched any further.
    """
    taken: list[NumberedLine] = []
    num_characters = 0
    for number, line in lines:
        taken.append((number, line))
        if line.strip():
            return line.strip(), chain(taken, lines)
        num_characters += len(line)
        if len(taken) >= MAX_BLANK_LINES or num_characters > MAX_BLANK_CHARACTERS:
            raise InputError(
                Place(name, number),
                f"nothing but white space in {len(taken):,} lines"
                f" (at most {MAX_BLANK_LINES:,} lines or {MAX_BLANK_CHARACTERS:,} characters are searched)",
                remedy="Remove the blank lines, or say what follows with --input text or --input trees.",
            )
    return "", iter(taken)


def csv_line(cells: Sequence[object], delimiter: str = ",", *, guard_formulas: bool = False) -> str:
    """Write a record of CSV, with quotes only where they are needed.

    Args:
        cells: Texts, numbers and other values, which are written as JSON; None is an empty cell.
        delimiter: What separates the cells.
        guard_formulas: Whether an apostrophe is put before texts that a spreadsheet would take for a formula.
    """
    written = [_csv_cell(cell, delimiter, guard_formulas=guard_formulas) for cell in cells]
    # A record of one empty cell would be a blank line, which readers skip.
    return (delimiter.join(written) if written != [""] else '""') + "\n"


def _csv_cell(cell: object, delimiter: str, *, guard_formulas: bool) -> str:
    if cell is None:
        return ""
    text = cell if isinstance(cell, str) else to_json(cell)
    if guard_formulas and isinstance(cell, str) and text.startswith(_FORMULA_SIGNS):
        text = f"'{text}"
    if any(sign in text for sign in (delimiter, '"', "\n", "\r")) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _count(things: Sequence[object], what: str) -> str:
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")
