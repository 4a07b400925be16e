"""Shares of a total with the interval that the true share lies in, by Wilson's score and Newcombe's difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

CONFIDENCE = 0.95
_QUANTILE = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


class Interval(NamedTuple):
    """The ends of a 95 % confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """A count among a total.

    >>> share = Share(8, 10)
    >>> share.value
    0.8
    >>> [round(end, 3) for end in share.interval]
    [0.49, 0.943]
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1; 0 if there is nothing to count among."""
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's score interval, which holds for small counts too and never leaves the range from 0 to 1."""
        if not self.total:
            return Interval(0.0, 1.0)
        squared = _QUANTILE**2 / self.total
        middle = (self.value + squared / 2) / (1 + squared)
        spread = self.value * (1 - self.value) / self.total + squared / (4 * self.total)
        reach = _QUANTILE * math.sqrt(spread) / (1 + squared)
        # Rounding must not put the share itself outside.
        return Interval(max(0.0, min(middle - reach, self.value)), min(1.0, max(middle + reach, self.value)))

    def change_from(self, before: Share) -> tuple[float, Interval]:
        """The difference to another, independent share, with Newcombe's hybrid score interval."""
        difference = self.value - before.value
        low, high = self.interval
        low_before, high_before = before.interval
        fall = math.hypot(self.value - low, high_before - before.value)
        rise = math.hypot(high - self.value, before.value - low_before)
        return difference, Interval(difference - fall, difference + rise)
