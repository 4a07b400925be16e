"""Long sentences are cut after punctuation, and the trees of the pieces joined."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from lexitree.parsers.neural import join_candidates, join_trees
from lexitree.parsers.protocol import Candidate
from lexitree.text.bounded_text import cut_sentence
from lexitree.trees.binarize import to_binary
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree


@given(st.lists(st.sampled_from(["a", "b", ",", "."]), min_size=1, max_size=60), st.integers(2, 12))
def test_pieces_hold_all_words_in_order(words: list[str], max_words: int) -> None:
    pieces = cut_sentence(words, max_words)
    assert list(itertools.chain(*pieces)) == words
    assert all(1 <= len(piece) <= max_words for piece in pieces)
    assert all(len(piece) >= max_words / 2 for piece in pieces[:-1])


def test_the_cut_falls_after_the_best_mark() -> None:
    assert cut_sentence(["a", "b", "c", ".", "d", "e", ",", "f", "g"], 8) == [
        ["a", "b", "c", ".", "d", "e", ","],
        ["f", "g"],
    ]
    assert cut_sentence(["a", "b", "c", ",", "d", ".", "e", ",", "f", "g"], 8)[0] == [
        "a",
        "b",
        "c",
        ",",
        "d",
        ".",
    ]
    # Of several marks that are equally good, the last leaves the fewest words for the next piece.
    assert cut_sentence(["a", "b", "c", "d", ",", "e", ",", "f", "g"], 8)[1] == ["f", "g"]
    assert cut_sentence(["a"] * 5, 4) == [["a"] * 4, ["a"]]
    assert cut_sentence(["a"] * 4, 4) == [["a"] * 4]


def test_trees_are_joined_below_a_sentence() -> None:
    trees = [tree_from_brackets("(NP (DT the) (NN dog))"), Tree.leaf(".", ".")]
    assert tree_to_brackets(join_trees(trees)) == "(S (NP (DT the) (NN dog)) (. .))"
    assert join_trees(trees[:1]) == trees[0]


def test_the_trees_of_many_pieces_are_joined_in_groups() -> None:
    """Otherwise a sentence of 100,000 words would be a chain of hundreds of phrases once it is binarized."""
    flat = join_trees([Tree.leaf("a", "A")] * 64)
    assert flat.arity.tolist() == [64] + [0] * 64
    joined = join_trees([Tree.leaf("a", "A")] * 4_097)
    assert joined.words == ("a",) * 4_097
    assert int(joined.heights[0]) == 3
    assert int(to_binary(joined).tree.heights[0]) < 200


def test_the_best_ways_to_choose_among_pieces() -> None:
    first = [Candidate(Tree.leaf("a", "A"), -0.1), Candidate(Tree.leaf("a", "B"), -1.0)]
    second = [Candidate(Tree.leaf("b", "C"), -0.2), Candidate(Tree.leaf("b", "D"), -0.5)]
    joined = join_candidates([first, second], 3)
    assert [tree_to_brackets(candidate.tree) for candidate in joined] == [
        "(S (A a) (C b))",
        "(S (A a) (D b))",
        "(S (B a) (C b))",
    ]
    assert [round(candidate.log_probability, 6) for candidate in joined] == [-0.3, -0.6, -1.2]
