"""Several occasions of one measurement, on an idle machine and beside busy cores, and what they have in common."""

from __future__ import annotations

import multiprocessing
import os
import statistics
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

_KEY = ("busy_cores", "cell", "batch_size", "system")
"""What tells the rows of one occasion from each other."""


@contextmanager
def busy_cores(number: int) -> Generator[None]:
    """Keep so many cores busy with other work meanwhile."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_work_for_ever, daemon=True) for _ in range(number)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _work_for_ever() -> None:
    number = 1
    while True:
        number = number * 6364136223846793005 % (1 << 64)


def load_average() -> float:
    """How many processes wanted to run in the last minute, before the measurement adds its own."""
    return os.getloadavg()[0]


def combine(occasions: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row a system from all occasions: the median, with the lowest and the highest ratio of an occasion."""
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for rows in occasions:
        for row in rows:
            by_key.setdefault(tuple(row[name] for name in _KEY), []).append(row)
    return [_combine_rows(key, rows) for key, rows in by_key.items()]


def _combine_rows(key: tuple[Any, ...], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ratios = [row["ratio"] for row in rows]
    # Of a single occasion there are its rounds.
    bounds = ratios if len(rows) > 1 else [rows[0]["lowest_ratio"], rows[0]["highest_ratio"]]
    return {
        **dict(zip(_KEY, key, strict=True)),
        "gate_error": max(row["gate_error"] for row in rows),
        "trees_per_second": statistics.median(row["trees_per_second"] for row in rows),
        "ratio": statistics.median(ratios),
        "lowest_ratio": min(bounds),
        "highest_ratio": max(bounds),
        "occasions": len(rows),
    }
