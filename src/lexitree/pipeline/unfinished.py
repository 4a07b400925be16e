"""An output file that a stopped run has left in, how many of its records are whole and the file cut to these out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lexitree.errors import FileError

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WholeRecords:
    """What a file has of whole records; in bytes where they end and where the last of them begins."""

    num_records: int = 0
    end: int = 0
    last_start: int = 0


def find_whole_records(path: Path, *, quoted: bool) -> WholeRecords:
    """Count records that end with a line break; in CSV (`quoted`) one between quotes ends no record."""
    if not path.exists():
        return WholeRecords()
    found, offset, in_quotes = WholeRecords(), 0, False
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                found, in_quotes = _scan(chunk, offset, found, in_quotes, quoted=quoted)
                offset += len(chunk)
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    return found


def _scan(
    chunk: bytes, offset: int, found: WholeRecords, in_quotes: bool, *, quoted: bool
) -> tuple[WholeRecords, bool]:
    """Go on counting in a further chunk, line by line."""
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
    """The text of the last whole record, without its line break."""
    with path.open("rb") as stream:
        stream.seek(records.last_start)
        return stream.read(records.end - records.last_start).decode("utf-8", "replace").removesuffix("\n")


def cut_to_whole_records(path: Path, records: WholeRecords) -> None:
    """Cut a torn last record off, and have that on disk before anything is added."""
    if not path.exists() or path.stat().st_size == records.end:
        return
    try:
        with path.open("r+b") as stream:
            stream.truncate(records.end)
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror or error})") from error
