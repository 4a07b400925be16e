"""How many OpenMP threads torch computes with; nothing to set where torch is not in use."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def openmp_threads(number: int) -> Generator[None]:
    """Run the block with a number of OpenMP threads, and restore torch's setting afterwards.

    Without torch imported before the block, it does nothing: models that do without torch have no such threads.
    """
    torch = sys.modules.get("torch")
    before = number if torch is None else torch.get_num_threads()
    if torch is None or before == number:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Generator[None]:
    """Run the block, or a decorated function, without OpenMP, and restore torch's setting afterwards."""
    with openmp_threads(1):
        yield
