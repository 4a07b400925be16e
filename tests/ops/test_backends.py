"""Which implementation runs is explicit."""

from __future__ import annotations

import pytest

from lexitree.errors import BackendError
from lexitree.ops.backends import LEVELWISE, REFERENCE, get_backend


def test_names() -> None:
    assert get_backend("reference") is REFERENCE
    assert get_backend("levelwise") is LEVELWISE
    assert get_backend("auto") is LEVELWISE


def test_an_unknown_backend_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(BackendError, match="auto, reference, levelwise"):
        get_backend("quantum")
