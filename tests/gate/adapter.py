"""Asks the checkout under test for its answers.

Where a name of the library changes, override the method of the yardstick's adapter that calls it here.
"""

from __future__ import annotations

from yardstick_adapter import YardstickAdapter


class Adapter(YardstickAdapter):
    """The questions of the gate to this checkout, whose names are still those of the yardstick."""
