"""Means over spans: equal to the plain means, and not disturbed by what else is in the batch."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.ops.spans import span_means


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 12)), min_size=1, max_size=10))
@settings(max_examples=40)
def test_equals_the_plain_mean(pairs: list[tuple[int, int]]) -> None:
    leaves = torch.randn(12, 3, dtype=torch.float64)
    bounds = [(first, min(12, first + length)) for first, length in pairs]
    start, end = (torch.tensor(column) for column in zip(*bounds, strict=True))
    expected = torch.stack([leaves[first:last].mean(0) for first, last in bounds])
    assert torch.allclose(span_means(leaves, start, end), expected, rtol=0, atol=1e-12)


def test_gradient() -> None:
    leaves = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    start, end = torch.tensor([0, 1, 0, 4]), torch.tensor([5, 3, 1, 5])
    assert torch.autograd.gradcheck(lambda x: span_means(x, start, end), (leaves,))


def test_a_short_span_is_exact_behind_a_hundred_thousand_leaves() -> None:
    leaves = torch.full((100_001, 1), 0.7)
    leaves[-1] = 1e-4
    mean = span_means(leaves, torch.tensor([100_000]), torch.tensor([100_001]))
    assert abs(mean.item() - 1e-4) < 1e-9
