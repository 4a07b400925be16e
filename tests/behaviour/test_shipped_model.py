"""The shipped sentiment model on the behaviour suite: at least what the record says, and what we aim at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.measure import (
    Judgements,
    ModelSystem,
    judge_cases,
    measure_goals,
    pass_rates,
    some_of,
    verdicts,
)
from tests.behaviour.suite import SIDED, Case, all_cases, passes

ROOT = Path(__file__).parents[2]
MODEL = "sentiment"
AIMS = {"invariance": 0.95, "all": 0.90}
MARGIN = 0.01
"""The last bits of a processor's sums may turn a few close calls."""
REACHED = {
    "contrast": 0.52,
    "concession": 0.74,
    "superlative under negation": 0.56,
    "negated praise": 0.52,
    "negated blame": 0.37,
    "counterfactual": 0.46,
    "comparison": 0.74,
    "degree": 0.80,
    "reported opinions": 0.47,
    "events": 0.58,
    "irony": 0.17,
    "sincere praise": 0.99,
    "falling and rising": 0.62,
    "questions and answers": 0.61,
    "neutral shapes": 0.66,
}
"""The share of each family that the present weights get right, less a point: a floor, not an aim (see `GOALS`)."""
REACHED_NATURAL = 0.75
"""The same for the natural sentences."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return all_cases()


@pytest.fixture(scope="module")
def sided(cases: list[Case]) -> tuple[list[Case], Judgements]:
    """The constructions and natural sentences, and what the shipped model says of them."""
    chosen = [case for case in cases if case.kind in SIDED]
    return chosen, {MODEL: judge_cases(ModelSystem(MODEL), chosen)}


@pytest.fixture(scope="module")
def judged(cases: list[Case]) -> Judgements:
    """What the shipped model says of all cases."""
    return {MODEL: judge_cases(ModelSystem(MODEL), cases)}


def share_by(key: str, rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row[key]: row[f"{MODEL}_share"] for row in rows}


def test_no_family_is_worse_than_the_shipped_weights_were(sided: tuple[list[Case], Judgements]) -> None:
    cases, judged = some_of(*sided, lambda case: case.kind == "construction")
    rows = pass_rates(cases, verdicts(cases, judged, passes), lambda case: {"family": case.capability})
    shares = share_by("family", rows)
    assert shares.keys() == REACHED.keys()
    assert {family: share for family, share in shares.items() if share < REACHED[family]} == {}


def test_natural_sentences_are_as_often_right_as_they_were(sided: tuple[list[Case], Judgements]) -> None:
    cases, judged = some_of(*sided, lambda case: case.kind == "natural")
    (row,) = pass_rates(cases, verdicts(cases, judged, passes), lambda case: {"kind": case.kind})
    assert row[f"{MODEL}_share"] >= REACHED_NATURAL


@pytest.fixture(scope="module")
def shares(cases: list[Case], judged: Judgements) -> dict[str, float]:
    """The share of cases that the shipped model passes, by kind."""
    passed = verdicts(cases, judged, passes)
    rows = pass_rates(cases, passed, lambda case: {"kind": case.kind})
    rows += pass_rates(cases, passed, lambda case: {"kind": "all"})
    return share_by("kind", rows)


@pytest.mark.slow
def test_the_shipped_model_does_what_the_record_says(shares: dict[str, float]) -> None:
    record = json.loads((ROOT / "results" / "behaviour.json").read_text(encoding="utf-8"))
    assert shares == pytest.approx(share_by("kind", record["kinds"]), abs=MARGIN)


@pytest.mark.slow
@pytest.mark.xfail(reason="mistyped words and names change too many answers", strict=True)
def test_the_shipped_model_reaches_the_aims(shares: dict[str, float]) -> None:
    assert all(shares[kind] >= aim for kind, aim in AIMS.items()), shares


@pytest.mark.slow
@pytest.mark.xfail(reason="the shipped model has not been taught constructions", strict=True)
def test_the_shipped_model_reaches_the_goals(cases: list[Case], judged: Judgements) -> None:
    rows = measure_goals(cases, judged)
    found = {row["measure"]: (row[f"{MODEL}_share"], row["wanted"], row["aim_share"]) for row in rows}
    assert all(
        share >= aim if wanted == "at least" else share <= aim for share, wanted, aim in found.values()
    ), found
