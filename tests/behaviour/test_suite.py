"""The behaviour suite is large enough, well formed, and judges as it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.behaviour.changes import CHANGES
from tests.behaviour.suite import TOLERANCE, Case, Expectation, Judgement, all_cases, passes

CASES = all_cases()

QUOTED = (
    "It broke!!!!",
    "This place sucks!!!",
    "cheap",
    "awful",
    "Awful",
    ":)",
    ":(",
    "👎",
    "1 star",
    "Setup couldn't have been simpler.",
    "fast",
    "easy",
    "quiet",
    "dirty",
)
"""Texts that an earlier model was known to get wrong."""


def test_there_are_many_cases_of_each_kind() -> None:
    counts = Counter(case.kind for case in CASES)
    assert sum(counts.values()) >= 1500
    assert min(counts.values()) >= 400


def test_no_case_occurs_twice() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({(case.kind, case.texts, case.expect) for case in CASES}) == len(CASES)


def test_texts_that_were_known_to_go_wrong_are_among_the_cases() -> None:
    assert {case.text for case in CASES if case.kind == "minimum"} >= set(QUOTED)


def test_every_case_says_what_must_hold() -> None:
    for case in CASES:
        assert bool(case.labels) == (case.kind == "minimum"), case.id
        assert (case.changed is None) == (case.kind == "minimum") == (case.expect is None), case.id
        assert not any("{" in text for text in case.texts), case.id
        assert case.text != case.changed, case.id


def test_every_change_is_used() -> None:
    base = "The battery lasts two full days."
    assert {change(base) for change in CHANGES.values()}.isdisjoint({base})
    changed = {case.changed for case in CASES}
    for name, change in CHANGES.items():
        assert any(change(case.text) in changed for case in CASES if case.kind == "invariance"), name


CASE = Case("i", "direction", "c", "t", "a", changed="b")


@pytest.mark.parametrize(
    ("expect", "good", "wrong"),
    [
        ("higher", 0.01, 0.0),
        ("lower", -0.01, 0.0),
        ("not lower", -TOLERANCE, -TOLERANCE - 0.01),
        ("not higher", TOLERANCE, TOLERANCE + 0.01),
    ],
)
def test_directions_are_judged_by_the_score(expect: Expectation, good: float, wrong: float) -> None:
    case = replace(CASE, expect=expect)
    before = Judgement("neutral", 0.0)
    assert passes(case, [before, Judgement("neutral", good)])
    assert not passes(case, [before, Judgement("neutral", wrong)])


def test_labels_are_judged_by_the_label() -> None:
    minimum = Case("i", "minimum", "c", "t", "cheap", labels=("neutral", "positive"))
    assert passes(minimum, [Judgement("positive", 0.5)])
    assert not passes(minimum, [Judgement("negative", 0.5)])
    same = replace(CASE, expect="same label")
    assert passes(same, [Judgement("positive", 0.9), Judgement("positive", 0.1)])
    assert not passes(same, [Judgement("positive", 0.1), Judgement("neutral", 0.1)])
