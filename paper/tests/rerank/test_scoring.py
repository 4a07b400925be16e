"""The weight of the parser's score: chosen on development lists, by whole neighbourhoods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.evaluation.bracket_counts import SentenceCounts
from lexitree_paper.rerank.examples import GoldCounts
from lexitree_paper.rerank.scores import score_choices
from lexitree_paper.rerank.scoring import WEIGHTS, ScoredList, choose_weight, rank_places, weight_f1


def make_counts(matched: list[int]) -> GoldCounts:
    """Candidates of ten brackets each, as many as the gold tree has."""
    sentences = tuple(SentenceCounts("valid", 12, matched=number, gold=10, guessed=10) for number in matched)
    return GoldCounts(sentences, np.array(matched), np.full(len(matched), 10))


def make_list(tree_scores: list[float], base_scores: list[float], matched: list[int]) -> ScoredList:
    return ScoredList(np.array(tree_scores), np.array(base_scores), make_counts(matched))


def test_totals_decide_then_the_parser_then_the_place() -> None:
    assert rank_places(np.array([1.0, 2.0]), np.array([0.0, -1.0])) == [1, 0]
    assert rank_places(np.array([1.0, 1.0]), np.array([-1.0, 0.0])) == [1, 0]
    assert rank_places(np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0])) == [0, 1, 2]


def test_the_side_that_is_right_gets_its_way() -> None:
    right_model = [make_list([0, -3], [-1, 0], [10, 5]) for _ in range(5)]
    assert choose_weight(right_model).weight < 3
    right_parser = [make_list([0, -3], [-1, 0], [5, 10]) for _ in range(5)]
    choice = choose_weight(right_parser)
    assert choice.weight > 3
    assert choice.f1 == 1.0


def test_a_tie_goes_to_the_parser() -> None:
    same = [make_list([0, -3], [0, -1], [7, 5])]
    assert choose_weight(same).weight == max(WEIGHTS)


def test_a_weight_that_is_good_by_chance_stands_alone() -> None:
    weights = [float(number) for number in range(21)]
    # The second candidate wins from 3 on, and the third from 4 on: at 3 alone the best tree is chosen.
    lucky = [make_list([0, -2.5, -6.4], [-2, -1, 0], [8, 10, 8])]
    scores = [weight_f1(lucky, weight) for weight in weights]
    assert scores.index(max(scores)) == 3
    steady = [make_list([0, -12.5], [-1, 0], [8, 9])]
    choice = choose_weight([*lucky, *steady], weights)
    assert choice.weight > 12


@given(
    st.lists(
        st.lists(st.tuples(st.floats(-9, 0), st.floats(-9, 0), st.integers(0, 10)), min_size=1, max_size=4),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(WEIGHTS),
)
@settings(max_examples=60)
def test_scores_lie_between_their_bounds(rows: list[list[tuple[float, float, int]]], weight: float) -> None:
    lists = [
        make_list([row[0] for row in each], [row[1] for row in each], [row[2] for row in each])
        for each in rows
    ]
    scores = score_choices(lists, [each.choose(weight) for each in lists], num_resamples=50)
    assert scores.chosen.f1 == pytest.approx(weight_f1(lists, weight))
    assert scores.chosen.f1 <= scores.bounds.best.f1
    assert scores.bounds.random.f1 <= scores.bounds.best.f1
    assert scores.gap_closed <= 1
    first = score_choices(lists, [int(np.argmax(each.base_scores)) for each in lists], num_resamples=50)
    assert first.gap_closed == pytest.approx(0)
    assert first.significance.p_two_sided == 1


def test_lists_without_gold_trees_cannot_be_scored() -> None:
    scored = ScoredList(np.zeros(1), np.zeros(1), None)
    with pytest.raises(ConfigError, match="gold"):
        score_choices([scored], [0])
    with pytest.raises(ConfigError, match="no lists"):
        score_choices([], [])
