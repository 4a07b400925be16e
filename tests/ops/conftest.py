"""Fixtures of the tests of operations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lexitree.kernels import library
from lexitree.ops import operations, registry


@pytest.fixture
def forget_choices() -> Iterator[None]:
    """What can run is asked for once a process; these tests change the answer."""

    def forget() -> None:
        remembered = (registry._get_backend, registry._warn_of_fallback, operations._why_not_on_this_gpu)
        for known in (*remembered, library._load):
            known.cache_clear()

    forget()
    yield
    forget()
