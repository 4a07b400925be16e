"""The layout says what the trees say, in both directions, and can be taken apart again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import TreeError
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from tests.strategies import dependency_trees, trees


def laid_out(forest: list[Tree]) -> TreeLayout:
    """A layout whose word and label numbers are distinct, so that a mix-up shows."""
    words = [np.arange(tree.num_words) + 1000 * number for number, tree in enumerate(forest)]
    labels = [np.arange(tree.num_nodes) + 1000 * number for number, tree in enumerate(forest)]
    return TreeLayout.from_trees(forest, words, labels)


def words_by_node(layout: TreeLayout) -> IndexArray:
    """The words of dependency trees, in up order."""
    return np.concatenate([layout.word_index, layout.inner_word_index])


def test_docstring_example() -> None:
    layout = TreeLayout.from_trees([tree_from_brackets("(X a b)"), tree_from_brackets("(X c (X d e))")])
    assert layout.level_sizes == (5, 2, 1)
    assert layout.depth_sizes == (2, 4, 2)
    assert layout.children_index.tolist() == [0, 1, 3, 4, 2, 6]
    assert layout.children_offset.tolist() == [0, 2, 4, 6]
    assert layout.root_index.tolist() == [5, 7]
    assert layout.down_order.tolist() == [5, 7, 0, 1, 2, 6, 3, 4]
    assert layout.down_parent_index.tolist() == [0, 0, 1, 1, 5, 5]


forests = st.lists(trees(max_words=9), max_size=5)


@given(forests)
def test_split_gives_back_every_tree(forest: list[Tree]) -> None:
    layout = laid_out(forest)
    labels = layout.split(layout.label_index)
    assert [part.tolist() for part in labels] == [
        [node + 1000 * number for node in range(tree.num_nodes)] for number, tree in enumerate(forest)
    ]
    starts = layout.split(layout.span_start)
    first_words = np.cumsum([0, *(tree.num_words for tree in forest)])
    for tree, start, first in zip(forest, starts, first_words, strict=False):
        assert (start - int(first)).tolist() == tree.starts.tolist()


@given(forests)
def test_leaves_come_first_in_the_order_of_the_words(forest: list[Tree]) -> None:
    layout = laid_out(forest)
    expected = [word + 1000 * number for number, tree in enumerate(forest) for word in range(tree.num_words)]
    assert layout.word_index.tolist() == expected
    leaves = slice(0, layout.num_leaves)
    assert layout.span_start[leaves].tolist() == list(range(layout.num_leaves))
    assert layout.span_end[leaves].tolist() == list(range(1, layout.num_leaves + 1))


@given(forests)
def test_children_are_those_of_the_trees_and_stand_on_lower_levels(forest: list[Tree]) -> None:
    layout = laid_out(forest)
    offset = layout.children_offset.tolist()
    name = layout.label_index.tolist()
    found = {
        name[node]: [
            name[child] for child in layout.children_index[offset[inner] : offset[inner + 1]].tolist()
        ]
        for inner, node in enumerate(range(layout.num_leaves, layout.num_nodes))
    }
    expected = {
        node + 1000 * number: [child + 1000 * number for child in children]
        for number, tree in enumerate(forest)
        for node, children in enumerate(tree.children)
        if children
    }
    assert found == expected
    level = np.repeat(np.arange(len(layout.level_sizes)), layout.level_sizes)
    parents = np.repeat(np.arange(layout.num_leaves, layout.num_nodes), np.diff(layout.children_offset))
    assert (level[layout.children_index] < level[parents]).all()


@given(forests)
def test_down_order_keeps_siblings_together_below_their_parent(forest: list[Tree]) -> None:
    layout = laid_out(forest)
    name = layout.label_index[layout.down_order].tolist()
    for place, parent in enumerate(layout.down_parent_index.tolist(), start=layout.num_trees):
        number, node = divmod(name[place], 1000)
        assert forest[number].parents[node] + 1000 * number == name[parent]
    assert all(
        forest[name[place] // 1000].parents[name[place] % 1000] == NO_INDEX
        for place in range(layout.num_trees)
    )
    assert layout.down_order[layout.up_to_down].tolist() == list(range(layout.num_nodes))
    assert sum(layout.depth_sizes) == sum(layout.level_sizes) == layout.num_nodes


@given(st.lists(trees(max_words=9, binary=True), min_size=1, max_size=4))
@settings(max_examples=30)
def test_binary_levels_are_pairs(forest: list[Tree]) -> None:
    layout = laid_out(forest)
    assert layout.is_binary
    for start, end in itertools.pairwise(itertools.accumulate(layout.depth_sizes)):
        parents = layout.down_parent_index[start - layout.num_trees : end - layout.num_trees]
        assert parents[::2].tolist() == parents[1::2].tolist()


def test_an_empty_batch_is_a_batch() -> None:
    layout = TreeLayout.from_trees([])
    assert (layout.num_trees, layout.num_nodes, layout.num_leaves) == (0, 0, 0)
    assert layout.split(layout.label_index) == []
    assert layout.level_sizes == layout.depth_sizes == (0,)


@given(st.lists(dependency_trees(max_words=7), min_size=1, max_size=4))
def test_dependency_trees_have_a_word_at_every_node(forest: list[DependencyTree]) -> None:
    layout = laid_out(forest)
    assert layout.num_leaves == sum(int((tree.arity == 0).sum()) for tree in forest)
    assert layout.num_leaves == layout.level_sizes[0] == int(layout.counts[0])
    for number, (tree, words) in enumerate(zip(forest, layout.split(words_by_node(layout)), strict=True)):
        assert (words - 1000 * number).tolist() == tree.word_of.tolist()


@given(forests)
def test_phrases_have_no_words_of_their_own(forest: list[Tree]) -> None:
    layout = laid_out(forest)
    assert len(layout.inner_word_index) == 0
    assert len(layout.word_index) == layout.num_leaves == layout.level_sizes[0]


def test_the_words_of_dependency_trees_are_numbered_through() -> None:
    forest = [DependencyTree.from_parents("abc", [1, 2, -1]), DependencyTree.from_parents("de", [-1, 0])]
    layout = TreeLayout.from_trees(forest)
    assert [part.tolist() for part in layout.split(words_by_node(layout))] == [[2, 1, 0], [3, 4]]


def test_the_two_kinds_of_trees_do_not_mix() -> None:
    forest = [Tree.leaf("a"), DependencyTree.from_parents(["a"], [-1])]
    with pytest.raises(TreeError, match="dependency trees or constituency trees, not both"):
        TreeLayout.from_trees(forest)
