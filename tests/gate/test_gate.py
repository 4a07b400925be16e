"""The gate's comparison, on small answers that are made up: each kind of difference is found, and ties are counted."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(Path(__file__).parent))

ANSWERS: Any = importlib.import_module("answer_files")
CASES: Any = importlib.import_module("cases")
COMPARE: Any = importlib.import_module("compare")
PLANT: Any = importlib.import_module("plant")
TOLERANCE = 2e-6
WORDS = ("not", "a", "film")
# (not (a film)): whole, not, (a film), a, film
NODES = np.array([[0, 3, 1, 2], [0, 1, 0, 0], [1, 3, 1, 2], [1, 2, 0, 1], [2, 3, 1, 2]])


def made_up() -> Any:
    probabilities = np.array([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.5000005, 0.4999995], [0.1, 0.9]])
    shares = np.array([0.4, 1.0, 0.7, 1.0, 1.0])
    sentences = [
        ANSWERS.SentenceAnswer(
            WORDS, "(S (RB not) (NP a film))", text, (0, 4, 6), NODES, shares, probabilities
        )
        for text in (0, 0, 2)
    ]
    return ANSWERS.Answers.of(sentences)


def compared(change: Callable[[Any], Any], head_margin: float = 1.0, parse_margin: float = 1.0) -> Any:
    """The report on answers of which a copy was changed."""
    report = COMPARE.Report()
    COMPARE.compare_answers(report, "made-up", made_up(), change(copy.deepcopy(made_up())), TOLERANCE)
    COMPARE.judge(report, [head_margin] * len(report.heads), [parse_margin] * len(report.parses), TOLERANCE)
    return report


def with_number(name: str, place: Any, value: Any) -> Callable[[Any], Any]:
    def change(answers: Any) -> Any:
        getattr(answers, name)[place] = value
        return answers

    return change


def test_the_same_answers_pass() -> None:
    report = compared(lambda answers: answers)
    assert report.passes
    assert report.counts["sentences"] == 3
    assert report.counts["probabilities"] == report.counts["labels"] == report.counts["heads"] == 15
    assert report.listed == []


def test_nothing_is_no_pass() -> None:
    assert not COMPARE.Report().passes


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("probabilities", with_number("probabilities", (7, 0), 0.2 + 3e-6), "made-up 1, node 2, 'a film'"),
        ("probabilities", with_number("probabilities", (7, 0), np.nan), "made-up 1, node 2, 'a film'"),
        ("labels", with_number("nodes", (7, 2), 0), "label 0, not 1, by a margin of 6.0e-01"),
        ("heads", with_number("nodes", (5, 3), 1), "head 1 'a', not 2 'film', by a margin of 1.0e+00"),
        ("heads", with_number("nodes", (5, 3), -1), "head -1 (none), not 2 'film'"),
        ("heads' shares", with_number("shares", 5, 0.4 + 3e-6), "made-up 1, node 0, 'not a film'"),
        (
            "binary trees",
            with_number("nodes", (7, 0), 0),
            "made-up 1, 'not a film': node 2 is 'not a film', not 'a film'",
        ),
        (
            "binary trees",
            with_number("nodes", (slice(7, 9), slice(0, 2)), [[0, 2], [0, 1]]),
            "made-up 1, 'not a film': node 2 is 'not a', not 'a film'",
        ),
        ("places of words", with_number("places", 4, 5), "1 words"),
        ("sentences", with_number("texts", 1, 1), "other sentences from text 0 on"),
        (
            "binary trees",
            lambda answers: replace(
                answers,
                num_nodes=answers.num_nodes - [0, 0, 1],
                **{name: getattr(answers, name)[:-1] for name in ("nodes", "shares", "probabilities")},
            ),
            "made-up 2, 'not a film': node 4 is None, not 'film'",
        ),
        (
            "parses",
            lambda answers: replace(answers, parses=(*answers.parses[:2], "(X not a film)")),
            "made-up 2, 'not a film', by a margin of 1.0e+00\n    (X not a film)\n    not (S (RB not) (NP a film))",
        ),
        (
            "words",
            lambda answers: replace(answers, words=(WORDS, ("not", "a", "Film"), WORDS)),
            "['not', 'a', 'Film'], not ['not', 'a', 'film']",
        ),
        (
            "probabilities",
            lambda answers: replace(answers, probabilities=answers.probabilities[:, :1]),
            "(15, 1) numbers, not (15, 2)",
        ),
    ],
)
def test_a_difference_is_found_and_told(kind: str, change: Callable[[Any], Any], said: str) -> None:
    report = compared(change)
    assert not report.passes
    assert report.differences == {kind: 1}
    assert said in report.listed[0]
    assert report.ties.total() == 0


def test_rounding_is_no_difference() -> None:
    report = compared(with_number("probabilities", (7, 0), 0.2 + 1e-6))
    assert report.passes
    assert report.largest["probabilities"] == pytest.approx(1e-6)


def test_a_label_that_was_as_likely_is_a_tie() -> None:
    report = compared(with_number("nodes", (3, 2), 1))
    assert report.passes
    assert report.ties == {"labels": 1}


@pytest.mark.parametrize("margin", [1e-6, 3e-6])
def test_a_close_choice_of_the_yardstick_is_a_tie(margin: float) -> None:
    head = compared(with_number("nodes", (5, 3), 0), head_margin=margin)
    parse = compared(
        lambda answers: replace(answers, parses=("(X)", *answers.parses[1:])), parse_margin=margin
    )
    for report, kind in ((head, "heads"), (parse, "parses")):
        is_tie = margin < TOLERANCE
        assert report.passes == is_tie
        assert (report.ties if is_tie else report.differences) == {kind: 1}


@pytest.mark.parametrize(("row", "head", "node"), [(5, 0, 0), (5, 1, 2), (7, 1, 2)])
def test_a_disputed_head_is_followed_to_where_the_ways_part(row: int, head: int, node: int) -> None:
    """The whole took `film` from its right part, which took it from its right part in turn."""
    (dispute,) = compared(with_number("nodes", (row, 3), head)).heads
    assert dispute.node == node
    assert dispute.spans == ((0, 3), (0, 1), (1, 3), (1, 2), (2, 3))


def test_a_tree_that_is_not_binary_has_no_margin() -> None:
    flat = ANSWERS.SentenceAnswer(
        WORDS, nodes=[[0, 3, 0, 2], *NODES[[1, 3, 4]]], shares=[1] * 4, probabilities=[[0.4, 0.6]] * 4
    )
    report = COMPARE.Report()
    other = ANSWERS.Answers.of([flat])
    other.nodes[0, 3] = 1
    COMPARE.compare_answers(report, "flat", ANSWERS.Answers.of([flat]), other, TOLERANCE)
    assert [dispute.spans for dispute in report.heads] == [()]


def test_many_differences_are_counted_and_few_are_listed() -> None:
    report = compared(lambda answers: replace(answers, probabilities=answers.probabilities + 1e-5))
    assert report.differences == {"probabilities": 15}
    assert len(report.listed) == COMPARE.MOST_LISTED


def test_scores_are_equal_unless_there_were_ties() -> None:
    expected, found = {"bank": {"f1": 0.9}}, {"bank": {"f1": 0.895}}
    for ties, passes in ((0, False), (1, True)):
        report = COMPARE.Report()
        report.ties["parses"] = ties
        COMPARE.compare_scores(report, expected, found, {"bank": 100})
        assert report.passes == passes
    report = COMPARE.Report()
    COMPARE.compare_scores(report, expected, {}, {"bank": 100})
    assert report.listed == ["scores: bank, f1: nan, not 0.9"]


LIST = [("(S a)", -1.0), ("(NP a)", -1.00003), ("(VP a)", -3.0)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (LIST, None),
        ([("(S a)", -1.001), *LIST[1:]], "rank 0: log probability -1.001000, not -1.000000"),
        ([*LIST[:2], ("(X a)", -3.0)], None),
        ([("(X a)", -1.0), *LIST[1:]], "rank 0:\n    (X a)\n    not (S a)"),
        (LIST[:2], "2 trees, not 3"),
    ],
)
def test_k_best_lists(found: Any, said: str | None) -> None:
    report = COMPARE.Report()
    COMPARE.compare_lists(report, [LIST], [found])
    assert report.passes == (said is None)
    assert said is None or said in report.listed[0]


def test_trees_of_one_probability_may_change_places() -> None:
    report = COMPARE.Report()
    COMPARE.compare_lists(report, [LIST], [[("(NP a)", -1.0), ("(S a)", -1.00003), LIST[2]]])
    assert report.passes
    assert report.ties == {"k-best lists": 2}


def test_gradients_are_compared_by_name() -> None:
    expected = {"m/loss": np.array(3.0), "m/gradient of W": np.ones((2, 2)), "m/weight of W": np.zeros(2)}
    for change, said in (
        ({}, None),
        ({"m/weight of W": np.ones(2)}, None),
        ({"m/gradient of W": -np.ones((2, 2))}, "m/gradient of W: differs by 2.0e+00"),
        ({"m/gradient of W": np.full((2, 2), np.nan)}, "m/gradient of W: differs by nan"),
        ({"m/gradient of W": np.ones(4)}, "of shape (4,), not (2, 2)"),
        ({"m/gradient of V": np.ones(2)}, "m/gradient of V: unknown"),
    ):
        report = COMPARE.Report()
        COMPARE.compare_gradients(report, expected, {**expected, **change}, 1e-10)
        assert report.passes == (said is None)
        assert said is None or said in report.listed[0]


def test_a_missing_gradient_is_a_difference() -> None:
    report = COMPARE.Report()
    COMPARE.compare_gradients(
        report, {"m/loss": np.array(1.0), "m/gradient of W": np.ones(1)}, {"m/loss": np.array(1.0)}, 1
    )
    assert report.listed == ["gradients: m/gradient of W: missing"]


@pytest.mark.parametrize(("error", "passes"), [(1.5e-6, True), (1e-5, False)])
def test_gradients_in_float32_may_err_twice_as_much(error: float, passes: bool) -> None:
    exact = {"m/gradient of W": np.ones(4)}
    report = COMPARE.Report()
    COMPARE.compare_rounding(
        report, exact, {"m/gradient of W": np.ones(4) + 1e-6}, {"m/gradient of W": np.ones(4) + error}
    )
    assert report.passes == passes


def test_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    made_up().save(tmp_path / "answers.npz")
    report = COMPARE.Report()
    COMPARE.compare_answers(report, "file", made_up(), ANSWERS.Answers.read(tmp_path / "answers.npz"), 0.0)
    assert report.passes
    assert report.largest["probabilities"] == 0


def test_every_model_and_head_method_has_a_case() -> None:
    from lexitree.models.registries import ENCODERS, HEAD_METHODS

    cases = CASES.gradient_cases().values()
    assert {case["settings"]["model"] for case in cases} == set(ENCODERS.built_in)
    assert {case["settings"].get("head_method", "G") for case in cases} == set(HEAD_METHODS.built_in)


@pytest.mark.parametrize("fault", PLANT.FAULTS, ids=lambda fault: fault.kind)
def test_the_faults_that_are_planted_fit_the_code(fault: Any) -> None:
    text = (ROOT / "src" / fault.file).read_text(encoding="utf-8")
    assert PLANT.with_fault(text, fault) != text
