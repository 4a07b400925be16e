"""The benchmark of engines fails if one of them is too slow."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

engine_overhead: Any = importlib.import_module("engine_overhead")


@pytest.mark.parametrize(
    ("rate", "problems"), [(85.0, []), (84.0, ["ray: a share of 0.84 is less than 0.85"])]
)
def test_an_engine_below_its_least_share_is_a_problem(
    rate: float, problems: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(name: str, *_: object) -> dict[str, float]:
        return {"rate": rate if name == "ray" else 100.0, "seconds": 1.0, "startup": 0.0}

    monkeypatch.setattr(engine_overhead, "measure", measure)

    def write_table(path: Path, *_: object) -> Path:
        return path

    def describe_run(_: object) -> dict[str, Any]:
        return {}

    for stub in (measure, write_table, describe_run):
        monkeypatch.setattr(engine_overhead, stub.__name__, stub)
    monkeypatch.setattr(engine_overhead, "some_texts", range)
    output = tmp_path / "record.json"
    monkeypatch.setattr(sys, "argv", ["engine_overhead.py", "--system", "ray", "--output", str(output)])
    assert engine_overhead.main() == bool(problems)
    assert json.loads(output.read_text())["problems"] == problems
