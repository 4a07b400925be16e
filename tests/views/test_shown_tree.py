"""What a view knows of a phrase."""

from __future__ import annotations

from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from lexitree.views.shown_tree import head_path, node_words, shown_words
from tests.views.labelled import labelled


def test_shortened_phrases() -> None:
    tree = labelled(Tree.flat(list("abcdefg")), ("x",), [[1.0]] * 8)
    assert shown_words(tree, 0, 7) == list("abcdefg")
    assert shown_words(tree, 0, 4) == ["a", "b", "…", "f", "g"]
    assert shown_words(tree, 3, 4) == ["c"]


def test_words_stand_at_their_nodes() -> None:
    assert node_words(labelled(Tree.flat(["a", "-LRB-"]), ("x",), [[1.0]] * 3)) == ["", "a", "("]
    dependent = DependencyTree.from_parents(["not", "bad", "-RRB-"], [1, -1, 1])
    assert node_words(labelled(dependent, ("x",), [[1.0]] * 3)) == ["bad", "not", ")"]


def test_thick_edges_lead_to_the_head() -> None:
    tree = tree_from_brackets("(3 (2 It) (3 (2 is) (3 (1 not) (0 bad))))")
    sentence = labelled(tree, tuple("01234"), [[0.2] * 5] * 7, heads=[3, 0, 3, 1, 3, 2, 3])
    assert [node for node, leads in enumerate(head_path(sentence)) if leads] == [0, 2, 4, 6]
