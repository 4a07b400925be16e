"""Worker processes: starting them, running a function on many tasks, and ending them with their parent."""

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

GRACE_SECONDS = 10.0
"""How long a worker process may take to clean up; then it ends at once."""


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
    """In a worker process: exit when the lifeline is cut, or on SIGTERM, and remove unfinished files before."""
    signal.signal(signal.SIGTERM, _exit_once)
    threading.Thread(target=_exit_at_its_end, args=(end,), daemon=True).start()


@contextmanager
def ending_at_once() -> Generator[None]:
    """In a worker process: when a block is told to exit and has cleaned up, nothing else keeps the process alive."""
    try:
        yield
    except SystemExit:
        os._exit(1)


def _exit_once(number: int, frame: FrameType | None) -> None:
    del frame
    # A second signal must not interrupt the cleaning up.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _exit_at_its_end(end: Connection) -> None:
    with suppress(EOFError, OSError):
        end.recv()
    if sys.platform != "win32":
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
    os._exit(1)


def how_it_ended(exit_code: int | None) -> str:
    """Describe how a process ended that should still be running."""
    if exit_code is not None and exit_code < 0:
        return f"was killed ({signal.Signals(-exit_code).name})"
    return f"failed with exit code {exit_code}; see its output"


Result = TypeVar("Result")


def run_in_processes(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], *, jobs: int
) -> Iterator[tuple[int, Result]]:
    """Call a function on every task, several at a time, and yield the results as they arrive.

    Processes are reused, so what the function caches serves later tasks as well. With one job, everything runs in
    the calling process. The first error cancels all tasks that have not started; Ctrl-C ends all of them.

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
                numbers = {pool.submit(_call, function, task): number for number, task in enumerate(tasks)}
            yield from _as_done(numbers)
        except BrokenProcessPool as error:
            raise LexitreeError(
                "a worker process was killed, perhaps because it ran out of memory",
                remedy="Run the same command again: finished work is kept. Fewer --jobs need less memory.",
            ) from error
        except Exception:
            raise
        except BaseException:
            line.cut()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _call(function: Callable[..., Result], task: tuple[Any, ...]) -> Result:
    # The pool would take an exit for the task's result, and start the next one.
    with ending_at_once():
        return function(*task)


def _as_done(numbers: dict[Future[Result], int]) -> Iterator[tuple[int, Result]]:
    waiting = set(numbers)
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from ((numbers[future], future.result()) for future in done)
