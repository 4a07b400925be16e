"""The behaviour suite is large enough, well formed, and judges as it says."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from tests.behaviour.changes import CHANGES
from tests.behaviour.suite import (
    NEUTRAL_BAND,
    SIDED,
    TOLERANCE,
    Case,
    Expectation,
    Judgement,
    Kind,
    Polarity,
    all_cases,
    conceded_decides,
    passes,
)

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
    assert sum(counts.values()) >= 3500
    assert counts.pop("natural") >= 200
    assert min(counts.values()) >= 400


ONE_SIDED: dict[str, Polarity] = {
    "negated praise": "negative",
    "negated blame": "positive",
    "irony": "negative",
    "sincere praise": "positive",
    "neutral shapes": "neutral",
}


def test_every_family_of_constructions_has_sixty_cases() -> None:
    sides: dict[str, Counter[str]] = {}
    for case in CASES:
        if case.kind == "construction":
            sides.setdefault(case.capability, Counter())[case.labels[0]] += 1
    assert len(sides) >= 14
    for family, counts in sides.items():
        assert sum(counts.values()) >= 60, family
        assert set(counts) == ({ONE_SIDED[family]} if family in ONE_SIDED else {"negative", "positive"}), (
            family
        )


def test_clauses_are_conceded_in_both_orders() -> None:
    conceded = Counter((case.conceded, case.labels[0]) for case in CASES if case.conceded)
    assert set(conceded) == {
        (place, label) for place in ("first", "last") for label in ("negative", "positive")
    }
    assert min(conceded.values()) >= 25
    for case in CASES:
        if case.kind == "construction":
            assert bool(case.conceded) == (case.capability in ("contrast", "concession")), case.id


def test_articles_fit_the_words_behind_them() -> None:
    """Fillers are put behind articles without a look at their first letter."""
    for case in CASES:
        if case.kind == "construction" or case.expect == "same side":
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiouhAEIOUH]", case.text), case.text


def test_no_case_occurs_twice() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({(case.kind, case.texts, case.expect) for case in CASES}) == len(CASES)


def test_texts_that_were_known_to_go_wrong_are_among_the_cases() -> None:
    assert {case.text for case in CASES if case.kind == "minimum"} >= set(QUOTED)


def test_every_case_says_what_must_hold() -> None:
    for case in CASES:
        has_change = case.kind in ("invariance", "direction")
        assert case.labels or (has_change and case.expect != "same side"), case.id
        assert (case.changed is not None) == has_change == (case.expect is not None), case.id
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
        ("from negative to positive", 0.51, 0.49),
    ],
)
def test_directions_are_judged_by_the_score(expect: Expectation, good: float, wrong: float) -> None:
    case = replace(CASE, expect=expect)
    start = -0.5 if expect.startswith("from") else 0.0
    before = Judgement("neutral", start)
    assert passes(case, [before, Judgement("neutral", start + good)])
    assert not passes(case, [before, Judgement("neutral", start + wrong)])


def test_a_contrast_must_turn_the_score_from_the_right_side() -> None:
    case = replace(CASE, expect="from positive to negative")
    good, bad = Judgement("positive", 0.2), Judgement("positive", -0.1)
    assert passes(case, [good, bad])
    assert not passes(case, [good, replace(good, score=0.1)]), "a smaller score is not enough"
    assert not passes(case, [bad, replace(bad, score=-0.5)]), "nor is a score that was negative before"


@pytest.mark.parametrize("kind", sorted(SIDED))
@pytest.mark.parametrize(
    ("label", "good", "wrong"),
    [
        ("positive", 0.01, 0.0),
        ("negative", -0.01, 0.0),
        ("neutral", NEUTRAL_BAND - 0.01, NEUTRAL_BAND),
        ("neutral", 0.01 - NEUTRAL_BAND, -NEUTRAL_BAND),
    ],
)
def test_constructions_are_judged_by_the_side_of_the_score(
    kind: Kind, label: Polarity, good: float, wrong: float
) -> None:
    case = Case("i", kind, "c", "t", "a", labels=(label,))
    assert passes(case, [Judgement("neutral", good)])
    assert not passes(case, [Judgement(label, wrong)])


@pytest.mark.parametrize(
    ("label", "before", "same", "other"),
    [("positive", 0.1, 0.9, -0.1), ("negative", -0.1, -0.9, 0.1), ("neutral", -0.1, 0.1, 0.2)],
)
def test_a_change_may_move_the_score_on_its_side(
    label: Polarity, before: float, same: float, other: float
) -> None:
    case = replace(CASE, kind="invariance", labels=(label,), expect="same side")
    start = Judgement("neutral", before)
    assert passes(case, [start, Judgement("positive", same)])
    assert not passes(case, [start, Judgement("neutral", other)])


def test_the_conceded_clause_decides_by_the_label() -> None:
    case = Case("i", "construction", "c", "t", "a", labels=("negative",), conceded="first")
    assert conceded_decides(case, [Judgement("positive", 0.4)])
    assert not conceded_decides(case, [Judgement("neutral", 0.1)])
    assert not conceded_decides(case, [Judgement("negative", -0.4)])


def test_labels_are_judged_by_the_label() -> None:
    minimum = Case("i", "minimum", "c", "t", "cheap", labels=("neutral", "positive"))
    assert passes(minimum, [Judgement("positive", 0.5)])
    assert not passes(minimum, [Judgement("negative", 0.5)])
    same = replace(CASE, expect="same label")
    assert passes(same, [Judgement("positive", 0.9), Judgement("positive", 0.1)])
    assert not passes(same, [Judgement("positive", 0.1), Judgement("neutral", 0.1)])
