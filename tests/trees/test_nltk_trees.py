from __future__ import annotations

import sys

import pytest
from hypothesis import given

from lexitree.errors import MissingExtraError, TreeError
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.nltk_trees import tree_from_nltk, tree_to_nltk
from lexitree.trees.tree import Tree
from tests.strategies import any_text, trees

nltk = pytest.importorskip("nltk")


@given(trees(labels=any_text(), words=any_text()))
def test_nltk_gives_the_tree_back(tree: Tree) -> None:
    assert tree_from_nltk(tree_to_nltk(tree)) == tree


@given(trees())
def test_both_read_the_same_brackets(tree: Tree) -> None:
    text = tree_to_brackets(tree)
    theirs = nltk.Tree.fromstring(text, leaf_pattern=r"[^() \t\r\n]+", node_pattern=r"[^() \t\r\n]+")
    assert tree_from_nltk(theirs) == tree
    assert tree_to_nltk(tree) == theirs


@pytest.mark.parametrize("text", ["(S a b)", "(S (NP a) b (VP c))", "(S (NP (NN a)))", "(NN a)"])
def test_their_trees_come_back_as_they_were(text: str) -> None:
    theirs = nltk.Tree.fromstring(text)
    assert tree_to_nltk(tree_from_nltk(theirs)) == theirs
    assert tree_from_nltk(theirs) == tree_from_brackets(text)


def test_kinds_of_trees() -> None:
    text = "(S (NP (DT the) (NN film)) (VBZ works))"
    for kind in (nltk.Tree, nltk.ParentedTree, nltk.ImmutableTree):
        assert tree_from_nltk(kind.fromstring(text)) == tree_from_brackets(text)


def test_what_has_no_place_in_a_tree() -> None:
    with pytest.raises(TreeError, match="'NP' without words"):
        tree_from_nltk(nltk.Tree("S", [nltk.Tree("NP", []), "a"]))
    with pytest.raises(TreeError, match="contains a tuple instead of a tree or a word"):
        tree_from_nltk(nltk.Tree("S", [("a", "DT"), ("b", "NN")]))
    with pytest.raises(TreeError, match="label that is not a string: 7"):
        tree_from_nltk(nltk.Tree(7, ["a"]))
    with pytest.raises(TreeError, match="NoneType"):
        tree_from_nltk(None)  # type: ignore[arg-type]


def test_a_tree_that_holds_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexitree.trees.nltk_trees.MAX_NODES", 1000)
    circle = nltk.Tree("S", ["a"])
    circle.append(circle)
    with pytest.raises(TreeError, match="contains itself"):
        tree_from_nltk(circle)


def test_without_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tree", None)
    with pytest.raises(MissingExtraError, match=r"\[nltk\]"):
        tree_to_nltk(Tree.leaf("a"))


def test_a_chain_of_50_000_words() -> None:
    num_words = 50_000
    chain = Tree([2] * (num_words - 1) + [0] * num_words, ["x"] * (2 * num_words - 1), ["w"] * num_words)
    assert tree_from_nltk(tree_to_nltk(chain)) == chain
