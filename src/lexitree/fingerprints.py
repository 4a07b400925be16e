"""Compares what a run was started with and what it is resumed with, and says in words what differs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any, cast

MAX_SHOWN = 80
"""Values are cut to this length in error messages."""


def describe_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say what differs between two fingerprints.

    Args:
        before: A fingerprint that was read from JSON: names of settings and their values, which may be nested.
        now: The current one.

    Returns:
        Such as "training.seed was 1, is 2; epochs was 3, is None"; empty if nothing differs.
    """
    # JSON makes lists of tuples.
    old, new = _flatten(before), _flatten(json.loads(json.dumps(dict(now))))
    differing = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(f"{key} was {_shown(old.get(key))}, is {_shown(new.get(key))}" for key in differing)


def _flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings by dotted names, so that errors name the very setting."""
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = list(values.items())[::-1]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            inner = cast(Mapping[str, Any], value)
            waiting.extend((f"{name}.{key}", inner[key]) for key in reversed(list(inner)))
        else:
            flat[name] = value
    return flat


def _shown(value: object) -> str:
    """A value as it is written, shortened if it is long."""
    return textwrap.shorten(repr(value), MAX_SHOWN, placeholder=" ...")
