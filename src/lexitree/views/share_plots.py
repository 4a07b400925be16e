"""Small plots of shares and their intervals, as SVG that stretches to the width of its cell.

They repeat numbers that stand beside them, so readers of the page's text skip them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_NICE_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_COLUMN = 12
"""The width of a group in a plot of several."""
_HEIGHT = 40


class Estimate(NamedTuple):
    """A share and the ends of its interval."""

    value: float
    low: float
    high: float


def axis_end(largest: float) -> float:
    """The end of an axis that begins at 0: a round share, not less than the largest and at most 1.

    >>> axis_end(0.137)
    0.15
    """
    if largest <= 0:
        return 1.0
    unit = 1.0
    while unit / 10 >= largest:
        unit /= 10
    unit /= 10
    end = next(step * unit for step in _NICE_STEPS if step * unit >= largest * (1 - 1e-9))
    return min(1.0, round(end, 12))


def share_bar_plot(estimate: Estimate, end: float) -> str:
    """A bar to the share, and a line over its interval; the axis goes from 0 to `end`."""
    value, low, high = (100 * min(each / end, 1.0) for each in estimate)
    return (
        '<svg class="lt-plot" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="lt-value" x="0" y="1" width="{value:.2f}" height="10"/>'
        f'<rect class="lt-range" x="{low:.2f}" y="5" width="{max(high - low, 0.3):.2f}" height="2"/></svg>'
    )


def groups_plot(estimates: Sequence[Estimate], end: float) -> str:
    """A point with its interval for each group, from left to right; the axis goes from 0 up to `end`."""
    height = [[_HEIGHT * (1 - min(each / end, 1.0)) for each in estimate] for estimate in estimates]
    middles = [_COLUMN * (place + 0.5) for place in range(len(estimates))]
    points = " ".join(f"{x:.1f},{y:.2f}" for x, (y, _, _) in zip(middles, height, strict=True))
    # A line of no length with round ends is a dot that keeps its shape however the picture is stretched.
    marks = "".join(
        f'<path class="lt-whisker" d="M{x:.1f} {low:.2f}V{high:.2f}"/>'
        f'<path class="lt-dot" d="M{x:.1f} {y:.2f}h0"/>'
        for x, (y, low, high) in zip(middles, height, strict=True)
    )
    return (
        f'<svg class="lt-plot lt-groups" viewBox="0 0 {_COLUMN * len(estimates)} {_HEIGHT}" '
        'preserveAspectRatio="none" aria-hidden="true">'
        f'<polyline class="lt-trend" points="{points}"/>{marks}</svg>'
    )
