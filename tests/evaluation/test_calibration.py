"""Calibration error against a plain reference, and temperatures that are found again."""

from __future__ import annotations

import numpy as np
import pytest

from lexitree.arrays import DoubleArray, IndexArray
from lexitree.evaluation.calibration import (
    RatedTexts,
    cross_fitted,
    expected_calibration_error,
    fit_temperature,
)
from lexitree.labels import LabelSet
from lexitree.results.document import mean_probabilities

RNG = np.random.default_rng(0)
FIVE = LabelSet(tuple("01234"))


def plain_error(probabilities: DoubleArray, gold: IndexArray, num_bins: int) -> float:
    """The definition of Guo et al. (2017), bin by bin."""
    total = 0.0
    for number in range(num_bins):
        low, high = number / num_bins, (number + 1) / num_bins
        rows = [
            (row.max(), row.argmax() == label)
            for row, label in zip(probabilities, gold, strict=True)
            if low <= row.max() < high or (row.max() == high == 1)
        ]
        if rows:
            confidence, accuracy = (sum(column) / len(rows) for column in zip(*rows, strict=True))
            total += len(rows) / len(gold) * abs(confidence - accuracy)
    return total


@pytest.mark.parametrize("num_bins", [1, 7, 15])
def test_error_is_that_of_the_definition(num_bins: int) -> None:
    probabilities = RNG.dirichlet([0.4, 0.6, 0.5], 200)
    probabilities[:3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    gold = RNG.integers(0, 3, 200)
    expected = plain_error(probabilities, gold, num_bins)
    assert expected_calibration_error(probabilities, gold, num_bins) == pytest.approx(expected)


def drawn_texts(temperature: float, num_texts: int = 4000) -> RatedTexts:
    """Texts of one or two sentences that a model is too sure of, by this temperature."""
    sizes = np.array([1, 1, 1, 2] * (num_texts // 4))
    owner = np.repeat(np.arange(num_texts), sizes)
    scores = RNG.normal(0, 2, (len(owner), 5))
    lengths = RNG.integers(1, 9, len(owner))
    rows = np.exp(scores * temperature)
    rows /= rows.sum(1, keepdims=True)
    groups = ((0, 1), (2,), (3, 4))
    texts = RatedTexts(rows, owner, lengths, FIVE, groups, np.zeros(num_texts, dtype=np.int64))
    true = texts.probabilities(temperature)
    gold = (RNG.random((num_texts, 1)) > true.cumsum(1)).sum(1)
    return RatedTexts(rows, owner, lengths, FIVE, groups, gold)


def test_the_temperature_is_found_again() -> None:
    texts = drawn_texts(2.0)
    assert fit_temperature(texts) == pytest.approx(2.0, rel=0.1)
    before = expected_calibration_error(texts.probabilities(), texts.gold)
    after = expected_calibration_error(cross_fitted(texts), texts.gold)
    assert after < 0.03 < before


def test_answers_are_sums_of_the_labels_that_count_for_them() -> None:
    texts = drawn_texts(1.0, 8)
    for number, row in enumerate(texts.probabilities()):
        own = texts.owner == number
        mean = mean_probabilities(list(texts.rows[own]), texts.lengths[own].tolist(), FIVE)
        assert row == pytest.approx([mean[:2].sum(), mean[2], mean[3:].sum()])


def test_a_half_is_scored_at_the_temperature_of_the_other() -> None:
    texts = drawn_texts(1.5, 400)
    even, odd = np.arange(0, 400, 2), np.arange(1, 400, 2)
    expected = texts.probabilities(fit_temperature(texts.part(odd)))[even]
    assert np.allclose(cross_fitted(texts)[even], expected)
    assert np.array_equal(texts.part(odd).gold, texts.gold[odd])
