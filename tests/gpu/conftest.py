"""Fixtures of the tests that run on each device."""

from __future__ import annotations

from tests.cli.conftest import call

__all__ = ["call"]
