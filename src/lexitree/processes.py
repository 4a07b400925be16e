"""Processes that work for this one in, that they are not interrupted and how they ended out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


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
