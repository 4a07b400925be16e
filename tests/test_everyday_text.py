"""The programs that score models on everyday text count as they say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.pipeline.stubs import tiny_pipeline

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from everyday_text import (
    RULES,
    document_scores,
    equal_mass_calibration_error,
    outside_the_mean,
    ranking_accuracy,
    recall_row,
    share_right,
    three_way_answers,
    two_way_answers,
    with_mean,
)
from polarity_systems import NEGATIVE, NEUTRAL, POSITIVE, Judged, SentenceOutputs, by_side, covering_row

FIVE = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def judged(*leanings: float, labels: tuple[int, ...] = ()) -> Judged:
    scores = np.array(leanings)
    return Judged(np.array(labels or [NEUTRAL] * len(leanings)), scores, scores)


def test_the_side_with_more_mass_counts_and_neutral_texts_do_not() -> None:
    gold = np.array([NEGATIVE, NEUTRAL, POSITIVE, POSITIVE])
    found = judged(-0.1, 0.9, -0.2, 0.3, labels=(NEGATIVE, POSITIVE, NEGATIVE, POSITIVE))
    assert share_right(two_way_answers, (gold, found)) == pytest.approx(2 / 3)
    assert share_right(three_way_answers, (gold, found)) == pytest.approx(1 / 2)


def test_a_word_list_gets_the_better_of_two_thresholds() -> None:
    gold = np.array([POSITIVE, POSITIVE, NEGATIVE, NEGATIVE])
    assert judged(0.0, 0.5, -0.5, 0.0).is_right_side(gold).tolist().count(True) == 3
    assert judged(0.0, 0.0, -0.5, -0.5).is_right_side(gold).all()


def test_recall_leaves_out_sets_of_one_side() -> None:
    row = recall_row(
        "any",
        {
            "one side": (np.array([POSITIVE]), judged(-1.0, labels=(NEGATIVE,))),
            "both": (
                np.array([NEGATIVE, POSITIVE, POSITIVE]),
                judged(-1, 1, -1, labels=(NEGATIVE, NEUTRAL, NEGATIVE)),
            ),
        },
    )
    assert (row["two_way_negative_recall"], row["two_way_positive_recall"]) == (1.0, 0.5)
    assert (row["three_way_positive_recall"], row["three_way_gap_points"]) == (0.0, 100.0)


def test_hard_sets_are_not_in_the_mean() -> None:
    rows = with_mean([{"set": "a", "any_accuracy": 0.5}, {"set": "b", "any_accuracy": 1.0}])
    assert rows[-1] == {"set": "mean", "any_accuracy": 0.75}
    assert outside_the_mean([{"set": "c", "any_accuracy": 0.0}])[0]["set"] == "c (not in the mean)"


def test_bins_of_a_calibration_have_as_many_texts_each() -> None:
    sure = np.array([0.9, 0.6, 0.8, 0.7])
    probabilities = np.stack([sure, 1 - sure], axis=1)
    gold = np.array([0, 1, 0, 0])
    # The two least sure: 0.65 against one of two right. The two surest: 0.85 against both.
    assert equal_mass_calibration_error(probabilities, gold, 2) == pytest.approx((0.15 + 0.15) / 2)
    assert equal_mass_calibration_error(probabilities, gold, 1) == pytest.approx(0.0)


def test_mass_is_summed_by_side() -> None:
    rows = np.array([[0.3, 0.1, 0.35, 0.15, 0.1]])
    assert by_side(rows, FIVE)[0].tolist() == pytest.approx([0.4, 0.35, 0.25])


def test_the_smallest_covering_phrase_is_found() -> None:
    text = "the film is not bad"
    document = tiny_pipeline()(text)
    sentence = document.sentences[0]
    for phrase in sentence.phrases:
        assert covering_row(document, (phrase.start, phrase.end)).tolist() == pytest.approx(
            list(phrase.probabilities.values())
        )
    start = text.index("is not")
    expected = min(
        (p for p in sentence.phrases if p.start <= start and p.end >= start + 6),
        key=lambda p: p.end - p.start,
    )
    assert covering_row(document, (start, start + 6)).tolist() == pytest.approx(
        list(expected.probabilities.values())
    )


def test_rules_weigh_sentences() -> None:
    sentences = np.array([[1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0], [0, 0, 0, 0, 1.0]])
    outputs = SentenceOutputs(sentences, np.array([10, 2, 5]), np.array([2, 1]))
    assert document_scores(outputs, FIVE, "plain mean").tolist() == [0.0, 1.0]
    assert document_scores(outputs, FIVE, "mean by length")[0] == pytest.approx(-8 / 12)
    assert all(abs(document_scores(outputs, FIVE, rule)[1]) == pytest.approx(1.0) for rule in RULES)


def test_ranking_counts_pairs_in_order() -> None:
    assert ranking_accuracy(np.array([0.1, 0.3, 0.2, 0.2]), np.array([False, True, True, False])) == 0.875
