from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.statistics import tree_statistics
from lexitree.trees.tree import Tree
from tests.strategies import trees


def test_two_trees() -> None:
    forest = [tree_from_brackets("(S (NP (DT the) (NN film)) (VP (V is)))"), tree_from_brackets("(S the)")]
    found = tree_statistics(iter(forest))
    assert found.as_dict() == {
        "num_trees": 2,
        "num_nodes": 7,
        "num_phrases": 3,
        "num_words": 4,
        "num_word_types": 3,
        "mean_length": 2.0,
        "max_length": 3,
        "mean_depth": 1.0,
        "max_depth": 2,
        "unary_share": 1 / 3,
        "binary_share": 2 / 3,
        "nary_share": 0.0,
        "label_counts": {"S": 2, "NP": 1, "DT": 1, "NN": 1, "VP": 1, "V": 1},
        "root_label_counts": {"S": 2},
        "arity_counts": {"0": 4, "1": 1, "2": 2},
        "length_counts": {"1": 1, "3": 1},
        "depth_counts": {"0": 1, "2": 1},
    }


def test_no_trees() -> None:
    found = tree_statistics([]).as_dict()
    assert found["num_trees"] == 0
    assert found["mean_length"] == 0
    assert found["max_depth"] == 0
    assert found["binary_share"] == 0


@given(st.lists(trees(), min_size=1, max_size=5))
def test_the_parts_add_up(forest: list[Tree]) -> None:
    found = tree_statistics(forest)
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
    assert found.label_counts == Counter(label for tree in forest for label in tree.labels)
    assert sum(found.arity_counts.values()) == found.num_nodes == sum(tree.num_nodes for tree in forest)
    assert sum(found.length_counts.values()) == sum(found.depth_counts.values()) == found.num_trees
    assert found.max_depth == max(tree.depths.max() for tree in forest)
    if found.num_phrases:
        assert abs(found.unary_share + found.binary_share + found.nary_share - 1) < 1e-9
