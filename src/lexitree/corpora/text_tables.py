"""Reads texts with labels from a table: CSV, TSV, JSON Lines, Parquet, or columns of Python values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

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
from lexitree.errors import (
    ConfigError,
    FileError,
    InputError,
    JsonLinesError,
    OnError,
    Place,
    SentenceError,
    TableError,
    import_extra,
)
from lexitree.files import JSON_LINES_SUFFIXES, display_name, plain_suffix, read_lines
from lexitree.settings import MAX_SEED, Setting, Settings
from lexitree.text import Layout
from lexitree.trees.brackets import ReadReport
from lexitree.trees.jsonl import parse_json_line

PARQUET_SUFFIX = ".parquet"
TEXT_NAMES = ("text", "sentence", "comment", "review", "content", "message", "question", "body")
LABEL_NAMES = ("label", "class", "category", "kind", "type", "sentiment", "target")
"""Names of columns that need not be asked for, the first of several that are there."""

_TREE_KEYS = frozenset(("words", "phrases"))
"""The keys of trees in JSON Lines."""
_FILL_IN = "Correct the row or remove it, or skip such rows: --set on_error=skip."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings(Settings):
    """Which columns of a table are texts and labels, and which of its rows are held out."""

    text: Annotated[
        str | None, Setting("Column of the texts; default: one called text, sentence, comment or the like.")
    ] = None
    label: Annotated[
        str | None, Setting("Column of the labels; default: one called label, class, category or the like.")
    ] = None
    delimiter: Annotated[
        str | None, Setting("What separates the cells; default: tabs in .tsv, else what fits the first rows.")
    ] = None
    header: Annotated[
        bool | None,
        Setting("Whether the first row names the columns; without one, they are called 1, 2, 3 and so on."),
    ] = None
    layout: Annotated[
        Layout,
        Setting("Texts are running text, or one sentence per line, or one sentence each (text, lines, one)."),
    ] = "text"
    dev: Annotated[
        float,
        Setting(
            "Share of the rows that choose the best epoch; 0 trains on all and keeps the last epoch.",
            at_least=0,
            below=1,
        ),
    ] = 0.1
    test: Annotated[
        float, Setting("Share of the rows that only the final model is scored on.", at_least=0, below=1)
    ] = 0.1
    seed: Annotated[int, Setting("Determines which rows these are.", at_least=0, at_most=MAX_SEED)] = 2017

    def _check_together(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise ConfigError(
                f"a delimiter is one character, and no quote or line break: {self.delimiter!r:.40}",
                remedy="Give one such as , or ; or tab.",
            )
        if self.dev + self.test >= 1:
            raise ConfigError(
                f"the development and test parts take all rows ({self.dev:g} and {self.test:g} of them)",
                remedy="Leave some for training.",
            )

    @property
    def names_columns(self) -> bool:
        """Whether anything says that a file is a table."""
        return any(value is not None for value in (self.text, self.label, self.delimiter, self.header))


class LabelledText(NamedTuple):
    """A row of a table."""

    text: str
    label: str
    place: Place


@dataclass(frozen=True)
class LabelledTexts:
    """The rows of a table, in their order."""

    name: str
    rows: Sequence[LabelledText]
    text_column: str = ""
    label_column: str = ""
    num_skipped: int = 0
    skipped: tuple[InputError, ...] = ()

    @property
    def labels(self) -> list[str]:
        return [row.label for row in self.rows]

    @property
    def digest(self) -> str:
        """A checksum of all texts and labels in their order, whatever kind of file they stand in."""
        sums = hashlib.sha256()
        for row in self.rows:
            sums.update(json.dumps([row.text, row.label]).encode() + b"\n")
        return sums.hexdigest()


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
    delimiter = settings.delimiter
    if delimiter is None:
        delimiter, lines = ("\t", lines) if suffix == ".tsv" else sniff_delimiter(lines)
    line, cells = next(read_csv_records(islice(lines, 1), name, delimiter), (1, list[str]()))
    if suffix == ".tsv" and not (settings.names_columns or _obvious_columns(cells)):
        return _OpenTable(_lines_with_text(path, encoding), _split_line(name), ("2", "1"))
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
    obvious = _obvious_columns(columns) or ("", "")
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


def _obvious_columns(columns: Sequence[str]) -> tuple[str, str] | None:
    """The columns whose names say that they hold texts and labels; None unless there are both."""
    by_name = {column.strip().lower(): column for column in reversed(columns)}
    text = next((by_name[name] for name in TEXT_NAMES if name in by_name), None)
    label = next((by_name[name] for name in LABEL_NAMES if name in by_name), None)
    return (text, label) if text is not None and label is not None else None


def _taker(text_column: str, label_column: str) -> Callable[[Row], LabelledText]:
    def take(row: Row) -> LabelledText:
        values = dict(row.columns)
        if label_column not in values:
            known = ", ".join(map(repr, values))
            raise TableError(row.place, f"there is no key {label_column!r}", remedy=f"The keys are {known}.")
        return _labelled(values[text_column], values[label_column], row.place)

    return take


def _labelled(text: object, label: object, place: Place) -> LabelledText:
    """Check a row."""
    if not isinstance(text, str):
        what = "missing" if is_missing(text) else f"of type {type(text).__name__}"
        raise TableError(place, f"the text is {what}", remedy=_FILL_IN)
    written = label_text(label)
    if not written:
        raise TableError(place, "the label is empty", remedy=_FILL_IN)
    if "\0" in text or "\0" in written:
        raise TableError(
            place,
            "the row holds a NUL character",
            remedy="Is the file in UTF-16? Give its encoding: --encoding utf-16. Or remove the character.",
        )
    if not text.strip():
        raise TableError(place, "the text is empty", remedy=_FILL_IN)
    return LabelledText(text, written, place)


def label_text(label: object) -> str:
    """A label as a string: `1` for the numbers 1 and 1.0; "" for a missing value."""
    # A number of NumPy, as columns of Parquet and pandas have them.
    value = cast(Any, label).item() if hasattr(label, "item") and not isinstance(label, str) else label
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(cast(object, value)).strip()


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN or the missing value of pandas."""
    return (
        value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"
    )


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
        return _labelled(text, label, Place(name, number))

    return split


def _read_parquet(path: Path) -> tuple[Iterator[Row], list[str]]:
    parquet = import_extra("pyarrow.parquet", extra="parquet", purpose="Reading Parquet", package="pyarrow")
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise FileError(path, f"cannot be read as Parquet ({error})") from error
    names = cast(list[str], file.schema_arrow.names)

    def rows() -> Iterator[Row]:
        number = 0
        for batch in file.iter_batches():
            for values in cast(list[Mapping[str, Any]], batch.to_pylist()):
                number += 1
                yield Row("", tuple(values.items()), Place(str(path), number))

    return rows(), names


def texts_from_columns(
    texts: Iterable[object], labels: Iterable[object], name: str = "texts"
) -> LabelledTexts:
    """Take texts and labels from two columns: lists, or columns of pandas, polars, NumPy or Hugging Face datasets.

    Args:
        texts: The texts.
        labels: Their labels: strings, numbers or truth values.
        name: What to call them in messages.

    Raises:
        TableError: The columns have different lengths, or a row has no text or no label.
    """
    first, second = _values(texts), _values(labels)
    if len(first) != len(second):
        raise TableError(Place(name), f"{len(first):,} texts, but {len(second):,} labels")
    if not first:
        raise FileError(name, "contains no texts: it is empty")
    rows = [
        _labelled(text, label, Place(name, number))
        for number, (text, label) in enumerate(zip(first, second, strict=True), 1)
    ]
    return LabelledTexts(name, rows)


def _values(column: Iterable[object]) -> list[object]:
    """The values of a column; data frames and datasets have methods that are faster than going through them."""
    if isinstance(column, str):
        raise TableError(Place("texts"), "a column is needed, not a single string", remedy="Give a list.")
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(column, method):
            return cast(list[object], getattr(column, method)())
    return list(column)
