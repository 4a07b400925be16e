"""Texts with labels: the rows of a table, its settings, and tables made of columns of Python values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, cast

from lexitree.errors import ConfigError, FileError, InputError, Place, TableError
from lexitree.settings import MAX_SEED, Setting, Settings
from lexitree.text import Layout
from lexitree.text.columns import column_values, is_null

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


def check_row(text: object, label: object, place: Place) -> LabelledText:
    """Check a text and its label.

    Raises:
        TableError: One of them is missing or empty, or holds a NUL.
    """
    if not isinstance(text, str):
        what = "missing" if is_null(text) else f"of type {type(text).__name__}"
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
    if is_null(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(cast(object, value)).strip()


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
        check_row(text, label, Place(name, number))
        for number, (text, label) in enumerate(zip(first, second, strict=True), 1)
    ]
    return LabelledTexts(name, rows)


def _values(column: object) -> list[object]:
    if isinstance(column, str):
        raise TableError(Place("texts"), "a column is needed, not a single string", remedy="Give a list.")
    return list(cast("Iterator[object]", column)) if isinstance(column, Iterator) else column_values(column)
