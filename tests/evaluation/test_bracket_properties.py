"""What holds of the bracket scores of any trees, and of trees of any depth."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.evaluation.bracket_counts import Bracket, count_crossing, count_sentence
from lexitree.evaluation.bracket_score import score_brackets
from lexitree.trees.tree import Tree
from tests.evaluation.bracket_cases import (
    PUNCTUATED,
    right_chain,
    tree_pairs,
)
from tests.strategies import trees


@given(st.lists(trees(labels=PUNCTUATED), max_size=4), st.sampled_from(["gold", "own"]))
def test_a_tree_against_itself_is_perfect(sentences: list[Tree], tags: str) -> None:
    scores = score_brackets(sentences, sentences, tags=tags)
    overall = scores.overall
    assert overall.matched == overall.unlabelled == overall.gold == overall.guessed
    assert overall.num_right_tags == overall.num_words
    assert overall.num_complete == overall.num_uncrossed == overall.num_hardly_crossed == overall.num_valid
    assert overall.crossing == overall.num_errors == 0
    if overall.gold:
        assert overall.precision == overall.recall == overall.f1 == overall.unlabelled_f1 == 1.0
        assert {label.f1 for label in scores.by_label} == {1.0}
    if overall.num_valid:
        assert overall.tagging_accuracy == overall.complete_match == overall.no_crossing == 1.0


@given(st.lists(tree_pairs(), max_size=3), st.sampled_from(["gold", "own"]))
def test_swapping_gold_and_guess_swaps_precision_and_recall(
    pairs: list[tuple[Tree, Tree]], tags: str
) -> None:
    gold, guess = ([pair[side] for pair in pairs] for side in (0, 1))
    one = score_brackets(gold, guess, tags=tags).overall
    other = score_brackets(guess, gold, tags=tags).overall
    assert (one.precision, one.recall) == (other.recall, other.precision)
    for name in ("f1", "unlabelled_f1", "complete_match", "tagging_accuracy", "no_crossing"):
        assert getattr(one, name) == getattr(other, name)


def with_comma(draw: st.DrawFn, tree: Tree, word: int) -> Tree:
    """The tree with a comma before a word, as a sister of any of the phrases that start with it."""
    nodes = np.flatnonzero(tree.starts == word)
    node = draw(st.sampled_from(nodes.tolist()))
    arity, labels, words = tree.arity.tolist(), list(tree.labels), list(tree.words)
    words.insert(word, ",")
    if node == 0:
        return Tree([2, 0, *arity], ["TOP", ",", *labels], words)
    arity[tree.parents[node]] += 1
    arity.insert(node, 0)
    labels.insert(node, ",")
    return Tree(arity, labels, words)


@st.composite
def punctuated_pairs(draw: st.DrawFn) -> tuple[tuple[Tree, Tree], tuple[Tree, Tree]]:
    """Two trees, and the same with a comma at the same place among the words but not in the trees."""
    gold, guess = draw(tree_pairs())
    word = draw(st.integers(0, gold.num_words - 1))
    return (gold, guess), (with_comma(draw, gold, word), with_comma(draw, guess, word))


@given(punctuated_pairs(), st.sampled_from(["gold", "own"]))
def test_punctuation_leaves_the_scores_alone(
    pairs: tuple[tuple[Tree, Tree], tuple[Tree, Tree]], tags: str
) -> None:
    before, after = (score_brackets([gold], [guess], tags=tags) for gold, guess in pairs)
    assert after.overall == before.overall
    assert after.by_label == before.by_label


@given(st.lists(tree_pairs(), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_does_not_matter(pairs: list[tuple[Tree, Tree]], random: Random) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one, other = (
        score_brackets([gold for gold, _ in order], [guess for _, guess in order])
        for order in (pairs, shuffled)
    )
    assert (one.overall, one.short, one.by_label, one.by_length()) == (
        other.overall, other.short, other.by_label, other.by_length()
    )  # fmt: skip


@given(tree_pairs())
def test_the_parts_add_up(pair: tuple[Tree, Tree]) -> None:
    scores = score_brackets([pair[0]], [pair[1]])
    for name in ("matched", "gold", "guessed"):
        total = getattr(scores.overall, name)
        assert total == sum(getattr(label, name) for label in scores.by_label)
        assert total == sum(getattr(part.score, name) for part in scores.by_length())
        assert total == getattr(scores.sentences, name).sum()
    assert scores.overall.matched <= scores.overall.unlabelled
    assert scores.overall.crossing <= scores.overall.guessed - scores.overall.unlabelled


def crosses(one: Bracket, other: Bracket) -> bool:
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


@given(tree_pairs())
def test_crossing_by_definition(pair: tuple[Tree, Tree]) -> None:
    gold, guess = ([Bracket(start, end, "") for start, end in tree.spans] for tree in pair)
    expected = sum(any(crosses(one, other) for other in gold) for one in guess)
    assert count_crossing(gold, guess, pair[0].num_words) == expected


def left_chain(depth: int) -> Tree:
    return Tree([2] * depth + [0] * (depth + 1), ["NP"] * depth + ["NN"] * (depth + 1), ["w"] * (depth + 1))


def unary_chain(depth: int) -> Tree:
    return Tree([1] * depth + [0], ["NP"] * depth + ["NN"], ["w"])


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        (
            lambda depth: right_chain(depth, "NP"),
            lambda depth: right_chain(depth, "NP"),
            lambda depth: (depth, 0),
        ),
        (lambda depth: right_chain(depth, "NP"), left_chain, lambda depth: (1, depth - 1)),
        (unary_chain, unary_chain, lambda depth: (depth, 0)),
    ],
)
def test_chains_of_any_depth_take_linear_time(
    gold: Callable[[int], Tree], guess: Callable[[int], Tree], expected: Callable[[int], tuple[int, int]]
) -> None:
    def seconds(depth: int) -> float:
        pair = gold(depth), guess(depth)
        start = time.process_time()
        counts = count_sentence(*pair)
        assert (counts.matched, counts.crossing) == expected(depth)
        return time.process_time() - start

    small, large = min(seconds(2_000) for _ in range(3)), min(seconds(20_000) for _ in range(2))
    # Ten times the size; quadratic time would be a hundred times as much.
    assert large < 40 * small + 0.08
