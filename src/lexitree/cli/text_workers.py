"""Rows of text in, what is written for each of them out in their order: the work of several processes.

Each process has a model and a parser of its own and labels a chunk of rows at a time. Chunks are handed out and their
records taken back in turns, so the order needs no keeping, and no more chunks are held than there are processes.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection
from types import TracebackType
from typing import TYPE_CHECKING

from lexitree.cli.text_labelling import LabellerSetup, TextLabeller
from lexitree.cli.text_output import TextOutput
from lexitree.errors import ConfigError, LexitreeError
from lexitree.processes import how_it_ended, uninterrupted_children

if TYPE_CHECKING:
    from lexitree.pipeline.tables import Row

ROWS_AT_ONCE = 256
"""Rows of a chunk: enough for full batches, and done within a second or two."""

Answer = tuple[list[str], LexitreeError | None]
"""The records of a chunk, and the error that kept it from having more."""


class TextWorkers:
    """Processes that label rows; they start when there is work and end with the `with` block, also after Ctrl-C."""

    def __init__(self, setup: LabellerSetup, number: int) -> None:
        if setup.parser is not None and setup.parser.partition(":")[0] != "builtin":
            raise ConfigError(
                f"--jobs is for the built-in parser, not for {setup.parser!r}",
                remedy="Other parsers have processes of their own.",
            )
        self.setup = setup
        self.number = number
        self.workers: list[_Worker] = []

    def __enter__(self) -> TextWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.stop(at_once=error is not None)
        for worker in self.workers:
            worker.process.join()

    def records(self, rows: Iterable[Row], output: TextOutput) -> Iterator[str]:
        """What is written for each row. Records before an error come first."""
        chunks = _chunks(iter(rows))
        first = list(islice(chunks, self.number))
        # All are started before any is given its rows: those wait in a pipe, a large chunk until they are read.
        busy = deque([self._start(output) for _ in first])
        for worker, chunk in zip(busy, first, strict=True):
            worker.give(chunk)
        while busy:
            worker = busy.popleft()
            records, error = worker.take()
            yield from records
            if error is not None:
                raise error
            for chunk in islice(chunks, 1):
                worker.give(chunk)
                busy.append(worker)

    def _start(self, output: TextOutput) -> _Worker:
        self.workers.append(_Worker(self.setup, output))
        return self.workers[-1]


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        yield chunk


class _Worker:
    """A process that is given a chunk and then asked for its records, by turns."""

    def __init__(self, setup: LabellerSetup, output: TextOutput) -> None:
        # A fresh interpreter: forking a process that runs threads is not safe.
        context = multiprocessing.get_context("spawn")
        self.connection, others = context.Pipe()
        self.process = context.Process(target=_serve, args=(setup, output, others), daemon=True)
        with uninterrupted_children():
            self.process.start()
        # With one end here and one there, each side notices when the other is gone.
        others.close()

    def give(self, chunk: list[Row]) -> None:
        try:
            self.connection.send(chunk)
        except OSError as error:
            raise self._death() from error

    def take(self) -> Answer:
        try:
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error

    def _death(self) -> LexitreeError:
        self.process.join()
        return LexitreeError(
            f"a process that labels texts {how_it_ended(self.process.exitcode)}",
            remedy="Try fewer --jobs: each has a model of its own in memory.",
        )

    def stop(self, *, at_once: bool) -> None:
        self.connection.close()
        if at_once:
            self.process.terminate()


def _serve(setup: LabellerSetup, output: TextOutput, connection: Connection) -> None:
    """The body of a process: chunks in, answers out, until the other side is gone."""
    import torch

    torch.set_num_threads(1)
    with ExitStack() as resources, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        open_once = cache(lambda: setup.open(resources))
        while True:
            connection.send(_answer(open_once, connection.recv(), output))


def _answer(open_labeller: Callable[[], TextLabeller], rows: list[Row], output: TextOutput) -> Answer:
    records: list[str] = []
    try:
        records.extend(open_labeller().records(rows, output))
    except LexitreeError as error:
        return records, error
    return records, None
