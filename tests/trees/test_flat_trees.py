"""Many trees as arrays: binarized all at once, they are the trees that are binarized one by one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.parsers.penn_spans import clean_trees
from lexitree.tasks.parse.data import read_named_trees
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.flat_trees import FlatTrees, binarize_parses, stable_order
from lexitree.trees.head_rules import STANFORD
from lexitree.trees.head_table import HeadTable
from lexitree.trees.tree import Tree
from tests.strategies import trees

LABELS = ("NP", "VP", "S", "CC", "CONJP", "PP", "NN", "JJ", ",", ".", "-NONE-", "X", "QP", "ADJP", "TO")
"""Labels of all kinds of rules, conjunctions and punctuation among them."""


def assert_same_trees(flat: FlatTrees, forest: Sequence[Tree], direction: Direction) -> None:
    for number, tree in enumerate(forest):
        expected = to_binary(tree, direction).tree
        assert flat.tree(number, tree.words) == expected
        nodes = slice(flat.first_node[number], flat.first_node[number + 1])
        first = flat.first_word[number]
        np.testing.assert_array_equal(flat.starts[nodes] - first, expected.starts)
        np.testing.assert_array_equal(flat.ends[nodes] - first, expected.ends)
        np.testing.assert_array_equal(flat.depths[nodes], expected.depths)
        np.testing.assert_array_equal(flat.heights[nodes], expected.heights)


@given(st.lists(trees(max_words=14, labels=LABELS), max_size=6), st.sampled_from(get_args(Direction)))
def test_many_trees_are_binarized_as_one_by_one(forest: list[Tree], direction: Direction) -> None:
    assert_same_trees(binarize_parses(FlatParses.of(forest), direction), forest, direction)


def test_a_coordination_is_headed_by_its_first_part() -> None:
    tree = tree_from_brackets("(NP (NN a) (, ,) (NN b) (CC and) (NN c) (. .))")
    assert_same_trees(binarize_parses(FlatParses.of([tree]), "head"), [tree], "head")


def test_labels_with_numbers_share_the_rows_of_a_table() -> None:
    labels = [f"NP-{number}" for number in range(300)]
    assert HeadTable.of(labels, labels, STANFORD).ranks.shape == (1, 1)


@given(st.lists(trees(max_words=8, labels=LABELS), min_size=1, max_size=6), st.data())
def test_some_of_many(forest: list[Tree], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(forest))), min_size=1, max_size=8))
    part = binarize_parses(FlatParses.of(forest), "head").take(np.array(chosen))
    assert_same_trees(part, [forest[number] for number in chosen], "head")


def test_large_numbers_are_sorted_too() -> None:
    values = np.array([40_000, 2, 40_000, 1])
    assert stable_order(values).tolist() == [3, 1, 0, 2]
    assert stable_order(values[:0]).tolist() == []


@given(st.lists(trees(max_words=10, labels=LABELS), min_size=1, max_size=4))
def test_a_sentence_has_its_own_parse(forest: list[Tree]) -> None:
    parses = FlatParses.of(forest)
    for number, tree in enumerate(forest):
        assert parses.sentence(number).tree(tree.words) == tree
        assert parses.sentence(number).brackets(tree.words) == str(tree)


REAL = Path(os.environ.get("LEXITREE_DATA", "no data")) / "treebanks"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the treebanks under $LEXITREE_DATA")
@pytest.mark.parametrize("path", sorted(REAL.glob("*.txt")), ids=lambda path: path.stem)
def test_every_treebank(path: Path) -> None:
    forest = list(clean_trees(read_named_trees(path)))
    parses = FlatParses.of(forest)
    for direction in get_args(Direction):
        assert_same_trees(binarize_parses(parses, direction), forest, direction)
