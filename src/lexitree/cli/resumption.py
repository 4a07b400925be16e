"""The output file of a stopped run in, the number of texts that it already has and a way to add the others out."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from lexitree.cli.text_output import TextForm, TextOutput
from lexitree.errors import ConfigError, FileError, LexitreeError
from lexitree.files import STANDARD_STREAM

if TYPE_CHECKING:
    from lexitree.pipeline.tables import Row

RESUMABLE: tuple[TextForm, ...] = ("json", "csv")


@dataclass(frozen=True)
class Resumption:
    """A file to go on with, and how many texts it already has."""

    path: Path
    num_done: int
    last_record: str
    is_empty: bool


def find_resumption(path: Path | None, output: TextOutput) -> Resumption:
    """Cut what a stopped run has left to whole records, and count these."""
    from lexitree.pipeline.unfinished import cut_to_whole_records, find_whole_records, read_last_record

    if path is None or str(path) == STANDARD_STREAM or output.form not in RESUMABLE:
        refuse_resumption()
    is_csv = output.form == "csv"
    records = find_whole_records(path, quoted=is_csv)
    num_done = records.num_records - (is_csv and records.num_records > 0)
    last = read_last_record(path, records) if num_done else ""
    if is_csv and records.num_records and not num_done:
        _check(path, read_last_record(path, records) + "\n" == output.opening())
    cut_to_whole_records(path, records)
    return Resumption(path, num_done, last, records.num_records == 0)


def refuse_resumption() -> NoReturn:
    raise ConfigError(
        "only a file of JSON Lines or CSV can be gone on with",
        remedy="Use --resume with -o FILE.jsonl or -o FILE.csv.",
    )


def skip_done(rows: Iterator[Row], resumption: Resumption, output: TextOutput) -> None:
    """Pass over the rows that are done, the last of which must be the last record of the file."""
    if not resumption.num_done:
        return
    last = deque(islice(rows, resumption.num_done), maxlen=1)
    _check(resumption.path, bool(last) and _written_text(resumption, output) == _text_of(last[0], output))


def _text_of(row: Row, output: TextOutput) -> object:
    return row.text if output.column is None else dict(row.columns)[output.column]


def _written_text(resumption: Resumption, output: TextOutput) -> object:
    """The text that the last record of a file is about; None where it is no such record."""
    from lexitree.pipeline.tables import read_csv_records

    try:
        if output.form == "json":
            record: object = json.loads(resumption.last_record)
            return (
                cast(dict[str, Any], record).get(output.column or "text")
                if isinstance(record, dict)
                else None
            )
        lines = enumerate(resumption.last_record.split("\n"), 1)
        _, cells = next(read_csv_records(lines, str(resumption.path), output.delimiter))
        return cells[list(output.columns).index(output.column or "")]
    except (ValueError, LexitreeError, StopIteration, IndexError):
        return None


def _check(path: Path, is_same: bool) -> None:
    if not is_same:
        raise FileError(
            path,
            "does not hold the first results for this input, so it cannot be gone on with",
            remedy="Give the input and the options it was begun with, or another output file.",
        )


@contextmanager
def open_appended(path: Path) -> Generator[Callable[[str], object]]:
    """A function that adds to a file, record by record: what was done before a run is stopped is not lost."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror or error})") from error
    with stream:

        def write(text: str) -> None:
            stream.write(text)
            stream.flush()

        yield write
