"""Products in NumPy on one thread: those of trees are so small that further threads cost more than they do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

from lexitree.kernels.library import why_absent


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Run the block, or a decorated function, with one BLAS thread; nothing changes where kernels do the products."""
    if why_absent() is None:
        yield
        return
    with _blas().limit(limits=1):
        yield


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController  # imported only where it is of use

    return ThreadpoolController().select(user_api="blas")
