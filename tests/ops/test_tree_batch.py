"""TreeBatch: the schedule says what the trees say, in both directions, and can be taken apart again."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.arrays import NO_INDEX
from lexitree.errors import TreeError
from lexitree.ops.tree_batch import TreeBatch, fill_batch
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from tests.strategies import dependency_trees, trees


def batch_with_words(forest: list[Tree]) -> TreeBatch:
    """A batch whose word and label numbers are distinct, so that a mix-up shows."""
    words = [np.arange(tree.num_words) + 1000 * number for number, tree in enumerate(forest)]
    labels = [np.arange(tree.num_nodes) + 1000 * number for number, tree in enumerate(forest)]
    return TreeBatch.from_trees(forest, words, labels)


def test_docstring_example() -> None:
    batch = TreeBatch.from_trees([tree_from_brackets("(X a b)"), tree_from_brackets("(X c (X d e))")])
    assert batch.level_sizes == (5, 2, 1)
    assert batch.depth_sizes == (2, 4, 2)
    assert batch.children_index.tolist() == [0, 1, 3, 4, 2, 6]
    assert batch.children_offset.tolist() == [0, 2, 4, 6]
    assert batch.root_index.tolist() == [5, 7]
    assert batch.down_order.tolist() == [5, 7, 0, 1, 2, 6, 3, 4]
    assert batch.down_parent_index.tolist() == [0, 0, 1, 1, 5, 5]


forests = st.lists(trees(max_words=9), max_size=5)


@given(forests)
def test_split_gives_back_every_tree(forest: list[Tree]) -> None:
    batch = batch_with_words(forest)
    labels = batch.split(batch.label_index)
    assert [part.tolist() for part in labels] == [
        [node + 1000 * number for node in range(tree.num_nodes)] for number, tree in enumerate(forest)
    ]
    starts = batch.split(batch.span_start)
    first_words = np.cumsum([0, *(tree.num_words for tree in forest)])
    for tree, start, first in zip(forest, starts, first_words, strict=False):
        assert (start - int(first)).tolist() == tree.starts.tolist()


@given(forests)
def test_leaves_come_first_in_the_order_of_the_words(forest: list[Tree]) -> None:
    batch = batch_with_words(forest)
    expected = [word + 1000 * number for number, tree in enumerate(forest) for word in range(tree.num_words)]
    assert batch.word_index.tolist() == expected
    leaves = slice(0, batch.num_leaves)
    assert batch.span_start[leaves].tolist() == list(range(batch.num_leaves))
    assert batch.span_end[leaves].tolist() == list(range(1, batch.num_leaves + 1))


@given(forests)
def test_children_are_those_of_the_trees_and_stand_on_lower_levels(forest: list[Tree]) -> None:
    batch = batch_with_words(forest)
    offset = batch.children_offset.tolist()
    name = batch.label_index.tolist()
    found = {
        name[node]: [
            name[child] for child in batch.children_index[offset[inner] : offset[inner + 1]].tolist()
        ]
        for inner, node in enumerate(range(batch.num_leaves, batch.num_nodes))
    }
    expected = {
        node + 1000 * number: [child + 1000 * number for child in children]
        for number, tree in enumerate(forest)
        for node, children in enumerate(tree.children)
        if children
    }
    assert found == expected
    level = torch.repeat_interleave(torch.tensor(batch.level_sizes or [0]))
    parents = torch.repeat_interleave(
        torch.arange(batch.num_leaves, batch.num_nodes), torch.diff(batch.children_offset)
    )
    assert (level[batch.children_index] < level[parents]).all()


@given(forests)
def test_down_order_keeps_siblings_together_below_their_parent(forest: list[Tree]) -> None:
    batch = batch_with_words(forest)
    name = batch.label_index[batch.down_order].tolist()
    for place, parent in enumerate(batch.down_parent_index.tolist(), start=batch.num_trees):
        number, node = divmod(name[place], 1000)
        assert forest[number].parents[node] + 1000 * number == name[parent]
    assert all(
        forest[name[place] // 1000].parents[name[place] % 1000] == NO_INDEX
        for place in range(batch.num_trees)
    )
    assert batch.down_order[batch.up_to_down].tolist() == list(range(batch.num_nodes))
    assert sum(batch.depth_sizes) == sum(batch.level_sizes) == batch.num_nodes


@given(st.lists(trees(max_words=9, binary=True), min_size=1, max_size=4))
@settings(max_examples=30)
def test_binary_levels_are_pairs(forest: list[Tree]) -> None:
    batch = batch_with_words(forest)
    assert batch.is_binary
    for start, end in batch.depth_levels():
        parents = batch.down_parent_index[start - batch.num_trees : end - batch.num_trees]
        assert parents[::2].tolist() == parents[1::2].tolist()


def test_an_empty_batch_is_a_batch() -> None:
    batch = TreeBatch.from_trees([])
    assert (batch.num_trees, batch.num_nodes, batch.num_leaves) == (0, 0, 0)
    assert batch.levels() == batch.depth_levels() == batch.split(batch.label_index) == []


def test_all_tensors_share_one_buffer() -> None:
    batch = batch_with_words([tree_from_brackets("(X a (X b c d))")])
    assert not batch.is_binary
    first, last = batch.buffer.data_ptr(), batch.buffer.data_ptr() + batch.buffer.nbytes
    for tensor in (batch.word_index, batch.children_offset, batch.down_parent_index, batch.preorder_index):
        assert first <= tensor.data_ptr() <= last
    moved = batch.to("meta")
    assert moved.device.type == "meta"
    assert moved.children_index.shape == batch.children_index.shape
    assert batch.to("cpu") is batch


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_batch_moves_to_a_device_and_back() -> None:
    batch = batch_with_words([tree_from_brackets("(X a (X b c))")])
    assert torch.equal(batch.to("cuda").to("cpu").buffer, batch.buffer)


@given(st.lists(dependency_trees(max_words=7), min_size=1, max_size=4))
def test_dependency_trees_have_a_word_at_every_node(forest: list[DependencyTree]) -> None:
    batch = batch_with_words(forest)
    assert batch.num_leaves == sum(int((tree.arity == 0).sum()) for tree in forest)
    assert batch.num_leaves == batch.level_sizes[0] == int(batch.counts[0])
    for number, (tree, words) in enumerate(zip(forest, batch.split(batch.node_word_index), strict=True)):
        assert (words - 1000 * number).tolist() == tree.word_of.tolist()


@given(forests)
def test_phrases_have_no_words_of_their_own(forest: list[Tree]) -> None:
    batch = batch_with_words(forest)
    assert len(batch.inner_word_index) == 0
    assert batch.node_word_index is batch.word_index


def test_the_words_of_dependency_trees_are_numbered_through() -> None:
    forest = [DependencyTree.from_parents("abc", [1, 2, -1]), DependencyTree.from_parents("de", [-1, 0])]
    batch = TreeBatch.from_trees(forest)
    assert [part.tolist() for part in batch.split(batch.node_word_index)] == [[2, 1, 0], [3, 4]]


def test_the_two_kinds_of_trees_do_not_mix() -> None:
    forest = [Tree.leaf("a"), DependencyTree.from_parents(["a"], [-1])]
    with pytest.raises(TreeError, match="dependency trees or constituency trees, not both"):
        TreeBatch.from_trees(forest)


@given(st.lists(trees(max_words=9), min_size=1, max_size=5), st.integers(1, 4))
def test_targets_stand_at_their_nodes_in_the_one_buffer(forest: list[Tree], num_scores: int) -> None:
    rng = np.random.default_rng(0)
    targets = [rng.random((tree.num_nodes, num_scores), dtype=np.float32) for tree in forest]
    batch = TreeBatch.from_trees(forest, targets=targets)
    assert batch.targets is not None
    for part, given_part in zip(batch.split(batch.targets), targets, strict=True):
        # Exactly: they are held with more digits than they came with.
        assert np.array_equal(part.float().numpy(), given_part)
    moved = batch.on(batch.buffer.clone())
    assert moved.targets is not None
    assert torch.equal(moved.targets, batch.targets)
    batch.buffer.zero_()
    assert not batch.targets.any()


def test_filled_nodes_have_no_targets() -> None:
    forest = [tree_from_brackets("(X a b)"), tree_from_brackets("(X c (X d e))")]
    targets = [np.full((tree.num_nodes, 3), 1 / 3, dtype=np.float32) for tree in forest]
    batch = fill_batch(TreeBatch.from_trees(forest, targets=targets), 8, 6, 4)
    assert batch.targets is not None
    assert batch.targets.any(1).tolist() == [True] * 5 + [False] * 3 + [True] * 3 + [False] * 3


def test_without_targets_there_are_none() -> None:
    assert TreeBatch.from_trees([tree_from_brackets("(X a b)")]).targets is None
    assert TreeBatch.from_trees([]).targets is None
