from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from lexitree.arrays import NO_INDEX
from lexitree.errors import TreeError
from lexitree.trees.tree import Tree, child_slots
from tests.strategies import trees

#         S(NP(DT NN) VBZ)
EXAMPLE = Tree([2, 2, 0, 0, 0], ["S", "NP", "DT", "NN", "VBZ"], ["the", "film", "works"])


def test_layout_of_the_documented_example() -> None:
    assert EXAMPLE.parents.tolist() == [-1, 0, 1, 1, 0]
    assert EXAMPLE.spans == [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]
    assert EXAMPLE.depths.tolist() == [0, 1, 2, 2, 1]
    assert EXAMPLE.heights.tolist() == [2, 1, 0, 0, 0]
    assert EXAMPLE.leaves.tolist() == [2, 3, 4]
    assert EXAMPLE.children == ((1, 4), (2, 3), (), (), ())
    assert EXAMPLE.phrase(1) == ("the", "film")
    assert EXAMPLE.label == "S"
    assert EXAMPLE.is_binary
    assert child_slots(EXAMPLE).tolist() == [0, 0, 0, 1, 1]


def naive_layout(tree: Tree) -> dict[str, list[int]]:
    """The layout by recursion, as one would write it without care for depth."""
    arity = tree.arity.tolist()
    count = len(arity)
    found = {name: [0] * count for name in ("parents", "starts", "ends", "depths", "heights", "slots")}

    def walk(node: int, parent: int, slot: int, depth: int, start: int) -> tuple[int, int]:
        found["parents"][node], found["depths"][node], found["starts"][node] = parent, depth, start
        found["slots"][node] = slot
        after, end = node + 1, start + (arity[node] == 0)
        for child_slot in range(arity[node]):
            child = after
            after, end = walk(child, node, child_slot, depth + 1, end)
            found["heights"][node] = max(found["heights"][node], found["heights"][child] + 1)
        found["ends"][node] = end
        return after, end

    walk(0, NO_INDEX, 0, 0, 0)
    return found


@given(trees())
def test_layout_is_that_of_the_naive_recursion(tree: Tree) -> None:
    found = naive_layout(tree)
    for name in ("parents", "starts", "ends", "depths", "heights"):
        assert getattr(tree, name).tolist() == found[name]
    assert child_slots(tree).tolist() == found["slots"]
    assert tree.leaves.tolist() == [node for node in range(tree.num_nodes) if tree.arity[node] == 0]


@given(trees())
def test_spans_give_the_tree_back(tree: Tree) -> None:
    assert Tree.from_spans(tree.words, tree.spans, tree.labels) == tree


@given(trees())
def test_pickling_and_equality(tree: Tree) -> None:
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert again != tree.with_labels(["other"] * tree.num_nodes)
    assert tree != "a tree"


@pytest.mark.parametrize(
    "arity",
    [
        [],
        [1],
        [2, 0],
        [0, 0],
        [2, 0, 0, 0],
        [0, 2, 0, 0],
        [-1, 0],
        [3, -1, 0, 0],
        [[0]],
        [2**40],
        [-(2**40)],
        [2**31 - 1, 0],
        ["many"],
        [None],
        5,
    ],
)
def test_arrays_that_are_no_tree(arity: object) -> None:
    num_nodes = len(arity) if isinstance(arity, list) else 1
    with pytest.raises(TreeError):
        Tree(arity, ["x"] * num_nodes, ["w"] * num_nodes)  # type: ignore[arg-type]


def test_wrong_numbers_of_labels_and_words() -> None:
    with pytest.raises(TreeError, match="3 nodes but 2 labels"):
        Tree([2, 0, 0], ["a", "b"], ["x", "y"])
    with pytest.raises(TreeError, match="2 leaves but 3 words"):
        Tree([2, 0, 0], ["a", "b", "c"], ["x", "y", "z"])
    with pytest.raises(TreeError, match="must be valid text"):
        Tree([0], ["a"], [7])  # type: ignore[list-item]
    with pytest.raises(TreeError, match="must be valid text"):
        Tree([0], ["a"], ["\ud800"])


@pytest.mark.parametrize(
    ("spans", "problem"),
    [
        ([], "at least one node"),
        ([(0, 2), (0, 1)], "leaves but 2 words"),
        ([(0, 2), (1, 2), (0, 1)], "cross"),
        ([(0, 2), (0, 1), (0, 1), (1, 2)], None),
        ([(0, 2)], "need one span each"),
        ([(0, 0)], "empty or outside"),
        ([(0, 3)], "empty or outside"),
        ([(-1, 1)], "empty or outside"),
        ([(0, 1), (1, 2)], "outside of the sentence or its parent"),
        ([(0, 2), (0, 1), (0, 2), (1, 2)], "cross"),
        ([(0, 10**30)], "empty or outside"),
    ],
)
def test_spans_that_are_no_tree(spans: list[tuple[int, int]], problem: str | None) -> None:
    labels = ["x"] * len(spans)
    if problem is None:
        assert Tree.from_spans(["a", "b"], spans, labels).arity.tolist() == [2, 1, 0, 0]
        return
    with pytest.raises(TreeError, match=problem):
        Tree.from_spans(["a", "b"], spans, labels)


def test_a_tree_cannot_be_changed() -> None:
    given_arity = np.array([2, 0, 0], dtype=np.int32)
    tree = Tree(given_arity, "abc", ["x", "y"])
    given_arity[0] = 7
    assert tree.arity.tolist() == [2, 0, 0]
    for array in (tree.arity, tree.parents, tree.starts, tree.ends, tree.depths, tree.heights, tree.leaves):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_makers() -> None:
    assert Tree.leaf("film", "NN") == Tree([0], ["NN"], ["film"])
    assert Tree.flat(["a", "b"], "S") == Tree([2, 0, 0], ["S", "", ""], ["a", "b"])
    assert Tree.flat(["a"], "S") == Tree.leaf("a", "S")
    with pytest.raises(TreeError):
        Tree.flat([])
    assert "3 words" in repr(EXAMPLE)
    # What is known of the shape already goes along.
    layout = EXAMPLE.layout
    relabelled = EXAMPLE.with_labels("abcde")
    assert relabelled.labels == tuple("abcde")
    assert relabelled.layout is layout


def test_a_tree_never_changes() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        EXAMPLE.labels = ("X",) * EXAMPLE.num_nodes  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        EXAMPLE.arity[0] = 5


def test_a_number_of_children_is_whole() -> None:
    with pytest.raises(TreeError, match="not integers"):
        Tree([2.9, 0, 0], ["X"] * 3, ["a", "b"])
