"""A comparison puts the analyses together and is JSON as a whole."""

from __future__ import annotations

import json

import pytest
from tests.evaluation.systems import made_up_system

from lexitree.errors import ConfigError
from lexitree.evaluation.significance import compare_recipes, paired_bootstrap
from lexitree_paper.analyze.comparison import compare_systems

GOLD = [0, 1, 2, 0, 1, 2, 0, 1]
BASELINE = made_up_system("base", GOLD, [[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1, 1, 1]])
BETTER = made_up_system("better", GOLD, [[0, 1, 2, 0, 1, 2, 1, 0]])
SAME = made_up_system("same", GOLD, [[0, 1, 2, 0, 1, 2, 1, 0]])


def test_everything_is_compared_with_the_first() -> None:
    found = compare_systems([BASELINE, BETTER, SAME], num_examples=1, num_resamples=500)
    assert [(pair.system, pair.baseline) for pair in found.pairs] == [("better", "base"), ("same", "base")]
    pair = found.pairs[0]
    assert pair.significance == paired_bootstrap(BETTER.correct, BASELINE.correct, num_resamples=500)
    assert pair.significance.difference == pytest.approx(BETTER.accuracy - BASELINE.accuracy)
    assert pair.recipes is None, "a recipe cannot be judged by one seed"
    assert (pair.agreement.first, pair.agreement.second) == ("better", "base")
    assert [example.winner for example in (*pair.won, *pair.lost)] == ["better", "base"]
    assert found.systems[0].seed_accuracies == [0.5, 0.5]
    assert [score.name for score in found.systems] == ["base", "better", "same"]
    assert len(found.classes) == 3
    values = json.loads(json.dumps(found.as_dict()))
    assert values["num_sentences"] == 8
    assert values["lengths"][0]["accuracies"]["better"] == 0.75
    assert values["pairs"][1]["significance"] == values["pairs"][0]["significance"]


def test_recipes_are_compared_if_both_have_several_seeds() -> None:
    other = made_up_system("other", GOLD, [[0, 1, 2, 0, 1, 2, 1, 0], [0, 1, 2, 0, 1, 2, 0, 1]])
    (pair,) = compare_systems([BASELINE, other], num_resamples=100).pairs
    assert pair.recipes == compare_recipes(other.correct, BASELINE.correct)


def test_one_system_is_no_comparison() -> None:
    with pytest.raises(ConfigError, match="two systems"):
        compare_systems([BASELINE])
