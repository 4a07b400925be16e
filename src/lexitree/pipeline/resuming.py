"""Continues an interrupted output file: drops a partial last record and skips the texts that are already labelled."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lexitree.errors import ConfigError, FileError
from lexitree.files import STANDARD_STREAM, file_errors
from lexitree.pipeline.formats import OutputFormat, RecordFormat
from lexitree.pipeline.tables import Row

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WholeRecords:
    """The complete records of a file; places are in bytes."""

    num_records: int = 0
    end: int = 0
    """Where the last complete record ends."""
    last_start: int = 0
    """Where the last complete record begins."""


def find_whole_records(path: Path, *, quoted: bool) -> WholeRecords:
    """Count the complete records of a file, which end with a line break (if `quoted`, one outside quotes)."""
    if not path.exists():
        return WholeRecords()
    found, offset, in_quotes = WholeRecords(), 0, False
    with file_errors(path), path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            found, in_quotes = _scan(chunk, offset, found, in_quotes, quoted=quoted)
            offset += len(chunk)
    return found


def _scan(
    chunk: bytes, offset: int, found: WholeRecords, in_quotes: bool, *, quoted: bool
) -> tuple[WholeRecords, bool]:
    """Continue counting in the next chunk, line by line."""
    num_records, end, last_start = found.num_records, found.end, found.last_start
    place = 0
    while True:
        line_end = chunk.find(b"\n", place)
        piece = chunk[place:] if line_end < 0 else chunk[place:line_end]
        # A quote inside a quoted cell is written twice, so an odd number of them is an open cell.
        in_quotes ^= quoted and piece.count(b'"') % 2 == 1
        if line_end < 0:
            return WholeRecords(num_records, end, last_start), in_quotes
        place = line_end + 1
        if not in_quotes:
            num_records, last_start, end = num_records + 1, end, offset + place


def read_last_record(path: Path, records: WholeRecords) -> str:
    """The last complete record, without its line break."""
    with path.open("rb") as stream:
        stream.seek(records.last_start)
        return stream.read(records.end - records.last_start).decode("utf-8", "replace").removesuffix("\n")


def cut_to_whole_records(path: Path, records: WholeRecords) -> None:
    """Drop a partial last record, and have that on disk before anything is added."""
    if not path.exists() or path.stat().st_size == records.end:
        return
    with file_errors(path, "written"), path.open("r+b") as stream:
        stream.truncate(records.end)
        os.fsync(stream.fileno())


def check_resumable(path: str | Path | None, output_format: OutputFormat) -> Path:
    """Raise an error unless an output can be resumed; return its path."""
    is_resumable = isinstance(output_format, RecordFormat) and output_format.is_resumable
    if path is None or str(path) == STANDARD_STREAM or not is_resumable:
        raise ConfigError(
            "only a file of JSON Lines or CSV can be resumed",
            remedy="Use --resume with -o FILE.jsonl or -o FILE.csv.",
        )
    return Path(path)


@contextmanager
def resume_output(
    path: str | Path | None, output_format: RecordFormat, rows: Iterator[Row]
) -> Generator[tuple[Callable[[str], object], int]]:
    """Open an interrupted output file, which may be empty or missing, to add the records that it lacks.

    Args:
        path: The output file.
        output_format: The format that it is written in.
        rows: The rows of the input. Those that are already labelled are consumed; the last of them must be what the
            last record of the file is about.

    Returns:
        A function that adds a record, and how many records there are already. Each record is written at once, so an
        interruption loses nothing that was done.

    Raises:
        ConfigError: The output is not a file, or its format cannot be resumed.
        FileError: The file holds something else than the first results for this input.
    """
    path = check_resumable(path, output_format)
    opening = output_format.opening()
    records = find_whole_records(path, quoted=output_format.is_quoted)
    num_done = max(records.num_records - bool(opening), 0)
    last = read_last_record(path, records) if records.num_records else ""
    if opening and records.num_records and not num_done:
        _check(path, f"{last}\n" == opening)
    if num_done:
        skipped = deque(islice(rows, num_done), maxlen=1)
        _check(path, bool(skipped) and output_format.text_of(last) == _text_of(skipped[0], output_format))
    cut_to_whole_records(path, records)
    with _append(path) as write:
        if not records.num_records:
            write(opening)
        yield write, num_done


def _text_of(row: Row, output_format: RecordFormat) -> object:
    column = output_format.settings.column
    return row.text if column is None else dict(row.columns)[column]


def _check(path: Path, is_same: bool) -> None:
    if not is_same:
        raise FileError(
            path,
            "does not hold the first results for this input, so it cannot be resumed",
            remedy="Use the same input and options as before, or another output file.",
        )


@contextmanager
def _append(path: Path) -> Generator[Callable[[str], object]]:
    with file_errors(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a", encoding="utf-8", newline="\n")
    with stream:

        def write(text: str) -> None:
            stream.write(text)
            stream.flush()

        yield write
