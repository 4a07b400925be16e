"""Trees become spans and exactly trees again: random ones, and those of the real treebanks where they are."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import LabelError, TreeError
from lexitree.parsers.penn_spans import (
    NO_PHRASE,
    clean_trees,
    derive,
    without_root,
)
from lexitree.tasks.parse.data import read_named_trees
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.flat_parses import SentenceParse
from lexitree.trees.tree import Tree
from tests.strategies import any_text, trees

LABELS = any_text().filter(lambda label: "+" not in label)


@given(trees(max_words=15))
def test_spans_restore_random_trees(tree: Tree) -> None:
    assert SentenceParse.of(tree).tree(tree.words) == tree


@given(trees(labels=LABELS, words=any_text()))
def test_spans_restore_trees_with_any_labels_and_words(tree: Tree) -> None:
    assert SentenceParse.of(tree).tree(tree.words) == tree


@given(trees(max_words=15))
def test_a_derivation_is_a_binary_tree(tree: Tree) -> None:
    numbers = dict.fromkeys(SentenceParse.of(tree).labels.phrases, 1)
    starts, widths, labels = derive(tree, numbers)
    spans = list(zip(starts.tolist(), widths.tolist(), strict=True))
    assert len(spans) == len(set(spans)) == 2 * tree.num_words - 1
    assert Counter(width for _, width in spans)[1] == tree.num_words
    assert int((labels != NO_PHRASE).sum()) == len(SentenceParse.of(tree).phrases)


def test_chains_are_joined_and_wide_phrases_split_from_the_left() -> None:
    tree = tree_from_brackets("(S (NP (DT the) (JJ big) (NN dog)) (VP (S (VP (VBZ barks)))))")
    parse = SentenceParse.of(tree)
    assert parse.phrases.tolist() == [[0, 4, 0], [0, 3, 1], [3, 4, 2]]
    assert parse.labels.phrases == ("S", "NP", "VP+S+VP")
    assert parse.labels.tags == ("DT", "JJ", "NN", "VBZ")
    derivation = derive(tree, {"S": 1, "NP": 2, "VP+S+VP": 3})
    entries = set(zip(*(array.tolist() for array in derivation), strict=True))
    assert entries == {(0, 4, 1), (0, 3, 2), (0, 2, 0), (3, 1, 3), (0, 1, 0), (1, 1, 0), (2, 1, 0)}


def test_what_stands_above_a_sentence_is_taken_off() -> None:
    assert without_root(tree_from_brackets("(ROOT (S (NN a) (NN b)))")).label == "S"
    assert without_root(tree_from_brackets("(TOP (S1 (NN a)))")) == Tree.leaf("a", "NN")
    several = tree_from_brackets("(ROOT (NP (NN a)) (NP (NN b)))")
    assert without_root(several) == several


def test_traces_and_function_tags_are_taken_off() -> None:
    tree = tree_from_brackets("(ROOT (S (NP-SBJ (-NONE- *)) (VP=2 (VB go))))")
    nothing = tree_from_brackets("(S (NP (-NONE- *)))")
    assert list(clean_trees([tree, nothing])) == [tree_from_brackets("(S (VP (VB go)))")]


def test_a_label_with_the_joint_is_an_error() -> None:
    with pytest.raises(TreeError, match="joins the labels"):
        derive(tree_from_brackets("(S+VP (NN a) (NN b))"), {})


def test_an_unknown_label_is_an_error() -> None:
    with pytest.raises(LabelError, match="'NP'"):
        derive(tree_from_brackets("(NP (NN a) (NN b))"), {"S": 1})


def test_a_dependency_tree_is_an_error() -> None:
    with pytest.raises(TreeError, match="dependency tree"):
        SentenceParse.of(DependencyTree.from_parents(["a", "b"], [1, -1]))


@given(st.integers(1, 6))
def test_a_chain_over_a_word(depth: int) -> None:
    tree = Tree([1] * depth + [0], ["X"] * depth + ["NN"], ["a"])
    assert SentenceParse.of(tree).tree(tree.words) == tree


REAL = Path(os.environ.get("LEXITREE_DATA", "no data")) / "treebanks"


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the treebanks under $LEXITREE_DATA")
@pytest.mark.parametrize(
    "path",
    # The largest is as long as all the others together.
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem == "gum.train" else [])
        for path in sorted(REAL.glob("*.txt"))
    ],
)
def test_spans_restore_all_real_trees(path: Path) -> None:
    num_trees = 0
    for tree in clean_trees(read_named_trees(path)):
        parse = SentenceParse.of(tree)
        assert parse.tree(tree.words) == tree
        numbers = dict.fromkeys(parse.labels.phrases, 1)
        assert len(derive(tree, numbers).starts) == 2 * tree.num_words - 1
        num_trees += 1
    assert num_trees >= 1000
