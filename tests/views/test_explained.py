"""What a view knows of a phrase."""

from __future__ import annotations

import pytest

from lexitree.trees.tree import Tree
from lexitree.views import explained
from lexitree.views.explained import ExplainedTree


def weighed(num_words: int) -> ExplainedTree:
    tree = Tree.flat(["word"] * num_words)
    num_nodes = tree.num_nodes
    return ExplainedTree(
        tree,
        tree.words,
        ("a",),
        [[1.0]] * num_nodes,
        head_index=[0] * num_nodes,
        head_weight=[0.5] * num_nodes,
        head_weights=lambda _: [1 / num_words] * num_words,
    )


def test_all_words_are_weighed() -> None:
    assert weighed(4).word_weights(0) == dict.fromkeys(range(4), 0.25)


def test_of_a_very_long_phrase_the_head_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explained, "MOST_WEIGHED_WORDS", 3)
    assert weighed(4).word_weights(0) == {0: 0.5}


def test_a_word_and_a_model_without_heads_have_none() -> None:
    assert weighed(4).word_weights(1) == {}
    tree = Tree.flat(["a", "b"])
    assert ExplainedTree(tree, tree.words, ("a",), [[1.0]] * 3).word_weights(0) == {}
