"""Labels rows of text in this process, or in several processes that each have a model and a parser of their own.

With several processes, chunks of rows are handed out and their records taken back in turns, so the order is kept.
Each process has a chunk to label and another that waits, so none is idle while its records are written, and no more
are held. This one then loads no model of its own.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Never, Protocol, Self, TypeVar

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, InputError, LexitreeError, Place, TextError, find_memory_error
from lexitree.limits import Limits
from lexitree.ops.openmp import one_thread
from lexitree.pipeline.formats import RowFormat
from lexitree.processes import how_it_ended, uninterrupted_children
from lexitree.saving.shipped import BUILTIN_PARSER, DEFAULT_MODEL

if TYPE_CHECKING:
    from lexitree.ops.devices import Precision
    from lexitree.pipeline.loading import LoadOptions
    from lexitree.pipeline.predictor import Predictor
    from lexitree.pipeline.text_pipeline import TextPipeline
    from lexitree.results.document import Document

CHUNK_ROWS = 256
"""Rows per chunk: enough for full batches, and labelled within a second or two."""

_Answer = tuple[list[Any], LexitreeError | None]
"""The records of a chunk with the errors of refused rows, and the error that kept it from having more."""

Record = TypeVar("Record")

_FEWER_JOBS = "Try fewer --jobs: each has a model of its own in memory."


@dataclass(frozen=True)
class LabellerSettings:
    """Which model labels texts, and how; can be sent to another process. See `lexitree.load` for the settings."""

    model: str | Path = DEFAULT_MODEL
    parser: str | None = None
    device: str = "auto"
    backend: str = "auto"
    precision: Precision = "float32"
    batch_size: int | None = None
    """How many sentences are labelled together; by default as many as fit the device."""
    one_sentence: bool = False
    """Whether each text is taken as a single sentence."""
    needs_heads: bool = False
    """Whether a model without head words is an error."""
    limits: Limits = field(default_factory=Limits)
    """What a text may have before it is refused."""
    labels: int | None = None
    """How many labels to answer with; by default, those of the model."""
    nodes: Literal["all", "root"] = "all"
    """Whether all phrases are labelled or whole sentences only; so are those of which a format shows no phrases."""

    def open_predictor(self) -> Predictor:
        """Load the model to label trees."""
        from lexitree.pipeline.loading import load

        predictor = load(self.model, reads="trees", **self._options)
        self._check_heads(predictor)
        return predictor

    def open_pipeline(self) -> TextPipeline:
        """Load the model with its parser to label text; close it after use."""
        from lexitree.pipeline.loading import load

        pipe = load(self.model, reads="text", parser=self.parser, limits=self.limits, **self._options)
        self._check_heads(pipe.predictor)
        return pipe

    @property
    def _options(self) -> LoadOptions:
        return {
            "device": self.device,
            "backend": self.backend,
            "precision": self.precision,
            "labels": self.labels,
        }

    def _check_heads(self, predictor: Predictor) -> None:
        if self.needs_heads and not predictor.model.has_heads:
            name = predictor.model.config.model
            raise ConfigError(f"--head-weights is for models with heads, and {name} has none")

    def documents(
        self, pipe: TextPipeline, rows: Iterable[Row], *, phrases: bool = True
    ) -> Iterator[tuple[Document | InputError, Row]]:
        """Label rows: each document, or the error that says where a refused text stands, with its row.

        Args:
            pipe: The pipeline.
            rows: The rows.
            phrases: Whether the phrases of the documents will be asked for.
        """
        results = pipe.stream_pairs(
            ((row.text, row) for row in rows),
            on_error="return",
            batch_size=self.batch_size,
            one_sentence=self.one_sentence,
            nodes=self.nodes if phrases else "root",
        )
        return ((_with_place(result, row.place), row) for result, row in results)

    def records(
        self, pipe: TextPipeline, rows: Iterable[Row], output_format: RowFormat[Record]
    ) -> Iterator[Record | InputError]:
        """Label rows and write each in a format; the error instead, or before it, for a row that is refused."""
        for result, row in self.documents(pipe, rows, phrases=output_format.needs_phrases):
            document = result
            if isinstance(document, InputError):
                yield document
                if not output_format.settings.keeps_refused:
                    continue
                document = without_words(row, document)
            record: Record | InputError
            try:
                record = output_format.text_record(row, document)
            except InputError as error:
                # A row of JSON has a key of the name of an added column.
                if output_format.settings.keeps_refused:
                    raise
                record = error
            yield record


def _with_place(result: Document | TextError, place: Place) -> Document | InputError:
    if not isinstance(result, TextError):
        return result
    return InputError(place, f"the text {result.problem}", remedy=result.remedy)


def without_words(row: Row, error: InputError) -> Document:
    """The document of a text that is refused."""
    from lexitree.results.document import Document

    return Document(row.text, (), (f"{error.problem[:1].upper()}{error.problem[1:]}.",))


OnRefused = Callable[[InputError], object]
"""Called with the error of a row whose text is refused; it raises the error or notes it."""


def raise_error(error: InputError) -> Never:
    """Stop at the first text that is refused."""
    raise error


Labelled = TypeVar("Labelled")


def handle_refused(results: Iterable[Labelled | InputError], on_refused: OnRefused) -> Iterator[Labelled]:
    """Leave out the errors of refused rows."""
    for result in results:
        if isinstance(result, InputError):
            on_refused(result)
        else:
            yield result


class RowLabeller(Protocol):
    """Labels rows and writes each in a format."""

    def __call__(self, rows: Iterable[Row], output_format: RowFormat[Record], /) -> Iterator[Record]: ...


@contextmanager
def open_labeller(
    settings: LabellerSettings, num_workers: int = 1, on_refused: OnRefused = raise_error
) -> Generator[RowLabeller]:
    """Load the model in this process, or prepare several processes that load it when there is work.

    Args:
        settings: The model, and how it labels.
        num_workers: The number of processes.
        on_refused: What to do about a row whose text is refused; by default, its error is raised.
    """
    if num_workers > 1:
        with Workers(settings, num_workers) as workers:

            def label_there(rows: Iterable[Row], output_format: RowFormat[Record], /) -> Iterator[Record]:
                return handle_refused(workers.records(rows, output_format), on_refused)

            yield label_there
        return
    with settings.open_pipeline() as pipe:

        def label_here(rows: Iterable[Row], output_format: RowFormat[Record], /) -> Iterator[Record]:
            return handle_refused(settings.records(pipe, rows, output_format), on_refused)

        yield label_here


class Workers:
    """Processes that label rows. They start when there is work and end with the `with` block, also after Ctrl-C.

    Raises:
        ConfigError: The parser is not the built-in one; others have processes of their own.
    """

    def __init__(self, settings: LabellerSettings, num_workers: int) -> None:
        if settings.parser is not None and settings.parser.partition(":")[0] != BUILTIN_PARSER:
            raise ConfigError(
                f"--jobs is for the built-in parser, not for {settings.parser!r}",
                remedy="Other parsers have processes of their own.",
            )
        self.settings = settings
        self.num_workers = num_workers
        self.workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.stop(at_once=error is not None)
        for worker in self.workers:
            worker.process.join()

    def records(self, rows: Iterable[Row], output_format: RowFormat[Record]) -> Iterator[Record | InputError]:
        """Label rows and write each in a format, as `LabellerSettings.records`; those before an error come first."""
        chunks = _chunks(iter(rows))
        first = list(islice(chunks, self.num_workers))
        # All are started before any is given its rows: those wait in a pipe, a large chunk until they are read.
        self.workers += [_Worker(self.settings) for _ in first[len(self.workers) :]]
        workers = self.workers[: len(first)]
        busy: deque[_Worker] = deque()
        for worker, chunk in zip(chain(workers, workers), chain(first, chunks), strict=False):
            worker.give(chunk, output_format)
            busy.append(worker)
        while busy:
            worker = busy.popleft()
            records, error = worker.take()
            yield from records
            if error is not None:
                raise error
            for chunk in islice(chunks, 1):
                worker.give(chunk, output_format)
                busy.append(worker)


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK_ROWS)):
        yield chunk


class _Worker:
    """A process that is given a chunk and then asked for its records, in turns."""

    def __init__(self, settings: LabellerSettings) -> None:
        # A fresh interpreter: forking a process that runs threads is not safe.
        context = multiprocessing.get_context("spawn")
        self.connection, others = context.Pipe()
        self.process = context.Process(target=_serve, args=(settings, others), daemon=True)
        with uninterrupted_children():
            self.process.start()
        # With one end here and one there, each side notices when the other is gone.
        others.close()

    def give(self, chunk: list[Row], output_format: RowFormat[Any]) -> None:
        try:
            self.connection.send((chunk, output_format))
        except OSError as error:
            raise self._death() from error

    def take(self) -> _Answer:
        try:
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error

    def _death(self) -> LexitreeError:
        self.process.join()
        return LexitreeError(
            f"a process that labels texts {how_it_ended(self.process.exitcode)}",
            remedy=_FEWER_JOBS,
        )

    def stop(self, *, at_once: bool) -> None:
        self.connection.close()
        if at_once:
            self.process.terminate()


def _receive(connection: Connection, given: SimpleQueue[Any]) -> None:
    """Receive chunks until the other side is gone, which None tells."""
    try:
        with suppress(EOFError, OSError):
            while True:
                given.put(connection.recv())
    finally:
        given.put(None)


def _serve(settings: LabellerSettings, connection: Connection) -> None:
    """Answer chunk after chunk in a process of its own, until the other side is gone."""
    pipe: TextPipeline | None = None
    given: SimpleQueue[tuple[list[Row], RowFormat[Any]] | None] = SimpleQueue()
    # Chunks are received while others are labelled: neither side waits for the other to read.
    Thread(target=_receive, args=(connection, given), daemon=True).start()
    with suppress(BrokenPipeError, ConnectionResetError):
        while (chunk := given.get()) is not None:
            rows, output_format = chunk
            records: list[Any] = []
            problem: LexitreeError | None = None
            try:
                pipe = pipe or settings.open_pipeline()
                with one_thread():
                    records.extend(settings.records(pipe, rows, output_format))
            except LexitreeError as error:
                problem = error
            except Exception as error:
                if not find_memory_error(error):
                    raise
                problem = LexitreeError(
                    "a process that labels texts has run out of memory", remedy=_FEWER_JOBS
                )
            connection.send((records, problem))
