"""The service without HTTP: admits texts, queues them for the models, and waits for their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

from lexitree.errors import ConfigError
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server.batcher import Batcher
from lexitree.server.job_queue import AdmittedText, Job, JobQueue, Lane
from lexitree.server.problems import ProblemError, client_gone, queue_full, too_slow, unavailable
from lexitree.server.service_metrics import ServiceMetrics
from lexitree.server.service_settings import ServiceSettings
from lexitree.suggestions import close_names, did_you_mean
from lexitree.text import TokenizedSentence, TokenizedText
from lexitree.text.bounded_text import SplitText

NEARLY_FULL = 0.9
"""The share of the queue from which on the service asks not to be sent more."""
_SHARE_WAITING = 0.5
"""The share of a request's time that it may be expected to wait; the rest is a reserve."""
_QUICK_CHARACTERS = 2_000
"""So many characters are split at once: handing them to another thread would take longer."""
_TOKENIZING_THREADS = 2
_POLL_SECONDS = 0.02
_END_SECONDS = 5.0
"""How long the thread of the models may take to end after it was told to."""

Value = TypeVar("Value")


class LabellingService:
    """Models that answer many requests at a time.

    Args:
        settings: What the service takes before it refuses.
        models: The pipelines by name, the default first.
    """

    def __init__(self, settings: ServiceSettings, models: Mapping[str, TextPipeline]) -> None:
        self.settings = settings
        self.models = dict(models)
        self.metrics = ServiceMetrics()
        self.queue = JobQueue(
            settings.queue_nodes,
            settings.batch_nodes,
            settings.wait_ms / 1000,
            settings.request_seconds * _SHARE_WAITING,
        )
        self.batcher = Batcher(self.models, self.queue, settings.limits.seconds, self.metrics)
        self._pool = ThreadPoolExecutor(_TOKENIZING_THREADS, thread_name_prefix="lexitree-text")
        self._num_splitting = 0
        self._is_draining = False

    def start(self) -> None:
        """Start the thread of the models, in the event loop that will await answers."""
        self.batcher.start(asyncio.get_running_loop())

    def start_draining(self) -> None:
        """Refuse new requests from now on, and finish those that were accepted."""
        self._is_draining = True

    async def stop(self) -> None:
        """Finish accepted requests, for as long as the settings allow, and end the thread of the models."""
        self.start_draining()
        until = time.monotonic() + self.settings.drain_seconds
        while not self.queue.is_idle and self.batcher.is_alive and time.monotonic() < until:
            await asyncio.sleep(_POLL_SECONDS)
        self.queue.close(abandon=True)
        await asyncio.to_thread(self.batcher.join, _END_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def why_not_ready(self) -> str:
        """Why no request should be sent here now; empty if one may be."""
        if self._is_draining:
            return "draining"
        if not self.batcher.is_alive:
            return "stopped"
        if not self.batcher.is_warm:
            return "starting"
        return "queue full" if self.queue.share_full >= NEARLY_FULL else ""

    def find_model(self, name: str | None) -> str:
        """The name of a model, checked; by default the first.

        Raises:
            ConfigError: There is no such model.
        """
        if name is None:
            return next(iter(self.models))
        if name not in self.models:
            remedy = did_you_mean(close_names(name, self.models)) or f"Models: {', '.join(self.models)}."
            raise ConfigError(f"there is no model {name[:60]!r}", remedy=remedy)
        return name

    def check_open(self) -> None:
        """Refuse work early, before anything is done for it.

        Raises:
            ProblemError: The service is not ready, or its queue is full.
        """
        reason = self.why_not_ready()
        if reason and reason != "queue full":
            raise unavailable(f"the service is not ready: {reason}", reason)
        if self.queue.share_full >= 1:
            raise queue_full(self.queue.retry_seconds())

    async def in_pool(self, function: Callable[..., Value], *arguments: object) -> Value:
        """Run something that would hold up the event loop in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def admit(
        self, model: str, texts: Sequence[str], *, one_sentence: bool, is_numbered: bool
    ) -> list[AdmittedText]:
        """Split texts into sentences, so that it is known how much work they are.

        Args:
            model: The model that will read them.
            texts: The texts.
            one_sentence: Whether each is taken as a single sentence.
            is_numbered: Whether errors tell the number of the text.

        Raises:
            TextError: A text cannot be labelled or is beyond a limit.
            ProblemError: There are too many texts, or too many others are being split.
        """
        if len(texts) > self.settings.max_texts:
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"{len(texts):,} texts in one request, and the limit is {self.settings.max_texts:,}",
                remedy="Send them in several requests, or as a stream to /v1/label/stream.",
            )
        split = partial(self.models[model].split_text, one_sentence=one_sentence, limits=self.settings.limits)
        num_characters = sum(map(len, texts))
        if num_characters <= _QUICK_CHARACTERS:
            return _admit_all(split, texts, is_numbered)
        if self._num_splitting + num_characters > self.settings.max_body * 2 * _TOKENIZING_THREADS:
            raise queue_full(self.queue.retry_seconds())
        self._num_splitting += num_characters
        try:
            return await self.in_pool(_admit_all, split, texts, is_numbered)
        finally:
            self._num_splitting -= num_characters

    def submit(self, lane: Lane, texts: Sequence[AdmittedText], render: Callable[[Any], Any]) -> Job:
        """Put texts into the queue; whoever does must `wait` for them.

        Args:
            lane: The model, and what it is to do.
            texts: The texts, at least one.
            render: Makes an answer of a document or parse, in the thread of the models.

        Raises:
            ProblemError: There is no room for them.
        """
        job = Job(lane, texts, render, asyncio.get_running_loop().create_future())
        if job.num_nodes > self.queue.max_nodes:
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"the texts have {job.num_nodes:,} phrases in all, and the limit is {self.queue.max_nodes:,}",
                remedy="Send them in several requests, or as a stream to /v1/label/stream.",
            )
        self.queue.put(job)
        self.metrics.queue_changed(self.queue)
        return job

    async def wait(
        self, job: Job, wait_for_disconnect: Callable[[], Coroutine[Any, Any, object]] | None = None
    ) -> list[Any]:
        """Wait for the answers of texts, in their order.

        Args:
            job: What `submit` gave.
            wait_for_disconnect: Ends when nobody waits for the answers any more.

        Raises:
            ProblemError: It took too long, the client is gone, or something went wrong.
        """
        awaited: set[asyncio.Future[Any]] = {job.future}
        if wait_for_disconnect is not None:
            awaited.add(asyncio.create_task(wait_for_disconnect()))
        seconds = self.settings.request_seconds
        try:
            done, _ = await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in awaited - {job.future}:
                each.cancel()
            if not job.future.done():
                self.queue.discard(job)
                job.future.cancel()
                self.metrics.queue_changed(self.queue)
        if job.future in done:
            return job.future.result()
        raise client_gone() if done else too_slow(seconds)


def _admit_all(
    split_text: Callable[..., SplitText], texts: Sequence[str], is_numbered: bool
) -> list[AdmittedText]:
    admitted: list[AdmittedText] = []
    for number, text in enumerate(texts):
        split = split_text(text, number=number if is_numbered else None)
        sentences = tuple(TokenizedSentence(tokens) for tokens in split.sentences)
        # A text without words is some work, too.
        num_nodes = sum(2 * len(tokens) - 1 for tokens in split.sentences) or 1
        admitted.append(AdmittedText(TokenizedText(text, sentences), split.notes, num_nodes))
    return admitted
