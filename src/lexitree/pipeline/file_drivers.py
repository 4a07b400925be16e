"""Labels the texts of a file, in one process or several, and counts what drives their labels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.analysis.driver_counts import NUM_EXAMPLES, DriverCounter
from lexitree.analysis.driver_mentions import ReadText, read_document
from lexitree.analysis.driver_report import DriverReport, Mention
from lexitree.errors import ConfigError, InputError, Place, TableError
from lexitree.files import display_name, to_json
from lexitree.pipeline.formats import OutputSettings, RecordFormat
from lexitree.pipeline.inputs import Inputs, UntilError
from lexitree.pipeline.workers import LabellerSettings, open_labeller
from lexitree.text.columns import is_null

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row
    from lexitree.errors import OnError
    from lexitree.results.document import Document
    from lexitree.trees.brackets import ReadReport

PERIODS: dict[str, Callable[[date], str]] = {
    "year": lambda day: f"{day:%Y}",
    "quarter": lambda day: f"{day:%Y}-Q{(day.month + 2) // 3}",
    "month": lambda day: f"{day:%Y-%m}",
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()),
    "day": lambda day: f"{day:%Y-%m-%d}",
}
"""How the dates of a column are grouped: `--by date:month`."""

_MONTH = re.compile(r"\d{4}-\d{2}")


def find_drivers_in_file(
    source: str | Path,
    column: str | None = None,
    *,
    by: str | None = None,
    labeller: LabellerSettings | None = None,
    num_workers: int = 1,
    num_examples: int = NUM_EXAMPLES,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> DriverReport:
    """Label the texts of a file and count which phrases and head words drive their labels; see `find_drivers`.

        report = lexitree.find_drivers_in_file("reviews.csv", "comment", by="date:month", num_workers=2)

    Args:
        source: A table (CSV, TSV or JSON Lines), or a file with a text on each line; `-` is standard input.
        column: The column of a table that holds the texts.
        by: The column whose values are compared, or `COLUMN:PERIOD` for a column of ISO dates, where the period is
            year, quarter, month, week or day.
        labeller: The model, its parser and where they run.
        num_workers: How many processes label texts.
        num_examples: How many texts are kept of each driver.
        encoding: The encoding of the file.
        on_error: Whether a malformed row is an error, or is skipped and reported.
        report: Is told of the rows that are skipped.
        on_progress: Called with the number of texts that are done.

    Raises:
        ConfigError: The settings contradict each other.
        TableError: The file has no such column, or a date cannot be read.
    """
    if by and column is None:
        raise ConfigError(f"--by {by} is for a table", remedy="Name the column of the texts with --column.")
    inputs = Inputs([Path(source)], "text" if column is None else "auto", encoding, on_error)
    inputs.report = report or inputs.report
    rows, columns = _open_rows(inputs, column)
    records = _DriverRecords(_Grouping.read(by, columns, Place(display_name(source), 1)) if by else None)
    counter = DriverCounter(by=by or "", num_examples=num_examples)
    num_done = 0

    def note_refused(error: InputError) -> None:
        nonlocal num_done
        num_done += 1
        inputs.report.note(error, on_error)

    with open_labeller(labeller or LabellerSettings(), num_workers, note_refused) as label:
        readable = UntilError(rows)
        for record in label(readable, records):
            num_done += 1
            _count_record(counter, record, num_done)
            if on_progress:
                on_progress(num_done)
        readable.check()
    return counter.report(source=display_name(source))


def _open_rows(inputs: Inputs, column: str | None) -> tuple[Iterator[Row], Sequence[str]]:
    if column is None:
        return inputs.rows(), ()
    tables = inputs.tables(column)
    return chain.from_iterable(tables), tables[0].columns


class _Grouping:
    """Which group a row belongs to: the value of a column, or the period of its date."""

    def __init__(self, column: str, period: str = "") -> None:
        self.column = column
        self.period = period

    @classmethod
    def read(cls, by: str, columns: Sequence[str], place: Place) -> _Grouping:
        """Tell the column from the period; a column may have a colon in its name."""
        column, _, period = by.rpartition(":")
        found = cls(column, period) if by not in columns and column and period in PERIODS else cls(by)
        if columns and found.column not in columns:
            known = f"The columns are {', '.join(map(repr, columns))}; periods are {', '.join(PERIODS)}."
            raise TableError(place, f"there is no column {found.column!r}", remedy=known)
        return found

    def group(self, row: Row) -> str | None:
        """The group of a row; None if it has none."""
        value = dict(row.columns).get(self.column)
        if is_null(value) or not str(value).strip():
            return None
        text = str(value).strip()
        if not self.period:
            return text
        try:
            day = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
        except ValueError as error:
            raise TableError(
                row.place,
                f"{self.column!r} is not a date: {text[:40]!r}",
                remedy="Write dates as 2026-03-31, or group by the column itself: --by " + self.column,
            ) from error
        return PERIODS[self.period](day)


class _DriverRecords(RecordFormat):
    """What is counted of a text, as JSON, so that several processes can find it."""

    name = "drivers"

    def __init__(self, grouping: _Grouping | None) -> None:
        super().__init__(OutputSettings())
        self.grouping = grouping

    def text_record(self, row: Row, document: Document) -> str:
        found = read_document(document)
        group = self.grouping and self.grouping.group(row)
        return to_json({**found._asdict(), "group": group, "place": str(row.place)})


def _count_record(counter: DriverCounter, record: str, row: int) -> None:
    values: dict[str, Any] = json.loads(record)
    mentions = tuple(Mention(*each) for each in values["mentions"])
    text = ReadText(values["text"], values["label"], tuple(values["labels"]), mentions)
    counter.add(text, row, group=values["group"], place=values["place"])
