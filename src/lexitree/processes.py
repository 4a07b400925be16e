"""A function and the arguments of many runs in, their results out: so many at a time, in processes of their own."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from lexitree.errors import LexitreeError


@contextmanager
def uninterrupted_children() -> Generator[None]:
    """Processes started inside do not see Ctrl-C, which the terminal sends to all: this one ends them, quietly."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def how_it_ended(exit_code: int | None) -> str:
    """What to say of a process that should not have ended yet."""
    if exit_code is not None and exit_code < 0:
        return f"was ended from outside ({signal.Signals(-exit_code).name})"
    return f"failed with exit code {exit_code}; what it wrote to the screen says why"


Result = TypeVar("Result")


def run_in_processes(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], *, jobs: int
) -> Iterator[tuple[int, Result]]:
    """The number and the result of each task as it is done; the first error ends all that have not begun.

    Processes stay for further tasks, so what a function remembers serves those as well. One job runs in this one.
    """
    if jobs == 1 or len(tasks) < 2:
        yield from ((number, function(*task)) for number, task in enumerate(tasks))
        return
    # A fresh interpreter each: forking a process that runs threads is not safe.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=context) as pool:
        numbers = {pool.submit(function, *task): number for number, task in enumerate(tasks)}
        try:
            yield from _as_done(numbers)
        except BrokenProcessPool as error:
            raise LexitreeError(
                "one of the processes was ended from outside, perhaps for want of memory",
                remedy="Run the same command again: what is done is kept. With fewer --jobs it needs less memory.",
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _as_done(numbers: dict[Future[Result], int]) -> Iterator[tuple[int, Result]]:
    waiting = set(numbers)
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from ((numbers[future], future.result()) for future in done)
