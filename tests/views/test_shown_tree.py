"""What a view knows of a phrase."""

from __future__ import annotations

import pytest

from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from lexitree.views import shown_tree
from lexitree.views.shown_tree import node_words, phrase_text, shown_words, word_weights
from tests.views.labelled import labelled


def weighed(num_words: int) -> LabelledTree:
    tree = Tree.flat(["word"] * num_words)
    num_nodes = tree.num_nodes
    return labelled(
        tree,
        ("a",),
        [[1.0]] * num_nodes,
        heads=[0] * num_nodes,
        weights=[0.5] * num_nodes,
        weigh=lambda _: [1 / num_words] * num_words,
    )


def test_all_words_are_weighed() -> None:
    assert word_weights(weighed(4), 0) == dict.fromkeys(range(4), 0.25)


def test_of_a_very_long_phrase_the_head_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_tree, "MOST_WEIGHED_WORDS", 3)
    assert word_weights(weighed(4), 0) == {0: 0.5}


def test_a_word_and_a_model_without_heads_have_none() -> None:
    assert word_weights(weighed(4), 1) == {}
    assert word_weights(labelled(Tree.flat(["a", "b"]), ("a",), [[1.0]] * 3), 0) == {}


def test_shortened_phrases() -> None:
    tree = labelled(Tree.flat(list("abcdefg")), ("x",), [[1.0]] * 8)
    assert phrase_text(tree, 0, 7) == "a b c d e f g"
    assert phrase_text(tree, 0, 4) == "a b … f g"
    assert shown_words(tree, 3, 4) == ["c"]


def test_words_stand_at_their_nodes() -> None:
    assert node_words(labelled(Tree.flat(["a", "-LRB-"]), ("x",), [[1.0]] * 3)) == ["", "a", "("]
    dependent = DependencyTree.from_parents(["not", "bad", "-RRB-"], [1, -1, 1])
    assert node_words(labelled(dependent, ("x",), [[1.0]] * 3)) == ["bad", "not", ")"]
