"""Starts the processes of a data-parallel run on this machine, by the machinery of torchrun."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import sys
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from lexitree.errors import ConfigError, LexitreeError, LostProcessError, find_memory_error
from lexitree.learning.distributed import is_data_parallel
from lexitree.processes import (
    STOP_SIGNALS,
    Lifeline,
    Terminated,
    ending_at_once,
    hold_on,
    how_it_ended,
    interrupt_on_signals,
)

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue

_CAUSE_SECONDS = 5.0
"""A process that has lost another one waits so long to be ended; its own end would pass for the cause."""

_RESUME = "Run the same command with --resume; the run continues from its last epoch."


def launch_processes(num_processes: int, work: Callable[[], object]) -> None:
    """Call a function in several new processes, in which `lexitree.learning.distributed.join_processes` unites them.

    Args:
        num_processes: How many to start.
        work: The function, which must be picklable.

    Raises:
        ConfigError: If this process is itself one of several.
        LexitreeError: What a process raises, or that one was killed; all processes have ended then.
    """
    if is_data_parallel():
        raise ConfigError("torchrun has started the processes already", remedy="Omit --processes.")
    # It is imported for a second, and only here.
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=num_processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
    )
    line = Lifeline()
    errors: SimpleQueue[LexitreeError] = multiprocessing.get_context("spawn").SimpleQueue()
    with _own_messages_only():
        try:
            elastic_launch(config, _run)(work, line.end, errors)
        except SignalException as error:
            if error.sigval in STOP_SIGNALS:
                raise Terminated(error.sigval) from error
            raise KeyboardInterrupt from error
        except ChildFailedError as error:
            raise _find_cause(errors, error.failures) from error
        finally:
            line.cut()


def _run(work: Callable[[], object], line: Connection, errors: SimpleQueue[LexitreeError]) -> None:
    """The body of a process. If it fails, torchrun ends the others, which may be waiting for it on a GPU."""
    hold_on(line)
    interrupt_on_signals()
    with ending_at_once():
        try:
            work()
            return
        except LostProcessError as error:
            time.sleep(_CAUSE_SECONDS)
            errors.put(error)
        except LexitreeError as error:
            errors.put(error)
        except (MemoryError, RuntimeError) as error:
            if not (shortage := find_memory_error(error)):
                raise
            errors.put(shortage)
        sys.exit(1)


def _find_cause(errors: SimpleQueue[LexitreeError], failures: Mapping[int, Any]) -> Exception:
    """The error to raise: the loss of a process is the consequence of another one."""
    reported: list[LexitreeError] = []
    while not errors.empty():
        reported.append(errors.get())
    if reported:
        return min(reported, key=lambda error: isinstance(error, LostProcessError))
    rank, failure = next(iter(failures.items()))
    if failure.exitcode < 0:
        return LostProcessError(f"process {rank} {how_it_ended(failure.exitcode)}", remedy=_RESUME)
    return RuntimeError(f"process {rank} failed: {failure.message}")


@contextmanager
def _own_messages_only() -> Generator[None]:
    """Silence the log of torchrun, which repeats every error at length, and keep our handlers of signals."""
    signals = [signal.SIGINT, *STOP_SIGNALS, *([signal.SIGQUIT] if hasattr(signal, "SIGQUIT") else [])]
    handlers = {number: signal.getsignal(number) for number in signals}
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)
        for number, handler in handlers.items():
            signal.signal(number, handler)
