"""Keep a number of worker processes running: replace those that die, and stop all of them together."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

from lexitree.errors import LexitreeError
from lexitree.processes import (
    STOP_SIGNALS,
    Lifeline,
    Terminated,
    hold_on,
    how_it_ended,
    uninterrupted_children,
)

MAX_FAILED_STARTS = 3
"""When so many workers in a row have died before they were ready, the next one would too."""
STEADY_SECONDS = 60.0
"""A worker that lived as long is replaced at once when it dies."""
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_CLEAN_UP_SECONDS = 5.0
_TICK_SECONDS = 0.5
"""A signal is noticed so soon, even if there is no worker whose end would tell."""

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Worker:
    process: SpawnProcess
    news: Connection
    """It says that it is ready, or what error it ends with."""
    started: float
    is_ready: bool = False
    error: LexitreeError | None = None

    def hear(self) -> None:
        with suppress(EOFError, OSError):
            while self.news.poll():
                heard = self.news.recv()
                self.error = heard if isinstance(heard, LexitreeError) else None
                self.is_ready = self.is_ready or self.error is None


class Supervisor:
    """A number of workers that all run the same function.

    Args:
        body: The function, at the top of a module. It calls its argument `tell_ready` when it is ready, and returns
            some time after a SIGTERM.
        arguments: Its other arguments.
        num_workers: How many workers there are.
        stop_seconds: How long they may take to end after a SIGTERM.
        on_ready: Called once, when all of them are ready.
        on_end: Called with the process id of a worker that has ended.
    """

    def __init__(
        self,
        body: Callable[..., None],
        arguments: tuple[Any, ...],
        *,
        num_workers: int,
        stop_seconds: float,
        on_ready: Callable[[], object],
        on_end: Callable[[int], object],
    ) -> None:
        self._body = body
        self._arguments = arguments
        self._num_workers = num_workers
        self._stop_seconds = stop_seconds
        self._on_ready = on_ready
        self._on_end = on_end
        self._workers: list[_Worker] = []
        self._lifeline = Lifeline()
        self._is_stopping = False
        self._was_ready = False
        self._num_failed_starts = 0
        self._num_short_lives = 0
        self._next_start = 0.0

    def run(self) -> None:
        """Keep the workers running until a signal stops them, and return when they have ended.

        A second signal kills them.

        Raises:
            LexitreeError: The workers cannot start.
            Terminated: A second signal has come.
        """
        try:
            with self._stopping_on_signals():
                try:
                    while not self._is_stopping:
                        self._start_missing()
                        self._watch()
                except LexitreeError:
                    self._stop()
                    self._wait_for_end()
                    raise
                self._wait_for_end()
        finally:
            for worker in self._workers:
                worker.process.kill()
            self._lifeline.cut()

    @contextmanager
    def _stopping_on_signals(self) -> Generator[None]:
        def stop(number: int, frame: FrameType | None) -> None:
            if self._is_stopping:
                raise Terminated(number)
            self._stop()

        numbers = [
            each for each in (signal.SIGINT, *STOP_SIGNALS) if signal.getsignal(each) != signal.SIG_IGN
        ]
        before = {number: signal.signal(number, stop) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self) -> None:
        """Tell all workers to end, which is news that `_watch` waits for."""
        self._is_stopping = True
        for worker in self._workers:
            worker.process.terminate()

    def _start_missing(self) -> None:
        while len(self._workers) < self._num_workers and time.monotonic() >= self._next_start:
            ours, theirs = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.get_context("spawn").Process(
                target=_run_worker, args=(self._body, self._arguments, theirs, self._lifeline.end)
            )
            with uninterrupted_children():
                process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours, time.monotonic()))
            if self._is_stopping:
                # The signal came while the worker was not in the list yet.
                process.terminate()
                return

    def _watch(self) -> None:
        """Wait until a worker is ready or dies, or the next one is to be started."""
        is_missing = len(self._workers) < self._num_workers
        seconds = min(max(0.0, self._next_start - time.monotonic()), _TICK_SECONDS) if is_missing else None
        news = [worker.news for worker in self._workers if not worker.is_ready]
        wait([*news, *(worker.process.sentinel for worker in self._workers)], seconds)
        for worker in list(self._workers):
            worker.hear()
            if not worker.process.is_alive():
                self._bury(worker)
        if not self._was_ready and sum(worker.is_ready for worker in self._workers) == self._num_workers:
            self._was_ready = True
            self._on_ready()

    def _bury(self, worker: _Worker) -> None:
        """Forget a worker that has ended, and plan when to start another one."""
        worker.process.join()
        worker.hear()
        worker.news.close()
        self._workers.remove(worker)
        self._on_end(worker.process.pid or 0)
        if self._is_stopping:
            return
        is_steady = time.monotonic() - worker.started >= STEADY_SECONDS
        self._num_short_lives = 0 if is_steady else self._num_short_lives + 1
        self._num_failed_starts = 0 if worker.is_ready else self._num_failed_starts + 1
        ending = worker.error or how_it_ended(worker.process.exitcode)
        if self._num_failed_starts == MAX_FAILED_STARTS or (worker.error and not self._was_ready):
            raise worker.error or LexitreeError(
                f"{MAX_FAILED_STARTS} workers in a row ended before they were ready; the last one {ending}",
                remedy="Each worker has its models in memory: try fewer --workers, or a machine with more memory.",
            )
        pause = _pause(self._num_short_lives)
        self._next_start = time.monotonic() + pause
        logger.warning("worker %s: %s; the next starts in %g seconds", worker.process.pid, ending, pause)

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + self._stop_seconds + _CLEAN_UP_SECONDS
        while self._workers and (left := deadline - time.monotonic()) > 0:
            wait([worker.process.sentinel for worker in self._workers], left)
            for worker in list(self._workers):
                if not worker.process.is_alive():
                    self._bury(worker)


def _pause(num_short_lives: int) -> float:
    """Seconds until a worker is replaced: none after a long life or the first short one."""
    if num_short_lives <= 1:
        return 0.0
    return min(_FIRST_PAUSE_SECONDS * 2 ** (num_short_lives - 2), _LONGEST_PAUSE_SECONDS)


def _run_worker(
    body: Callable[..., None], arguments: tuple[Any, ...], news: Connection, lifeline: Connection
) -> None:
    """The body of a worker process."""
    hold_on(lifeline)
    try:
        body(*arguments, tell_ready=lambda: news.send(None))
    except LexitreeError as error:
        news.send(error)
