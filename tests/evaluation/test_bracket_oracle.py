"""Bracket scores of several guesses: two systems by the bootstrap, and the best of many candidates."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError, TreeError
from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import BracketScores, bracket_bootstrap, score_brackets
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.evaluation.bracket_cases import (
    FILM,
    flat,
    right_chain,
    tree_pairs,
)


def random_scores(seed: int, quality: float, num_sentences: int = 30) -> BracketScores:
    """A system that finds each of the phrases of some sentences with that probability."""
    rng = np.random.default_rng(seed)
    gold = [right_chain(int(size), "NP") for size in np.random.default_rng(0).integers(3, 12, num_sentences)]
    guess = [
        tree.with_labels([label if label == "NN" or rng.random() < quality else "X" for label in tree.labels])
        for tree in gold
    ]
    return score_brackets(gold, guess)


def test_the_bootstrap_of_f1_by_definition() -> None:
    first, second = random_scores(1, 0.8, 4), random_scores(2, 0.5, 4)

    def f1(scores: BracketScores, drawn: tuple[int, ...]) -> float:
        table, index = scores.sentences, list(drawn)
        return 2 * table.matched[index].sum() / (table.gold[index] + table.guessed[index]).sum()

    every = np.array([f1(first, drawn) - f1(second, drawn) for drawn in product(range(4), repeat=4)])
    result = bracket_bootstrap(first, second, num_resamples=40_000)
    assert result.difference == pytest.approx(first.f1 - second.f1, abs=1e-9)
    assert result.p_one_sided == pytest.approx((every < 0).mean() + (every == 0).mean() / 2, abs=0.01)
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(every, [0.025, 0.975])), abs=0.02)


def test_the_bootstrap_is_symmetric_and_sure_where_it_can_be() -> None:
    first, second = random_scores(1, 0.9), random_scores(2, 0.5)
    result, swapped = bracket_bootstrap(first, second), bracket_bootstrap(second, first)
    assert result.p_two_sided < 0.01
    assert result.low > 0
    assert (swapped.difference, swapped.low, swapped.high) == (-result.difference, -result.high, -result.low)
    assert bracket_bootstrap(first, first).p_two_sided == 1.0
    assert result == bracket_bootstrap(first, second)


def test_the_bootstrap_leaves_out_what_either_system_lacks() -> None:
    gold = [tree_from_brackets(FILM), flat(3), flat(4)]
    first = score_brackets(gold, [None, flat(3), flat(4)])
    second = score_brackets(gold, [gold[0], None, flat(4)])
    result = bracket_bootstrap(first, second, num_resamples=10)
    assert (result.num_sentences, result.difference) == (1, 0.0)


def test_systems_that_cannot_be_paired() -> None:
    with pytest.raises(ConfigError, match="same sentences"):
        bracket_bootstrap(random_scores(1, 0.5), random_scores(1, 0.5, 10))
    nothing = score_brackets([tree_from_brackets(FILM)], [None])
    with pytest.raises(ConfigError, match="no sentence"):
        bracket_bootstrap(nothing, nothing)
    with pytest.raises(ConfigError):
        bracket_bootstrap(nothing, nothing, confidence=1.0)


CANDIDATES = (
    "(S (DT the) (VP (NN film) (VBZ works)))",  # 1 of 2 and of 3
    "(S (NP (DT the) (NN film)) (X (VBZ works)))",  # 2 of 3
    "(S (X (DT the) (NN film)) (VP (VBZ works)))",  # as good, but later
)


def test_the_oracle_takes_the_best_candidate() -> None:
    gold = tree_from_brackets(FILM)
    candidates = [tree_from_brackets(text) for text in CANDIDATES]
    scores = oracle_score([gold, gold], [candidates, [gold]])
    assert scores.chosen.tolist() == [1, 0]
    assert (scores.best.overall.matched, scores.first.overall.matched) == (5, 4)
    # 1, 2 and 2 of 3 match, of 2, 3 and 3; and 3 of 3 in the other sentence.
    matched, guessed = 5 / 3 + 3, 8 / 3 + 3
    assert scores.random.precision == pytest.approx(matched / guessed)
    assert scores.random.recall == pytest.approx(matched / 6)
    assert scores.random.f1 == pytest.approx(2 * matched / (6 + guessed))
    assert json.loads(json.dumps(scores.as_dict()))["random"]["recall"] == scores.random.recall


def test_candidates_over_other_words() -> None:
    gold, other = tree_from_brackets(FILM), tree_from_brackets("(S (NN no))")
    with pytest.raises(TreeError, match="sentence 2: "):
        oracle_score([gold, gold], [[gold], [gold, other]])
    scores = oracle_score([gold, gold, gold], [[other, gold], [other], []], on_error="skip")
    assert scores.chosen.tolist() == [1, -1, -1]
    assert (scores.best.overall.num_errors, scores.best.overall.num_skipped) == (1, 1)
    assert (scores.first.overall.num_errors, scores.best.f1, scores.random.f1) == (2, 1.0, 1.0)


@given(st.lists(tree_pairs(), min_size=1, max_size=4))
@settings(max_examples=50)
def test_the_oracle_is_no_worse_for_any_sentence(pairs: list[tuple[Tree, Tree]]) -> None:
    gold = [pair[0] for pair in pairs]
    scores = oracle_score(gold, [[guess, tree] for tree, guess in pairs])
    assert scores.best.overall.matched == scores.best.overall.gold == scores.best.overall.guessed
    assert scores.first.f1 <= scores.best.f1
