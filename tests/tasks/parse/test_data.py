"""Words that a treebank splits at hyphens, joined again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.tasks.parse.data import join_hyphens
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree


@pytest.mark.parametrize(
    ("split", "joined"),
    [
        (
            "(NP (ADJP (NN purpose) (HYPH -) (VBN built)) (NNS rooms))",
            "(NP (JJ purpose-built) (NNS rooms))",
        ),
        ("(NP (NN decision) (HYPH -) (VBG making))", "(NP (NN decision-making))"),
        ("(NP (DT a) (NN co) (: -) (NN worker))", "(NP (DT a) (NN co-worker))"),
        (
            "(NP (DT a) (RB on) (: -) (CC and) (: -) (RP off) (NN thing))",
            "(NP (DT a) (JJ on-and-off) (NN thing))",
        ),
        ("(ADJP (RB ill) (: -) (VBN founded))", "(ADJP (JJ ill-founded))"),
        ("(NP (NNP Square) (: -) (NNP Enix) (NN game))", "(NP (NNP Square-Enix) (NN game))"),
    ],
)
def test_words_are_joined(split: str, joined: str) -> None:
    assert tree_to_brackets(join_hyphens(tree_from_brackets(split))) == joined


@pytest.mark.parametrize(
    "brackets",
    [
        "(S (NP (PRP I)) (VP (VBP am) (ADJP (JJ late))) (: -) (S (NP (PRP you)) (VP (VBP wait))))",
        "(NP (NN end) (: -))",
        "(NP (: -) (NN end))",
        "(NP (NN a) (: --) (NN b))",
        "(NP (NN a) (: -) (, ,) (NN b))",
        "(NN word)",
    ],
)
def test_dashes_stay(brackets: str) -> None:
    tree = tree_from_brackets(brackets)
    assert join_hyphens(tree) is tree


@given(st.lists(st.sampled_from(["-", "a", "b", ",", "(S", ")"]), max_size=40))
def test_no_letter_is_lost(pieces: list[str]) -> None:
    tree = _tree_of(pieces)
    joined = join_hyphens(tree)
    assert "".join(joined.words) == "".join(tree.words)
    assert joined.num_words <= tree.num_words
    assert join_hyphens(joined) is joined


def _tree_of(pieces: list[str]) -> Tree:
    """A tree with a phrase for every pair of brackets that holds something; a word at the end keeps it from being empty."""
    text, depth = "(S", 0
    for piece in pieces:
        if piece == "(S":
            text, depth = text + " (S (X x)", depth + 1
        elif piece == ")":
            text, depth = text + (")" if depth else ""), max(depth - 1, 0)
        else:
            text += f" (: {piece})"
    return tree_from_brackets(text + ")" * depth + " (X x))")
