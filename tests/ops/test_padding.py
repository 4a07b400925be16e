"""Batches that are padded to sizes that many of them share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.ops.padding import Sizes, fill_batch
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees
from tests.tiny import chain


def test_filled_nodes_have_no_targets() -> None:
    forest = [tree_from_brackets("(X a b)"), tree_from_brackets("(X c (X d e))")]
    targets = [np.full((tree.num_nodes, 3), 1 / 3, dtype=np.float32) for tree in forest]
    batch = fill_batch(TreeBatch.from_trees(forest, targets=targets), 8, 6, 4)
    assert batch.targets is not None
    assert batch.targets.any(1).tolist() == [True] * 5 + [False] * 3 + [True] * 3 + [False] * 3


@given(st.lists(trees(max_words=12, binary=True), min_size=1, max_size=5))
def test_a_padded_batch_holds_the_same_trees(forest: list[Tree]) -> None:
    batch = TreeBatch.from_trees(forest)
    sizes = Sizes.around(batch)
    padded = sizes.fill(batch)
    assert padded.num_leaves == sizes.num_leaves >= batch.num_leaves
    assert padded.num_nodes == 2 * sizes.num_leaves - sizes.num_trees
    assert len(padded.level_offset) == sizes.num_levels + 1
    assert padded.counts.tolist() == batch.counts.tolist()
    # The same words below each node that is not padding, in the order of the trees.
    real = padded.preorder_index[: len(batch.preorder_index)]
    for name in ("span_start", "span_end", "label_index"):
        found, expected = (getattr(each, name) for each in (padded, batch))
        assert found[real].tolist() == expected[batch.preorder_index].tolist()
    assert padded.word_index[: batch.num_leaves].tolist() == batch.word_index.tolist()
    assert padded.children_index.max() < padded.num_nodes


@pytest.mark.parametrize("num_words", [1, 2, 8, 9, 64, 65, 66, 500])
def test_at_most_an_eighth_is_padding_beyond_small_trees(num_words: int) -> None:
    sizes = Sizes.around(TreeBatch.from_trees([chain(num_words)]))
    assert num_words <= sizes.num_leaves <= max(num_words + 7, num_words * 9 / 8)
    assert num_words - 1 <= sizes.num_levels < num_words + 63
