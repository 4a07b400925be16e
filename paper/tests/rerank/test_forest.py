"""Trees over the same words as their distinct subtrees: nothing is lost, and nothing is computed otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sharing import share_subtrees
from tests.strategies import arities
from tests.tiny import FASTEST_ON_A_CPU
from torch import Tensor

from lexitree.models.catalog import encoder_class
from lexitree.models.model_config import ModelConfig
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.forest import Forest, lay_out_forests


@st.composite
def candidate_lists(draw: st.DrawFn, max_words: int = 8) -> list[Tree]:
    """Binary trees over the same words, some of them alike."""
    shapes = draw(st.lists(arities(max_words, binary=True), min_size=1, max_size=6))
    num_words = shapes[0].count(0)
    words = [f"w{number}" for number in range(num_words)]
    same = [shape for shape in shapes if shape.count(0) == num_words]
    return [Tree(shape, ["X"] * len(shape), words) for shape in same]


def shared_batch(lists: Sequence[Sequence[Tree]]) -> TreeBatch:
    words = [np.arange(trees[0].num_words) for trees in lists]
    return TreeBatch.from_layout(lay_out_forests([share_subtrees(trees) for trees in lists], words))


def test_the_example_of_the_docstring() -> None:
    trees = [tree_from_brackets("(X a (X b c))"), tree_from_brackets("(X (X a b) c)")]
    forest = share_subtrees(trees)
    assert forest.children.tolist() == [[1, 2], [0, 3], [0, 1], [5, 2]]
    assert forest.heights.tolist() == [1, 2, 1, 2]
    assert forest.spans.tolist() == [[1, 3], [0, 3], [0, 2], [0, 3]]
    assert forest.nodes.tolist() == [4, 0, 3, 1, 2, 6, 5, 0, 1, 2]


def test_equal_trees_are_one() -> None:
    tree = tree_from_brackets("(X (X a b) (X c d))")
    assert share_subtrees([tree] * 5).num_nodes == tree.num_nodes
    assert share_subtrees([Tree.leaf("a")] * 3).num_nodes == 1


@given(st.lists(candidate_lists(), min_size=1, max_size=4))
@settings(max_examples=40)
def test_every_tree_is_found_in_the_batch(lists: list[list[Tree]]) -> None:
    batch = shared_batch(lists)
    trees = [tree for candidates in lists for tree in candidates]
    spans = torch.stack([batch.span_start, batch.span_end], 1)
    first_words = np.cumsum([0, *(candidates[0].num_words for candidates in lists)])
    shifts = [first for first, candidates in zip(first_words, lists, strict=False) for _ in candidates]
    for tree, shift, found in zip(trees, shifts, batch.split(spans), strict=True):
        assert (found - shift).tolist() == [list(span) for span in tree.spans]
    assert batch.root_index.tolist() == [
        int(nodes[0]) for nodes in batch.split(torch.arange(batch.num_nodes))
    ]
    for start, end in batch.levels():
        children = batch.children_index.view(-1, 2)[start - batch.num_leaves : end - batch.num_leaves]
        assert bool((children < start).all())


def run_upwards(name: str, batch: TreeBatch, words: Tensor, backend: str) -> list[Tensor]:
    """States of every node of every tree, and the gradients of words and weights under a loss of all of them."""
    torch.manual_seed(3)
    config = ModelConfig(model=name, labels=("0",), hidden=4, word_size=4)
    encoder = encoder_class(name)(config).double()
    chosen = get_backend(backend, "cpu", torch.float64)
    x = words if encoder.heads is None else encoder.heads(words, batch, chosen)
    states = torch.cat(batch.split(encoder(x, batch, None, chosen)))
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    inputs = [words, *encoder.parameters()]
    return [states.detach(), *torch.autograd.grad((states * weights).sum(), inputs, materialize_grads=True)]


@pytest.mark.parametrize("name", ["contree", "contree-lex", "contree-nary", "contree-le", "rntn"])
@pytest.mark.parametrize("backend", sorted({FASTEST_ON_A_CPU, "levelwise", "reference"}))
@given(lists=st.lists(candidate_lists(), min_size=1, max_size=3))
@settings(max_examples=10)
def test_shared_nodes_have_the_states_and_gradients_of_single_trees(
    name: str, backend: str, lists: list[list[Tree]]
) -> None:
    shared = shared_batch(lists)
    single = TreeBatch.from_trees([tree for trees in lists for tree in trees])
    words = torch.randn(shared.num_leaves, 4, dtype=torch.float64, requires_grad=True)
    ends = np.cumsum([trees[0].num_words for trees in lists])
    leaf_words = [
        np.arange(end - trees[0].num_words, end)
        for end, trees in zip(ends, lists, strict=True)
        for _ in trees
    ]
    copied = words.index_select(0, torch.from_numpy(np.concatenate(leaf_words)))
    expected = run_upwards(name, single, copied, "reference")
    expected[1] = torch.autograd.grad(copied, words, expected[1])[0]
    for found, wanted in zip(run_upwards(name, shared, words, backend), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-10)


def test_sharing_saves_work() -> None:
    left, right = (
        Tree([2] * 9 + [0] * 10, [""] * 19, "abcdefghij"),
        Tree([2, 0] * 9 + [0], [""] * 19, "abcdefghij"),
    )
    forest: Forest = share_subtrees([left, right, left, right])
    assert forest.num_nodes == 10 + 2 * 9
