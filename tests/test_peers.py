"""Several occasions of a measurement: one row a system and load, with the median and the range."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from lexitree_vs_peers import combine


def row(ratio: float, *, busy: int = 0, speed: float = 100.0) -> dict[str, Any]:
    return {
        "busy_cores": busy,
        "cell": "n-ary",
        "batch_size": 25,
        "system": "dynet",
        "gate_error": ratio / 1e6,
        "trees_per_second": speed,
        "ratio": ratio,
        "lowest_ratio": ratio - 0.5,
        "highest_ratio": ratio + 0.5,
    }


def test_the_range_is_that_of_the_occasions() -> None:
    (found,) = combine([[row(1.3, speed=90)], [row(1.1, speed=80)], [row(1.4, speed=70)]])
    assert (found["ratio"], found["lowest_ratio"], found["highest_ratio"]) == (1.3, 1.1, 1.4)
    assert (found["trees_per_second"], found["gate_error"], found["occasions"]) == (80, 1.4e-6, 3)


def test_a_single_occasion_has_the_range_of_its_rounds() -> None:
    (found,) = combine([[row(1.5)]])
    assert (found["lowest_ratio"], found["highest_ratio"]) == (1.0, 2.0)


def test_loads_are_told_apart() -> None:
    idle, loaded = combine([[row(2.0)], [row(1.0, busy=1)], [row(3.0)], [row(1.5, busy=1)]])
    assert (idle["busy_cores"], idle["ratio"]) == (0, 2.5)
    assert (loaded["busy_cores"], loaded["ratio"]) == (1, 1.25)
