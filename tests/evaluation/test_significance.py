"""The bootstrap by definition and against every resample; the test between recipes by its level in simulations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.evaluation import significance
from lexitree.evaluation.significance import (
    compare_recipe_scores,
    compare_recipes,
    critical_t,
    paired_bootstrap,
    resample_means,
    student_p,
)

outcomes = st.integers(1, 12).flatmap(
    lambda size: st.tuples(*(st.lists(st.booleans(), min_size=size, max_size=size) for _ in range(2)))
)


def all_resamples(differences: list[float]) -> np.ndarray:
    """The mean of every one of the n ** n resamples."""
    return np.array([np.mean(drawn) for drawn in product(differences, repeat=len(differences))])


@given(st.lists(st.booleans(), min_size=1, max_size=20))
@settings(max_examples=25)
def test_identical_systems_have_p_one_half_and_one(correct: list[bool]) -> None:
    result = paired_bootstrap(correct, correct, num_resamples=200)
    assert (result.p_one_sided, result.p_two_sided) == (0.5, 1.0)
    assert (result.difference, result.low, result.high) == (0.0, 0.0, 0.0)


@given(outcomes)
@settings(max_examples=50)
def test_swapping_the_systems_turns_everything_round(pair: tuple[list[bool], list[bool]]) -> None:
    result = paired_bootstrap(*pair, num_resamples=300)
    swapped = paired_bootstrap(pair[1], pair[0], num_resamples=300)
    assert swapped.difference == -result.difference
    assert swapped.p_two_sided == pytest.approx(result.p_two_sided)
    assert swapped.p_one_sided == pytest.approx(1 - result.p_one_sided)
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low))
    assert 0 <= result.p_two_sided <= 1
    assert result.low <= result.high


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 1, 1, 0], [0, 0, 1, 1]),
        ([1, 1, 1, 1, 0], [0, 1, 0, 1, 1]),
        ([1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]),
        ([1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 1]),
    ],
)
def test_against_exact_enumeration(first: list[int], second: list[int]) -> None:
    means = all_resamples([one - other for one, other in zip(first, second, strict=True)])
    exact = (means < 0).mean() + (means == 0).mean() / 2
    result = paired_bootstrap(first, second, num_resamples=40_000, seed=3)
    # Four standard deviations of a share of 40,000 draws are at most 0.01.
    assert result.p_one_sided == pytest.approx(exact, abs=0.01)
    assert result.p_two_sided == pytest.approx(2 * min(exact, 1 - exact), abs=0.02)
    assert result.difference == pytest.approx(means.mean())


def test_the_interval_against_exact_enumeration() -> None:
    means = all_resamples([1, 1, 0, 0, 0, -1])
    result = paired_bootstrap([1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], num_resamples=40_000, confidence=0.9)
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])))


def test_one_who_always_wins_leaves_no_doubt() -> None:
    result = paired_bootstrap([1] * 20, [0] * 20)
    assert (result.p_one_sided, result.p_two_sided) == (0.0, 0.0)
    assert (result.low, result.high) == (1.0, 1.0)
    assert result.shown_p() == "< 0.0001"
    assert paired_bootstrap([1, 0], [0, 1]).shown_p()[:2] in {"0.", "1."}


def test_the_interval_is_that_of_the_normal_law_where_there_is_much_data() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 4000)) < [[0.55], [0.5]]
    result = paired_bootstrap(first, second)
    differences = first.astype(float) - second
    error = differences.std() / np.sqrt(len(differences))
    assert result.high - result.low == pytest.approx(2 * 1.96 * error, rel=0.04)
    assert result.p_two_sided < 0.001


def test_seeds_count_with_their_mean() -> None:
    first = np.array([[1, 0, 1, 1], [1, 1, 0, 1], [1, 0, 0, 1]])
    second = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    result = paired_bootstrap(first, second)
    assert result == paired_bootstrap(first.mean(0), second.mean(0))
    assert result.difference == pytest.approx(first.mean() - second.mean())
    # Thirds that add up to the same on both sides are a tie, whatever the rounding.
    thirds = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert paired_bootstrap(thirds, thirds[::-1]).p_two_sided == 1.0


def test_the_seed_decides_and_the_portions_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(30)
    means = resample_means(values, 100, seed=5)
    assert np.array_equal(means, resample_means(values, 100, seed=5))
    assert not np.array_equal(means, resample_means(values, 100, seed=6))
    monkeypatch.setattr(significance, "DRAWS_AT_A_TIME", 70)
    assert np.array_equal(means, resample_means(values, 100, seed=5))


@pytest.mark.parametrize(("first", "second"), [([1, 0], [1]), ([], []), (np.zeros((2, 3)), np.zeros(2))])
def test_what_cannot_be_paired(first: list[int], second: list[int]) -> None:
    with pytest.raises(ConfigError):
        paired_bootstrap(first, second)


def test_settings_out_of_range() -> None:
    for settings_ in ({"num_resamples": 0}, {"confidence": 1.0}):
        with pytest.raises(ConfigError):
            paired_bootstrap([1], [0], **settings_)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.3027), (4, 2.7764), (8, 2.3060), (30, 2.0423), (1e6, 1.9600)]
)
def test_students_law_against_its_tables(freedom: float, t: float) -> None:
    assert student_p(t, freedom) == pytest.approx(0.05, abs=1e-5)
    assert critical_t(0.95, freedom) == pytest.approx(t, abs=1e-4)
    assert student_p(0.0, freedom) == pytest.approx(1)


def test_scores_of_seeds_by_hand() -> None:
    """Groups with variances 1 and 4: Welch's t is 3 / sqrt(1/3 + 4/3), with 50/17 degrees of freedom."""
    result = compare_recipe_scores([4.0, 5.0, 6.0], [0.0, 2.0, 4.0])
    assert (result.difference, result.num_seeds, result.num_sentences) == (3.0, (3, 3), 0)
    assert result.degrees_of_freedom == pytest.approx(50 / 17)
    expected = student_p(3 / np.sqrt(5 / 3), 50 / 17)
    assert result.p_two_sided == pytest.approx(expected)


def test_recipes_whose_seeds_agree_are_compared_by_their_sentences() -> None:
    rng = np.random.default_rng(2)
    one, other = rng.random((2, 400)) < [[0.6], [0.5]]
    result = compare_recipes([one] * 3, [other] * 4)
    differences = one.astype(float) - other
    mean, margin = differences.mean(), critical_t(0.95, 399) * differences.std(ddof=1) / 20
    assert (result.low, result.high) == pytest.approx((mean - margin, mean + margin))
    assert result.degrees_of_freedom == pytest.approx(399)


def test_recipes_whose_sentences_agree_are_compared_by_their_seeds() -> None:
    """Every sentence of a seed has the same score."""
    one, other = [0.5, 0.52, 0.54], [0.48, 0.5, 0.5]
    by_answers = compare_recipes(np.repeat(one, 50).reshape(3, 50), np.repeat(other, 50).reshape(3, 50))
    by_scores = compare_recipe_scores(one, other)
    assert (by_answers.low, by_answers.high) == pytest.approx((by_scores.low, by_scores.high))
    assert by_answers.p_two_sided == pytest.approx(by_scores.p_two_sided)


def test_swapping_recipes_turns_the_interval_round() -> None:
    first, second = np.random.default_rng(3).random((2, 5, 60)) < 0.5
    result, swapped = compare_recipes(first, second), compare_recipes(second, first)
    assert swapped.p_two_sided == pytest.approx(result.p_two_sided)
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low))
    assert compare_recipes(first, first).p_two_sided == pytest.approx(1)


def test_a_system_that_is_not_trained_has_no_seeds() -> None:
    rng = np.random.default_rng(4)
    first, fixed = rng.random((5, 200)) < 0.7, rng.random(200) < 0.5
    result = compare_recipes(first, fixed)
    assert result.num_seeds == (5, 0)
    assert result.difference == pytest.approx(first.mean() - fixed.mean())
    assert compare_recipes([1, 1], [0, 0]).shown_p() == "< 0.001"
    assert compare_recipes([1, 1], [1, 1]).p_two_sided == pytest.approx(1)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (np.zeros((1, 3)), np.zeros((2, 3)), "judged by one seed"),
        (np.zeros((2, 3)), np.zeros((2, 4)), "same sentences: 3 and 4"),
        (np.zeros((2, 0)), np.zeros((2, 0)), "non-empty"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2)), "non-empty"),
        (np.full((2, 3), np.nan), np.zeros((2, 3)), "finite"),
    ],
)
def test_recipes_that_cannot_be_compared(first: Any, second: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        compare_recipes(first, second)


def test_scores_that_cannot_be_compared() -> None:
    with pytest.raises(ConfigError, match="one seed"):
        compare_recipe_scores([0.5], [0.4, 0.6])
    for shaped in (np.zeros((2, 2)), np.zeros(0)):
        with pytest.raises(ConfigError, match=r"non-empty array \[seeds\]"):
            compare_recipe_scores(shaped, [0.4, 0.6])
    for odd in (np.nan, np.inf):
        with pytest.raises(ConfigError, match="finite"):
            compare_recipe_scores([0.4, 0.6], [0.5, odd])
    with pytest.raises(ConfigError, match="confidence"):
        compare_recipes([1, 0], [0, 1], confidence=1.0)
