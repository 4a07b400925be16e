"""Intervals of shares, compared with published values and with their own definition."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.evaluation.intervals import Share


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    # Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(count: int, total: int, low: float, high: float) -> None:
    assert Share(count, total).interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    # Newcombe (1998), "Interval estimation for the difference between independent proportions", table II, method 10.
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_newcombe_as_published(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    difference, interval = Share(*first).change_from(Share(*second))
    assert difference == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_interval_holds_the_share_and_solves_its_equation(count: int, more: int) -> None:
    share = Share(count, count + more)
    low, high = share.interval
    assert 0 <= low <= share.value <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            z = abs(share.value - end) / math.sqrt(end * (1 - end) / share.total)
            assert z == pytest.approx(1.959964, abs=1e-4)
