"""Reads texts with labels from files: CSV, TSV, JSON Lines and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from lexitree.corpora.parquet_files import PARQUET_SUFFIX, open_parquet
from lexitree.corpora.tables import (
    CsvTable,
    JsonLinesTable,
    NumberedLine,
    Row,
    find_column,
    look_at_first,
    numbered_columns,
    open_table,
    read_csv_records,
    sniff_delimiter,
)
from lexitree.corpora.text_tables import LabelledText, LabelledTexts, TableSettings, check_row
from lexitree.errors import FileError, JsonLinesError, OnError, Place, SentenceError, TableError
from lexitree.files import JSON_LINES_SUFFIXES, display_name, plain_suffix, read_lines
from lexitree.trees.brackets import ReadReport
from lexitree.trees.jsonl import parse_json_line

TEXT_NAMES = ("text", "sentence", "comment", "review", "content", "message", "question", "body")
LABEL_NAMES = ("label", "class", "category", "kind", "type", "sentiment", "target")
"""Names of columns that need not be asked for, the first of several that are there."""

_TREE_KEYS = frozenset(("words", "phrases"))
"""The keys of trees in JSON Lines."""


def is_text_table(path: str | Path, settings: TableSettings | None = None, encoding: str = "utf-8") -> bool:
    """Whether a file holds texts with labels, and not trees: by its ending, its content, or what is said of it."""
    suffix = plain_suffix(path)
    if suffix in (".csv", ".tsv", PARQUET_SUFFIX) or (settings and settings.names_columns):
        return True
    if suffix not in JSON_LINES_SUFFIXES:
        return False
    first, _ = look_at_first(read_lines(path, encoding), display_name(path))
    try:
        return bool(first) and not (_TREE_KEYS & parse_json_line(first, 1, str(path)).keys())
    except JsonLinesError:
        return False


def read_texts(
    path: str | Path,
    settings: TableSettings | None = None,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
) -> LabelledTexts:
    """Read a table of texts with labels.

    Args:
        path: CSV, TSV, JSON Lines or Parquet, by its ending. TSV without a header has lines `label<TAB>text`.
        settings: The columns and the delimiter; what is not given is found out.
        encoding: The encoding of the file.
        on_error: Whether to "raise" at a malformed row or to "skip" it.

    Raises:
        TableError: The columns are not there or not obvious, or a row is malformed.
        FileError: The file cannot be read, or has no rows.
    """
    settings = settings or TableSettings()
    report = ReadReport()
    opened = _open(path, settings, encoding, on_error, report)
    rows: list[LabelledText] = []
    for row in opened.rows:
        found = report.attempt(on_error, opened.take, row)
        if found is not None:
            rows.append(found)
    if not rows:
        problem = f"all {report.num_errors:,} are malformed" if report.errors else "it is empty"
        raise FileError(display_name(path), f"contains no texts: {problem}")
    name = Path(path).name
    return LabelledTexts(name, rows, *opened.columns, report.num_errors, tuple(report.errors))


class _OpenTable(NamedTuple):
    """The rows of a file, what takes text and label from one of them, and the names of these columns."""

    rows: Iterable[Any]
    take: Callable[[Any], LabelledText]
    columns: tuple[str, str]


def _open(
    path: str | Path, settings: TableSettings, encoding: str, on_error: OnError, report: ReadReport
) -> _OpenTable:
    suffix = plain_suffix(path)
    if suffix == PARQUET_SUFFIX:
        rows, names = _read_parquet(Path(path))
        columns = _choose_columns(settings, names, Place(str(path)))
        return _OpenTable(rows, _taker(*columns), columns)
    name = display_name(path)
    first, lines = look_at_first(read_lines(path, encoding), name)
    if first.startswith("{") or suffix in JSON_LINES_SUFFIXES:
        keys = list(parse_json_line(first, 1, name)) if first else []
        columns = _choose_columns(settings, keys, Place(name, 1))
        table: CsvTable | JsonLinesTable = open_table(
            path, columns[0], encoding=encoding, on_error=on_error, report=report
        )
        return _OpenTable(table, _taker(*columns), columns)
    if suffix == ".tsv" and not settings.names_columns and "" in _obvious_columns(first.split("\t")):
        return _OpenTable(_lines_with_text(path, encoding), _split_line(name), ("2", "1"))
    delimiter = settings.delimiter
    if delimiter is None:
        delimiter, lines = ("\t", lines) if suffix == ".tsv" else sniff_delimiter(lines)
    line, cells = next(read_csv_records(lines, name, delimiter), (1, list[str]()))
    has_header = settings.header is not False
    known = cells if has_header else numbered_columns(cells)
    columns = _choose_columns(settings, known, Place(name, line))
    table = open_table(
        path,
        columns[0],
        encoding=encoding,
        delimiter=delimiter,
        has_header=has_header,
        on_error=on_error,
        report=report,
    )
    return _OpenTable(table, _taker(*columns), columns)


def _choose_columns(settings: TableSettings, columns: Sequence[str], place: Place) -> tuple[str, str]:
    """The columns of texts and labels: those asked for, or else those with obvious names."""
    obvious = _obvious_columns(columns)
    chosen = (settings.text or obvious[0], settings.label or obvious[1])
    # One that is not obvious may be the other one of two.
    if len(columns) == 2 and "" in chosen and chosen != ("", ""):
        other = next((name for name in columns if name not in chosen), "")
        chosen = (chosen[0] or other, chosen[1] or other)
    if "" in chosen:
        wanted = " and ".join(
            what for what, name in zip(("texts", "labels"), chosen, strict=True) if not name
        )
        raise TableError(
            place,
            f"which column holds the {wanted}?",
            remedy=f"Name it: --text NAME --label NAME. The columns are {', '.join(map(repr, columns))}."
            if columns
            else "The file is empty.",
        )
    for name in chosen:
        find_column(name, columns, place)
    return chosen


def _obvious_columns(columns: Sequence[str]) -> tuple[str, str]:
    """The columns whose names say that they hold texts and labels; "" for one that is not there."""
    by_name = {column.strip().lower(): column for column in reversed(columns)}
    text, label = (
        next((by_name[name] for name in names if name in by_name), "") for names in (TEXT_NAMES, LABEL_NAMES)
    )
    return text, label


def _taker(text_column: str, label_column: str) -> Callable[[Row], LabelledText]:
    def take(row: Row) -> LabelledText:
        values = dict(row.columns)
        if label_column not in values:
            known = ", ".join(map(repr, values))
            raise TableError(row.place, f"there is no key {label_column!r}", remedy=f"The keys are {known}.")
        return check_row(values[text_column], values[label_column], row.place)

    return take


def _lines_with_text(path: str | Path, encoding: str) -> Iterator[NumberedLine]:
    return ((number, line) for number, line in read_lines(path, encoding) if line.strip(" \t"))


def _split_line(name: str) -> Callable[[NumberedLine], LabelledText]:
    """Take `label<TAB>text` apart; quotes mean nothing there."""

    def split(numbered: NumberedLine) -> LabelledText:
        number, line = numbered
        label, tab, text = line.partition("\t")
        if not tab:
            raise SentenceError(
                Place(name, number, len(line) + 1, line),
                "line has no tab",
                remedy="Each line is a label, a tab and a text. If the first line names the columns, say which hold"
                " texts and labels: --text NAME --label NAME.",
            )
        return check_row(text, label, Place(name, number))

    return split


def _read_parquet(path: Path) -> tuple[Iterator[Row], list[str]]:
    def rows() -> Iterator[Row]:
        number = 0
        with open_parquet(path) as file:
            for batch in file.iter_batches():
                for values in cast(list[Mapping[str, Any]], batch.to_pylist()):
                    number += 1
                    yield Row("", tuple(values.items()), Place(str(path), number))

    with open_parquet(path) as file:
        return rows(), cast(list[str], file.schema_arrow.names)
