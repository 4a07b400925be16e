"""Continues an interrupted output file: checks whose it is, drops a partial last record, skips what is labelled.

Beside an output `NAME`, the file `.NAME.resume.json` says with which settings and model it was started. It stays
when the output is complete, so that the same command can label rows that are added to the input later. The input is
not recorded: each record is compared with the row that it must be about.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, OnError, TableError
from lexitree.files import STANDARD_STREAM, file_errors, to_json
from lexitree.fingerprints import describe_changes
from lexitree.pipeline.formats import OutputFormat, RecordFormat
from lexitree.trees.brackets import ReadReport
from lexitree.writing import atomic_write, hidden_beside, is_pipe_or_device

CHUNK_BYTES = 1 << 20

_START_ANEW = "Omit --resume to write it anew, or use another output file."


def record_ends(path: Path, *, quoted: bool) -> Iterator[int]:
    """Yield the places, in bytes, where the complete records of a file end.

    They end with a line break (if `quoted`, one outside quotes); a missing file has none.
    """
    if not path.exists():
        return
    offset, in_quotes = 0, False
    with file_errors(path), path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            place = 0
            while place < len(chunk):
                end = chunk.find(b"\n", place) + 1
                # A quote inside a quoted cell is written twice, so an odd number of them is an open cell.
                in_quotes ^= quoted and chunk.count(b'"', place, end or len(chunk)) % 2 == 1
                if end and not in_quotes:
                    yield offset + end
                place = end or len(chunk)
            offset += len(chunk)


def check_resumable(path: str | Path | None, output_format: OutputFormat) -> Path:
    """Raise an error unless an output can be resumed; return its path."""
    is_resumable = isinstance(output_format, RecordFormat) and output_format.is_resumable
    path = None if path is None or str(path) == STANDARD_STREAM else Path(path)
    if path is None or is_pipe_or_device(path) or not is_resumable:
        raise ConfigError(
            "only a file of JSON Lines or CSV can be resumed",
            remedy="Use --resume with -o FILE.jsonl or -o FILE.csv.",
        )
    if str(path).endswith(".gz"):
        raise ConfigError(
            f"{path}: a compressed file cannot be resumed",
            remedy=f"Write {str(path).removesuffix('.gz')} with --resume, and compress it when it is complete.",
        )
    return path


def settings_file(path: str | Path) -> Path:
    """The file that says with which settings an output was started."""
    return hidden_beside(path, ".resume.json")


@dataclass(frozen=True, slots=True)
class OpenedOutput:
    """An output file that is open for the records that it lacks."""

    write: Callable[[str], object]
    """Adds a record, which is written at once: an interruption loses nothing that was done."""
    rows: Iterator[Row]
    """The rows of the input that have no record yet."""
    num_done: int
    """How many records there are already."""


@contextmanager
def resume_output(
    path: str | Path | None,
    output_format: RecordFormat,
    rows: Iterator[Row],
    fingerprint: Mapping[str, Any],
    *,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Generator[OpenedOutput]:
    """Open an interrupted output file, which may be empty or missing, to add the records that it lacks.

    Nothing is changed before everything is checked.

    Args:
        path: The output file.
        output_format: The format that it is written in.
        rows: The rows of the input.
        fingerprint: The settings and the model, which must be those that the file was started with.
        on_error: If "skip", rows without a record between others that have one were skipped before; they are noted.
        report: Where those are noted.

    Raises:
        ConfigError: The output is not a file, or its format cannot be resumed.
        FileError: The file holds something other than the first results for this input and these settings.
    """
    path = check_resumable(path, output_format)
    with file_errors(path):
        size = path.stat().st_size if path.exists() else 0
    if size:
        _compare_settings(path, fingerprint)
        matched = _RecordMatcher(path, output_format, rows, on_error, report or ReadReport()).match(size)
    else:
        matched = _Matched(0, 0, rows)
        with atomic_write(settings_file(path)) as stream:
            stream.write(to_json(dict(fingerprint), indent=1) + "\n")
    with _append(path, matched.end) as write:
        if not matched.end:
            write(output_format.opening())
        yield OpenedOutput(write, matched.rows, matched.num_done)


def _compare_settings(path: Path, fingerprint: Mapping[str, Any]) -> None:
    """Refuse an output that was started with other settings, or whose settings are unknown."""
    file = settings_file(path)
    try:
        saved: object = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileError(
            path, f"was not started with --resume: there is no {file.name} beside it", remedy=_START_ANEW
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(file, f"cannot be read ({error})", remedy=_START_ANEW) from error
    if not isinstance(saved, dict):
        raise FileError(file, "does not hold the settings of an output", remedy=_START_ANEW)
    refuse_changes(path, cast(dict[str, Any], saved), fingerprint)


def refuse_changes(path: str | Path, saved: Mapping[str, Any], fingerprint: Mapping[str, Any]) -> None:
    """Raise an error if an output was started with other settings than it would be continued with."""
    changes = describe_changes(saved, fingerprint)
    if changes:
        raise FileError(
            path,
            f"was started with other settings: {changes}",
            remedy="Repeat the command that it was started with, or use another output.",
        )


@dataclass(frozen=True, slots=True)
class _Matched:
    num_done: int
    end: int
    """Where the last complete record ends, in bytes."""
    rows: Iterator[Row]
    """The rows that have no record."""


class _RecordMatcher:
    """Compares the records of an output with the rows of the input that they must be about."""

    def __init__(
        self,
        path: Path,
        output_format: RecordFormat,
        rows: Iterator[Row],
        on_error: OnError,
        report: ReadReport,
    ) -> None:
        self.path = path
        self.output_format = output_format
        self.rows = rows
        self.on_error: OnError = on_error
        self.report = report
        self.num_done = 0

    def match(self, size: int) -> _Matched:
        """Compare all records, also a partial last one, with their rows."""
        end = 0
        ends = record_ends(self.path, quoted=self.output_format.is_quoted)
        with file_errors(self.path), self.path.open("rb") as stream:
            for start, end in pairwise(chain([0], ends)):
                self._match_one(stream, start, end)
            if end < size:
                self._match_one(stream, end, size, is_partial=True)
        return _Matched(self.num_done, end, self.rows)

    def _match_one(self, stream: BinaryIO, start: int, end: int, *, is_partial: bool = False) -> None:
        opening = self.output_format.opening().encode()
        if opening and start == 0:
            if not _begins(stream, start, end, opening, is_partial=is_partial):
                raise self._error("its header differs")
            return
        row = self._find_row(stream, start, end, is_partial=is_partial)
        if is_partial:
            self.rows = chain([row], self.rows)
        else:
            self.num_done += 1

    def _find_row(self, stream: BinaryIO, start: int, end: int, *, is_partial: bool) -> Row:
        """Take the row that a record is about, and the rows before it that were skipped."""
        number = self.num_done + 1
        for row in self.rows:
            expected = self.output_format.record_start(row).encode()
            if _begins(stream, start, end, expected, is_partial=is_partial):
                return row
            if self.on_error == "raise":
                raise self._error(f"record {number:,} is not about {row.place}")
            self.report.note(TableError(row.place, "skipped by the run that is resumed"), self.on_error)
        raise self._error(f"record {number:,} is about no row of the input")

    def _error(self, reason: str) -> FileError:
        return FileError(
            self.path,
            f"does not hold the first results for this input, so it cannot be resumed ({reason})",
            remedy="Repeat the command that it was started with (with --on-error skip if it skipped rows), "
            "or use another output file.",
        )


def _begins(stream: BinaryIO, start: int, end: int, expected: bytes, *, is_partial: bool) -> bool:
    """Whether the bytes from `start` to `end` begin as expected, as far as they go if they are partial."""
    stream.seek(start)
    found = stream.read(min(end - start, len(expected)))
    return expected.startswith(found) if is_partial else found == expected


@contextmanager
def _append(path: Path, end: int) -> Generator[Callable[[str], object]]:
    """Cut a file after its last complete record, and add to it."""
    with file_errors(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("ab")

    def write(text: str) -> None:
        with file_errors(path, "written"):
            stream.write(text.encode())
            stream.flush()

    try:
        with file_errors(path, "written"):
            if path.stat().st_size > end:
                stream.truncate(end)
                os.fsync(stream.fileno())
        yield write
        with file_errors(path, "written"):
            os.fsync(stream.fileno())
    finally:
        # What could not be written cannot be written now either.
        with suppress(OSError):
            stream.close()
