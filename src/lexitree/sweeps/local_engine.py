"""Runs the trials of a sweep in processes of this machine; one that dies is replaced and its trial continued."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from lexitree.errors import LexitreeError
from lexitree.processes import (
    CLEAN_UP_SECONDS,
    Lifeline,
    ending_at_once,
    hold_on,
    how_it_ended,
    interrupt_on_signals,
    uninterrupted_children,
)
from lexitree.sweeps.ledger import Sweep
from lexitree.sweeps.trial import OnScore, Outcome, TrialJob, run_trial

RunTrial = Callable[[TrialJob, OnScore | None], Outcome]
OnProgress = Callable[[int, int, int, float], None]
"""Called with a trial, a seed, an epoch and the development score after it."""
MORE_TRIES = 2
"""How often a trial is continued whose process has died, before it counts as failed."""


def run_locally(sweep: Sweep, *, on_progress: OnProgress | None = None, run: RunTrial = run_trial) -> None:
    """Run a sweep to its end.

    Args:
        sweep: The sweep; it says how many trials run at a time.
        on_progress: Is told of every epoch of every trial.
        run: What runs a trial, in a process of its own.

    Raises:
        LexitreeError: A trial cannot be run on this machine as it is; see `run_trial`.
    """
    line = Lifeline()
    workers = [_Worker(run, line) for _ in range(min(sweep.jobs, sweep.num_trials))]
    try:
        while not sweep.is_done:
            _hand_out(sweep, workers)
            busy = {worker.connection: worker for worker in workers if worker.job is not None}
            for connection in wait(list(busy)):
                _listen(sweep, busy[connection], on_progress)  # pyright: ignore[reportArgumentType]
    finally:
        line.cut()
        for worker in workers:
            worker.end()


def _hand_out(sweep: Sweep, workers: list[_Worker]) -> None:
    for worker in workers:
        if worker.job is None and (job := sweep.next_job()) is not None:
            worker.start(job)


def _listen(sweep: Sweep, worker: _Worker, on_progress: OnProgress | None) -> None:
    assert worker.job is not None
    number = worker.job.number
    message = worker.receive()
    if isinstance(message, LexitreeError):
        raise message
    if isinstance(message, Outcome):
        worker.job = None
        sweep.finish(number, message)
    elif message is not None and on_progress is not None:
        on_progress(number, *message)


class _Worker:
    """A process that runs one trial after the other, so that it reads the corpus once."""

    def __init__(self, run: RunTrial, line: Lifeline) -> None:
        self.run = run
        self.line = line
        self.job: TrialJob | None = None
        self.num_deaths = 0
        self.process: Any = None
        self.connection: Connection[Any, Any]

    def start(self, job: TrialJob) -> None:
        self.job = job
        self.num_deaths = 0
        self._send()

    def _send(self) -> None:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=_work, args=(self.run, theirs, self.line.end), daemon=True)
            with uninterrupted_children():
                self.process.start()
            theirs.close()
        # If it has died since its last trial, `receive` notices.
        with suppress(OSError):
            self.connection.send(self.job)

    def receive(self) -> Outcome | LexitreeError | tuple[int, int, float] | None:
        """The score of an epoch, how the trial has ended, or why it cannot be run; None if it is tried again."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            process, self.process = self.process, None
            process.join()
            self.num_deaths += 1
            if self.num_deaths > MORE_TRIES:
                ended = how_it_ended(process.exitcode)
                return Outcome("failed", {}, 0.0, f"its process {ended}, {self.num_deaths} times in a row")
            self._send()
            return None

    def end(self) -> None:
        if self.process is not None:
            self.process.join(2 * CLEAN_UP_SECONDS)
            self.process.kill()


def _work(run: RunTrial, connection: Connection[Any, Any], line: Connection[Any, Any]) -> None:
    """The body of a worker process."""
    hold_on(line)
    interrupt_on_signals()
    with ending_at_once():
        while True:
            job = connection.recv()

            def send_score(seed: int, epoch: int, score: float) -> None:
                connection.send((seed, epoch, score))

            try:
                connection.send(run(job, send_score))
            except LexitreeError as error:
                connection.send(error)
