"""Processes: how they are interrupted, how they end with their parent, and how a function is run in several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, TypeVar

from lexitree.errors import LexitreeError

STOP_SIGNALS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""The signals that ask a process to end: by a service manager, and by a terminal that is closed."""

CLEAN_UP_SECONDS = 10.0
"""Further signals within this time are ignored, so that they do not interrupt the clean-up."""


class Terminated(KeyboardInterrupt):
    """A signal has asked this process to end; as after Ctrl-C, all `finally` blocks run."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise `Terminated` in the main thread, so that no file and no process is left behind.

    A signal that the process was started to ignore, such as SIGHUP by `nohup`, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    last = -CLEAN_UP_SECONDS

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= CLEAN_UP_SECONDS:
            last = now
            raise Terminated(number)

    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


@contextmanager
def uninterrupted_children() -> Generator[None]:
    """Start processes that ignore Ctrl-C.

    The terminal sends it to all processes of a command; the parent handles it and stops the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Lifeline:
    """Worker processes that hold on to its end are ended when it is cut or the process that made it is gone.

    This works however that process ends: the system closes its side of the pipe.
    """

    def __init__(self) -> None:
        self.end, self._ours = multiprocessing.get_context("spawn").Pipe(duplex=False)

    def cut(self) -> None:
        self._ours.close()


def hold_on(end: Connection) -> None:
    """In a worker process: let the end of a lifeline be a SIGTERM, and the end of the process soon after."""
    threading.Thread(target=_wait_for_end, args=(end,), daemon=True).start()


def _wait_for_end(end: Connection) -> None:
    with suppress(EOFError, OSError):
        end.recv()
    if sys.platform != "win32":
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(CLEAN_UP_SECONDS)
    os._exit(1)


@contextmanager
def ending_at_once() -> Generator[None]:
    """In a worker process: when a block is interrupted and has cleaned up, nothing else keeps the process alive."""
    try:
        yield
    except KeyboardInterrupt:
        os._exit(1)


def how_it_ended(exit_code: int | None) -> str:
    """Describe how a process ended that should still be running."""
    if exit_code is not None and exit_code < 0:
        number = -exit_code
        known = {each.value: each.name for each in signal.Signals}
        return f"was killed ({known.get(number, f'signal {number}')})"
    return f"failed with exit code {exit_code}; see its output"


Result = TypeVar("Result")


def run_in_processes(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], *, jobs: int
) -> Iterator[tuple[int, Result]]:
    """Call a function on every task, several at a time, and yield the results as they arrive.

    Processes are reused, so what the function caches serves later tasks as well. With one job, everything runs in
    the calling process. The first error cancels all tasks that have not started; an interruption ends all of them.

    Args:
        function: The function; it and its arguments must be picklable.
        tasks: The arguments of each call.
        jobs: How many processes to run at a time.

    Yields:
        The number of the task and its result.

    Raises:
        LexitreeError: A process was killed.
    """
    if jobs == 1 or len(tasks) < 2:
        yield from ((number, function(*task)) for number, task in enumerate(tasks))
        return
    # Not "fork": forking a process that has threads is unsafe.
    context = multiprocessing.get_context("spawn")
    line = Lifeline()
    with ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=context, initializer=hold_on, initargs=(line.end,)
    ) as pool:
        try:
            with uninterrupted_children():
                numbers = {
                    pool.submit(_run_task, function, task): number for number, task in enumerate(tasks)
                }
            yield from _as_done(numbers)
        except BrokenProcessPool as error:
            raise LexitreeError(
                "a worker process was killed, perhaps because it ran out of memory",
                remedy="Run the same command again: finished work is kept. Fewer --jobs need less memory.",
            ) from error
        except (KeyboardInterrupt, GeneratorExit):
            line.cut()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _run_task(function: Callable[..., Result], task: tuple[Any, ...]) -> Result:
    """The body of a worker process; between tasks, there is nothing to clean up."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    interrupt_on_signals()
    try:
        # The pool would take an interruption for the task's result, and start the next task.
        with ending_at_once():
            return function(*task)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_done(numbers: dict[Future[Result], int]) -> Iterator[tuple[int, Result]]:
    waiting = set(numbers)
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from ((numbers[future], future.result()) for future in done)
