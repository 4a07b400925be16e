"""The thread that owns the models: it takes batches from the queue and runs them through the pipelines."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import cycle, islice
from threading import Thread

from lexitree.errors import CancelledError, LimitError, TextError
from lexitree.limits import Limits
from lexitree.parsers.text_parser import TextParser
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.document import Document
from lexitree.results.parsed_text import ParsedText
from lexitree.server.job_queue import Batch, Job, JobQueue, Lane, Slice
from lexitree.server.problems import internal_error, problem_of, too_slow
from lexitree.server.service_metrics import ServiceMetrics
from lexitree.text import TokenizedText

log = logging.getLogger("lexitree.server")

WARM_UP_WORDS = (1, 5, 12, 25, 60)
"""The lengths of the sentences that are labelled before the service is ready."""

_WARM_UP = ["The", "film", "is", "not", "bad", ",", "but", "nobody", "will", "remember", "it", "for", "long"]

Results = Iterator[Document | ParsedText | TextError]


class Batcher:
    """Runs the models, all in one thread.

    Args:
        models: The pipelines by name.
        queue: Where the jobs come from.
        seconds: How long a batch may take; None for any time.
        metrics: What is counted.
    """

    def __init__(
        self,
        models: Mapping[str, TextPipeline],
        queue: JobQueue,
        seconds: float | None,
        metrics: ServiceMetrics,
    ) -> None:
        self._models = models
        self._queue = queue
        # The texts were checked when they were admitted.
        self._limits = replace(Limits.none(), seconds=seconds)
        self._metrics = metrics
        self._thread = Thread(target=self._work, name="lexitree-models", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_warm = False
        """Whether every model has labelled something."""

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Warm up, then work until the queue is closed; answers are delivered in the event loop."""
        self._loop = loop
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for the thread to end."""
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            self._warm_up()
            while (batch := self._queue.take()) is not None:
                self._run(batch)
        except Exception:
            log.critical("the thread of the models has ended", exc_info=True)
            raise

    def _warm_up(self) -> None:
        """Label sentences of several lengths, so that no request waits for what is done once; learn the speed."""
        began = time.monotonic()
        for name, pipe in self._models.items():
            texts = [" ".join(islice(cycle(_WARM_UP), number)) for number in WARM_UP_WORDS]
            for _ in range(2):
                started, num_nodes = time.monotonic(), 0
                for document in pipe.stream(texts, limits=Limits.none()):
                    num_nodes += sum(sentence.source.num_nodes for sentence in document.sentences)
                self._queue.measure(num_nodes, time.monotonic() - started)
            log.info("model ready", extra={"model": name})
        self.is_warm = True
        log.info("ready", extra={"seconds": round(time.monotonic() - began, 3)})

    def _run(self, batch: Batch) -> None:
        began = time.monotonic()
        self._run_slices(batch.lane, batch.slices, batch)
        seconds = time.monotonic() - began
        if not batch.cancel.is_set():
            self._queue.measure(batch.num_nodes, seconds)
        self._metrics.batch_done(batch, seconds, self._queue)
        done = [job for job in {each.job: None for each in batch.slices} if job.error or not job.num_open]
        if done and self._loop is not None:
            # The event loop is closed if draining took too long; then nobody waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_resolve, done)

    def _run_slices(self, lane: Lane, slices: list[Slice], batch: Batch) -> None:
        """Fill in the answers of some slices, or their errors."""
        try:
            self._answer(lane, slices, batch)
        except CancelledError:
            pass  # nobody waits for it
        except LimitError as error:
            self._fail(slices, too_slow(error.allowed))
        except Exception as error:
            if len(slices) > 1:
                # One of them is to blame: the others shall not suffer.
                for each in slices:
                    self._run_slices(lane, [each], batch)
            else:
                if problem_of(error) is None:
                    log.exception("a batch has failed", extra={"model": lane.model})
                self._fail(slices, problem_of(error) or internal_error())

    def _answer(self, lane: Lane, slices: list[Slice], batch: Batch) -> None:
        open_texts = [
            (each.job, place)
            for each in slices
            for place in range(each.first, each.last)
            if each.job.answers[place] is None and not each.job.is_over
        ]
        texts = (job.texts[place].text for job, place in open_texts)
        results = self._results(lane, texts, batch)
        for (job, place), result in zip(open_texts, results, strict=True):
            if job.is_discarded:
                continue
            notes = job.texts[place].notes
            if not isinstance(result, TextError):
                result = job.render(replace(result, notes=(*notes, *result.notes)) if notes else result)
            job.answers[place] = result
            job.num_open -= 1

    def _results(self, lane: Lane, texts: Iterable[TokenizedText], batch: Batch) -> Results:
        pipe = self._models[lane.model]
        if lane.work == "label":
            return pipe.stream(texts, on_error="return", limits=self._limits, cancel=batch.cancel)
        return TextParser(pipe.parser, limits=self._limits).stream(texts, on_error="return")

    def _fail(self, slices: list[Slice], error: Exception) -> None:
        for each in slices:
            is_answered = None not in each.job.answers[each.first : each.last]
            if not each.job.is_over and not is_answered:
                each.job.error = error
                self._queue.discard(each.job)


def _resolve(jobs: Iterable[Job]) -> None:
    """Hand answers to those who wait; in the event loop."""
    for job in jobs:
        job.slices = []
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answers)
