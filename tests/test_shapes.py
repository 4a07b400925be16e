"""Shapes in signatures are checked while the tests run, so they cannot lie."""

from __future__ import annotations

import pytest
import torch

from lexitree.ops.spans import span_means

pytest.importorskip("beartype", reason="shapes are checked by beartype, which is not installed")


def test_a_wrong_shape_is_an_error() -> None:
    with pytest.raises(Exception, match="Type-check error"):
        span_means(torch.zeros(3, 2), torch.zeros(2, dtype=torch.long), torch.zeros(5, dtype=torch.long))


def test_a_wrong_type_is_an_error() -> None:
    with pytest.raises(Exception, match="Type-check error"):
        span_means(torch.zeros(3, 2), torch.zeros(2), torch.zeros(2))
