"""Overlap with Collins' heads: by hand, at its bounds, and on real trees where they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import trees
from tests.tiny import tiny_model

from lexitree.errors import ConfigError, TreeError
from lexitree.trees.brackets import read_trees, tree_from_brackets
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree
from lexitree_paper.analyze.head_overlap import (
    agreements,
    binary_penn_tree,
    head_overlap,
    model_overlap,
    same_brackets,
)

DATA = Path(os.environ.get("LEXITREE_DATA") or "nowhere")
FILM = tree_from_brackets("(S (NP (DT the) (@NP (JJ old) (NN film))) (VP (VBZ works) (ADVP well)))")


def first_words(tree: Tree) -> np.ndarray:
    return tree.starts.astype(np.int64)


def test_by_hand() -> None:
    """Collins: works, film, film, works; the chance of a random walk is halved at each step down."""
    table = agreements(FILM, np.array([3, 1, 0, 1, 1, 2, 4, 3, 4]))
    assert table[:, 0].tolist() == [1, 0, 0, 0]
    assert table[:, 1].tolist() == [0, 0, 0, 1]
    assert table[:, 2].tolist() == [0, 1, 1, 0]
    assert table[:, 3].tolist() == [0.25, 0.25, 0.5, 0.5]
    found = head_overlap([FILM], [np.array([3, 1, 0, 1, 1, 2, 4, 3, 4])])
    assert (found.num_trees, found.all_phrases.num_phrases, found.whole_phrases.num_phrases) == (1, 4, 3)
    assert found.all_phrases.learned == 0.25
    assert found.whole_phrases.always_right == pytest.approx(1 / 3)
    assert (found.sentences.num_phrases, found.sentences.learned) == (1, 1.0)
    assert found.as_dict()["all_phrases"]["random_child"] == 0.375


@given(trees(binary=True))
def test_collins_agrees_with_collins_and_left_with_left(tree: Tree) -> None:
    exact = agreements(tree, head_words(tree).astype(np.int64))
    assert (exact[:, 0] == 1).all()
    left = agreements(tree, first_words(tree))
    assert np.array_equal(left[:, 0], left[:, 1])
    assert ((exact[:, 3] > 0) & (exact[:, 3] <= 0.5)).all()
    assert len(exact) == tree.num_words - 1


@given(trees())
def test_binarization_keeps_collins_heads(tree: Tree) -> None:
    for direction in ("left", "right", "head"):
        binary = binary_penn_tree(tree, direction)
        assert binary.is_binary
        assert binary.words == tree.words


def test_the_head_of_a_wide_phrase_survives() -> None:
    wide = tree_from_brackets("(S (NP (PRP We)) (VP (VBP love) (NP (DT this) (JJ old) (NN place))) (. .))")
    for direction in ("left", "right", "head"):
        binary = binary_penn_tree(wide, direction)
        assert binary.words[head_words(binary)[0]] == "love"
        assert head_overlap([binary], [first_words(binary)]).whole_phrases.num_phrases == 3


def test_chance_is_what_random_walks_give() -> None:
    rng = np.random.default_rng(0)
    children, depth = FILM.children, 4000
    target = FILM.leaves[head_words(FILM)[0]]
    hits = 0
    for _ in range(depth):
        node = 0
        while children[node]:
            node = children[node][rng.integers(2)]
        hits += int(node == target)
    assert hits / depth == pytest.approx(agreements(FILM, first_words(FILM))[0, 3], abs=0.03)


def test_trees_that_differ_are_left_out() -> None:
    other = tree_from_brackets("(2 (2 (2 (2 the) (2 old)) (2 film)) (2 (2 works) (2 well)))")
    like = FILM.with_labels(["3"] * FILM.num_nodes)
    assert list(same_brackets([FILM, FILM], [like, other])) == [FILM, None]
    with pytest.raises(TreeError, match="different numbers of trees"):
        list(same_brackets([FILM], [like, other]))


def test_nothing_to_count() -> None:
    found = head_overlap([Tree.leaf("word", "NN")], [np.zeros(1, dtype=np.int64)])
    assert (found.num_trees, found.all_phrases.num_phrases, found.all_phrases.learned) == (1, 0, 0.0)
    with pytest.raises(TreeError, match="binary"):
        agreements(tree_from_brackets("(S (A a) (B b) (C c))"), np.zeros(4, dtype=np.int64))


def test_the_heads_of_a_model() -> None:
    """A model with heads from the left overlaps exactly as often as always taking the left."""
    wide = tree_from_brackets("(S (NP (PRP We)) (VP (VBP love) (NP (DT this) (JJ old) (NN place))) (. .))")
    for method, column in (("L", "always_left"), ("R", "always_right")):
        found = model_overlap(tiny_model(head_method=method), [FILM, wide])
        assert found.num_trees == 2
        for row in found.rows():
            assert row.learned == getattr(row, column)


def test_a_model_without_heads() -> None:
    with pytest.raises(ConfigError, match="contree has no head words"):
        model_overlap(tiny_model("contree"), [FILM])


@pytest.mark.skipif(not (DATA / "sst").is_dir(), reason="LEXITREE_DATA does not lead to the corpora")
@pytest.mark.parametrize(("split", "num_left_out"), [("dev", 48), ("test", 80)])
def test_sst_with_penn_labels(split: str, num_left_out: int) -> None:
    pairs = (read_trees(DATA / "sst" / f"{split}.{ending}") for ending in ("tags", "txt"))
    kept = list(same_brackets(*pairs))
    assert kept.count(None) == num_left_out
    forest = [tree for tree in kept if tree is not None]
    assert all(tree.is_binary for tree in forest)
    found = head_overlap(forest, [head_words(tree).astype(np.int64) for tree in forest])
    assert found.all_phrases.learned == 1
    assert found.all_phrases.num_phrases == sum(tree.num_words - 1 for tree in forest)
    assert 0 < found.all_phrases.random_child < 0.5
