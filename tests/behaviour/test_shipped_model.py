"""The shipped sentiment model on the behaviour suite: at least what the record says, and what we aim at."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from behaviour import judge_cases, pass_rates  # noqa: E402
from polarity_systems import ModelSystem  # noqa: E402
from tests.behaviour.suite import all_cases, passes  # noqa: E402

pytestmark = pytest.mark.slow

MODEL = "sentiment"
AIMS = {"invariance": 0.95, "all": 0.90}
MARGIN = 0.01
"""The last bits of a processor's sums may turn a few close calls."""


@pytest.fixture(scope="module")
def shares() -> dict[str, float]:
    """The share of cases that the shipped model passes, by kind."""
    cases = all_cases()
    answers = judge_cases(ModelSystem(MODEL), cases)
    passed = {MODEL: [passes(*pair) for pair in zip(cases, answers, strict=True)]}
    rows = pass_rates(cases, passed, lambda case: {"kind": case.kind})
    rows += pass_rates(cases, passed, lambda case: {"kind": "all"})
    return share_by_kind(rows)


def share_by_kind(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["kind"]: row[f"{MODEL}_share"] for row in rows}


def test_the_shipped_model_does_what_the_record_says(shares: dict[str, float]) -> None:
    record = json.loads((ROOT / "results" / "behaviour.json").read_text(encoding="utf-8"))
    assert shares == pytest.approx(share_by_kind(record["kinds"]), abs=MARGIN)


@pytest.mark.xfail(reason="mistyped words and names change too many answers", strict=True)
def test_the_shipped_model_reaches_the_aims(shares: dict[str, float]) -> None:
    assert all(shares[kind] >= aim for kind, aim in AIMS.items()), shares
