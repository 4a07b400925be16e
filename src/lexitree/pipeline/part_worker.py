"""Reads, labels and writes one part of a folder after the other, in whatever process an engine runs it.

A part is written completely or not at all, so a task that is run twice writes the same file again.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import cast

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, InputError, LexitreeError
from lexitree.files import to_json
from lexitree.ops.openmp import one_thread
from lexitree.pipeline.formats import RowFormat
from lexitree.pipeline.job_settings import JobSettings
from lexitree.pipeline.part_folder import InputFile, PartFolder
from lexitree.pipeline.part_sources import Block, PartSource
from lexitree.pipeline.parts import failed_name, label_part, open_source, part_name
from lexitree.pipeline.workers import Record, RowLabeller, open_labeller, without_words
from lexitree.trees.brackets import ReadReport

_SEES_FILES = "The inputs, the model and the output folder must have the same names on every node."


@dataclass(frozen=True)
class PartTask:
    """A part that is to be labelled. It can be sent to another machine."""

    file: InputFile
    part: int
    num_rows: int
    failed: tuple[tuple[int, str], ...] = ()
    """The rows that are left without a label, counted from 0 in the part, each with the reason."""
    tried: tuple[int, int] | None = None
    """The first row and the end of those that are only tried; nothing is written then."""

    def pieces(self, size: int) -> list[PartTask]:
        """Tasks that only try the rows of this one, so many at a time."""
        start, stop = self.tried or (0, self.num_rows)
        return [replace(self, tried=(first, min(first + size, stop))) for first in range(start, stop, size)]


@dataclass
class PartResult:
    """What became of a task."""

    task: PartTask
    problem: str = ""
    """Why the rows could not be labelled; empty if all is well."""
    error: LexitreeError | None = None
    """What is wrong, if it is not the rows: it ends the run."""
    num_labelled: int = 0
    refused: ReadReport = field(default_factory=ReadReport)
    failed: ReadReport = field(default_factory=ReadReport)


class PartWorker:
    """Labels one part after the other, wherever an engine runs it; pickles as its settings.

    Args:
        job: What is labelled, and how.
        folder: The output.
    """

    def __init__(self, job: JobSettings, folder: PartFolder) -> None:
        # A copy has read nothing yet, so it can be pickled.
        inputs = replace(job.inputs, report=ReadReport())
        self.job = replace(job, inputs=inputs, refused=ReadReport(), failed=ReadReport())
        self.folder = folder
        self.working_folder = os.getcwd()  # noqa: PTH109
        self._model: ExitStack | None = None
        self._label: RowLabeller | None = None
        self._reader: _Reader | None = None
        self._refused = ReadReport()

    @property
    def device(self) -> str:
        """Where it labels."""
        return self.job.labeller.device

    def on_device(self, device: str) -> PartWorker:
        """A worker that labels the same elsewhere."""
        return PartWorker(replace(self.job, labeller=replace(self.job.labeller, device=device)), self.folder)

    def __call__(self, task: PartTask) -> PartResult:
        """Label a part and write it, or only try some of its rows."""
        result = PartResult(task)
        try:
            label = self._open()
            # An engine has one worker per core.
            with one_thread():
                self._refused = result.refused
                if task.tried is None:
                    self._write(result, label)
                else:
                    self._try_rows(task, label)
                return result
        except _FailedRows as error:
            result.problem = str(error)
        except FileError as error:
            error.remedy = f"{error.remedy}\n{_SEES_FILES}".lstrip()
            result.error = error
        except LexitreeError as error:
            result.error = error
        except Exception as error:
            result.error = LexitreeError(f"a worker has failed: {_describe(error)}")
        self._close_reader()
        return result

    def _open(self) -> RowLabeller:
        """Load the model, once in the life of the process."""
        if self._label is None:
            with suppress(OSError):
                os.chdir(self.working_folder)
            # It is closed by the end of the process, which an engine does not announce.
            self._model = ExitStack()
            opening = open_labeller(self.job.labeller, 1, lambda error: self._refused.note(error, "skip"))
            self._label = _name_failures(self._model.enter_context(opening))
        return self._label

    def _read(self, task: PartTask) -> tuple[PartSource, Iterator[Block]]:
        """The open file of a task, and its blocks."""
        if self._reader is None or not self._reader.can_read(task):
            self._close_reader()
            self._reader = _Reader(self.job, task.file)
        return self._reader.source, self._reader.read(task.part)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _write(self, result: PartResult, label: RowLabeller) -> None:
        task = result.task
        source, blocks = self._read(task)
        failures: list[tuple[Row, InputError]] = []
        name = part_name(task.file, task.part, source)
        with self.folder.new_file(name) as path:
            with source.open_part(path) as write:
                labelled = _leave_out(label, dict(task.failed), failures)
                for block, records in label_part(blocks, source.output_format, labelled):
                    write(block, records)
                    result.num_labelled += len(records)
            if result.num_labelled != task.num_rows:
                raise task.file.change_error()
            if failures:
                self._write_failures(task, failures)
        for _, error in failures:
            result.failed.note(error, "skip")

    def _write_failures(self, task: PartTask, failures: Sequence[tuple[Row, InputError]]) -> None:
        with self.folder.new_file(failed_name(task.file, task.part)) as path:
            lines = (
                to_json({"row": row.place.line, "text": row.text, "problem": error.problem}) + "\n"
                for row, error in failures
            )
            path.write_text("".join(lines), encoding="utf-8")

    def _try_rows(self, task: PartTask, label: RowLabeller) -> None:
        assert task.tried is not None
        self._close_reader()
        source, blocks = self._read(task)
        rows = islice(chain.from_iterable(block.rows for block in blocks), *task.tried)
        for _ in label(rows, source.output_format):
            pass
        self._close_reader()


class _Reader(Container[int]):
    """A file that is read forwards, since of a file without row groups all rows before a part have to be read.

    It contains the parts that are not to be read any more.
    """

    def __init__(self, job: JobSettings, file: InputFile) -> None:
        self.file = file
        self.part = -1
        self._opened = ExitStack()
        self.source = self._opened.enter_context(open_source(job, file))
        self._blocks = self.source.blocks(self)

    def __contains__(self, part: object) -> bool:
        return cast(int, part) < self.part

    def can_read(self, task: PartTask) -> bool:
        return task.file == self.file and task.part > self.part

    def read(self, part: int) -> Iterator[Block]:
        """The blocks of a part and of those after it; the caller knows where it ends."""
        self.part = part
        return self._blocks

    def close(self) -> None:
        self._opened.close()


class _FailedRows(Exception):  # noqa: N818
    """Labelling some rows has raised an error that no text should cause."""


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _name_failures(label: RowLabeller) -> RowLabeller:
    """Tell errors of labelling from those of reading and writing."""

    def labelled(rows: Iterable[Row], output_format: RowFormat[Record], /) -> Iterator[Record]:
        try:
            yield from label(rows, output_format)
        except (ConfigError, FileError, InputError):
            raise
        except Exception as error:
            raise _FailedRows(_describe(error)) from error

    return labelled


def _leave_out(
    label: RowLabeller, failed: Mapping[int, str], failures: list[tuple[Row, InputError]]
) -> RowLabeller:
    """Leave the rows that fail without a label, and collect them."""
    if not failed:
        return label

    def labelled(rows: Iterable[Row], output_format: RowFormat[Record], /) -> Iterator[Record]:
        for is_failed, group in groupby(enumerate(rows), lambda numbered: numbered[0] in failed):
            if not is_failed:
                yield from label((row for _, row in group), output_format)
                continue
            for number, row in group:
                error = InputError(row.place, f"the text cannot be labelled: {failed[number]}")
                failures.append((row, error))
                yield output_format.text_record(row, without_words(row, error))

    return labelled
