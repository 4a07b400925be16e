"""The program that runs the behaviour suite counts its goals as it says."""

from __future__ import annotations

import pytest

from tests.behaviour.measure import GOALS, measure_conceded, measure_goals
from tests.behaviour.suite import Case, Judgement, Kind, Place, Polarity, all_cases

GOOD, BAD, DULL = Judgement("positive", 0.5), Judgement("negative", -0.5), Judgement("neutral", 0.01)


def case(
    kind: Kind, capability: str, label: Polarity, conceded: Place | None = None, changed: str | None = None
) -> Case:
    expect = "same side" if changed else None
    return Case("i", kind, capability, "t", "a", (label,), changed, expect, conceded)


CASES = [
    case("construction", "contrast", "negative", "first"),
    case("construction", "contrast", "positive", "first"),
    case("construction", "contrast", "positive", "first"),
    case("construction", "concession", "negative", "last"),
    case("construction", "irony", "negative"),
    case("natural", "event", "negative"),
    case("invariance", "neutral fillers", "positive", changed="b"),
    case("invariance", "handles and links", "negative", changed="b"),
]
ANSWERS = [[GOOD], [BAD], [DULL], [BAD], [GOOD], [BAD], [GOOD, DULL], [GOOD, BAD]]


def test_the_conceded_clause_is_counted_by_order() -> None:
    rows = measure_conceded(CASES, {"any": ANSWERS})
    found = {(row["capability"], row["conceded"]): (row["cases"], row["any_share"]) for row in rows}
    assert found == {
        ("contrast", "praise, first"): (1, 1.0),
        ("contrast", "blame, first"): (2, 0.5),
        ("concession", "praise, last"): (1, 0.0),
        ("both", "all"): (4, 0.5),
    }


def test_goals_are_measured() -> None:
    rows = measure_goals(CASES, {"any": ANSWERS})
    shares = {row["measure"]: row["any_share"] for row in rows}
    assert shares == {
        "constructions and natural sentences right": pytest.approx(3 / 6),
        "natural sentences right": 1.0,
        "the worst family but irony right": pytest.approx(1 / 3),
        "irony right": 0.0,
        "the conceded clause decides": 0.5,
        "the conceded clause decides, in the worst order": 1.0,
        "neutral fillers change the side": 0.0,
        "handles, links or tags change the side": 1.0,
    }


def test_every_goal_has_cases() -> None:
    cases = all_cases()
    for goal in GOALS:
        assert sum(map(goal.counts, cases)) >= 60, goal.measure
