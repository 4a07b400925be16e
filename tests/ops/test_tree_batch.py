"""The tensors of a batch are views of one buffer, which moves in one piece."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.strategies import dependency_trees, trees


def batch_with_words(forest: list[Tree]) -> TreeBatch:
    """A batch whose word and label numbers are distinct, so that a mix-up shows."""
    words = [np.arange(tree.num_words) + 1000 * number for number, tree in enumerate(forest)]
    labels = [np.arange(tree.num_nodes) + 1000 * number for number, tree in enumerate(forest)]
    return TreeBatch.from_trees(forest, words, labels)


@given(
    st.one_of(st.lists(trees(max_words=9), max_size=5), st.lists(dependency_trees(max_words=7), max_size=4))
)
def test_every_tensor_is_the_array_of_its_name(forest: list[Tree]) -> None:
    layout = TreeLayout.from_trees(forest)
    batch = TreeBatch.from_layout(layout)
    for name, tensor in batch.tensors().items():
        if name != "target_bits":
            assert np.array_equal(tensor.numpy(), getattr(layout, name)), name
    for name in ("level_sizes", "depth_sizes", "tree_sizes", "is_binary", "has_shared_nodes"):
        assert getattr(batch, name) == getattr(layout, name)
    words = np.concatenate([layout.word_index, layout.inner_word_index])
    assert batch.node_word_index.tolist() == words.tolist()


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


@given(st.lists(trees(max_words=9), min_size=1, max_size=5))
def test_every_tensor_starts_at_a_multiple_of_16_bytes(forest: list[Tree]) -> None:
    """Kernels of a GPU are compiled anew for those that do not."""
    batch = TreeBatch.from_trees(forest)
    for each in (batch, batch.on(batch.buffer.clone()), batch.with_arrays(batch.arrays())):
        start = each.buffer.data_ptr()
        assert all((tensor.data_ptr() - start) % 16 == 0 for tensor in each.tensors().values())
        assert torch.equal(each.preorder_index, batch.preorder_index)


def test_levels_are_slices() -> None:
    batch = TreeBatch.from_trees([tree_from_brackets("(X a b)"), tree_from_brackets("(X c (X d e))")])
    assert batch.levels() == [(5, 7), (7, 8)]
    assert TreeBatch.from_trees([]).levels() == []


def test_without_targets_there_are_none() -> None:
    assert TreeBatch.from_trees([tree_from_brackets("(X a b)")]).targets is None
    assert TreeBatch.from_trees([]).targets is None
