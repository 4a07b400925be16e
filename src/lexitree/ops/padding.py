"""Pads batches of trees to sizes that many of them share, for work that a GPU records once and replays."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX
from lexitree.ops.tree_batch import TreeBatch

LEVELS_PER_BUCKET = 64

Values = TypeVar("Values", bound=npt.NDArray[Any])


class Sizes(NamedTuple):
    """The sizes of a batch that is recorded; others are padded to the next one."""

    num_trees: int
    num_leaves: int
    num_levels: int

    @classmethod
    def around(cls, batch: TreeBatch) -> Sizes:
        """The smallest sizes that hold the batch: at most an eighth is padding."""
        granule = max(8, (1 << batch.num_leaves.bit_length()) // 16)
        num_levels = max(len(batch.level_sizes), len(batch.depth_sizes)) - 1
        return cls(
            batch.num_trees, _round_up(batch.num_leaves, granule), _round_up(num_levels, LEVELS_PER_BUCKET)
        )

    def fill(self, batch: TreeBatch) -> TreeBatch:
        # A binary tree has one inner node fewer than leaves.
        return fill_batch(batch, self.num_leaves, self.num_leaves - self.num_trees, self.num_levels)


def _round_up(number: int, granule: int) -> int:
    return -(-number // granule) * granule


def fill_batch(batch: TreeBatch, num_leaves: int, num_inner: int, num_levels: int) -> TreeBatch:
    """The batch with room for so many leaves, inner nodes and levels.

    Leaves fill up to `num_leaves`, and inner nodes start there. The nodes in between are in no level and have neither
    label nor target: the word of number 0, a span of one word. Only `counts` and the offsets tell the real sizes, so
    this is for the fused backend, which goes by them.
    """
    old, shift = batch.num_leaves, num_leaves - batch.num_leaves
    num_nodes = num_leaves + num_inner
    new = batch.arrays()
    for name in ("children_index", "root_index", "down_order", "preorder_index"):
        new[name] = new[name] + shift * (new[name] >= old)
    new["level_offset"] = new["level_offset"] + shift
    for name, empty in (("label_index", NO_INDEX), ("span_start", 0), ("span_end", 1), ("up_to_down", 0)):
        new[name] = _spread_nodes(new[name], old, num_leaves, num_nodes, empty)
    if batch.targets is not None:
        targets = _spread_nodes(batch.targets.numpy(), old, num_leaves, num_nodes, 0)
        new["target_bits"] = targets.reshape(-1).view(np.int64)
    for name, size, empty in (
        ("word_index", num_leaves, 0),
        ("leaf_kind", num_leaves, 0),
        # A node that is in no level: what is summed over all children must not meet a real one again.
        ("children_index", 2 * num_inner, num_nodes - 1),
        ("children_offset", num_inner + 1, int(new["children_offset"][-1])),
        ("down_order", num_nodes, 0),
        ("down_parent_index", 2 * num_inner, 0),
        ("preorder_index", num_nodes, 0),
        ("level_offset", num_levels + 1, int(new["level_offset"][-1])),
        ("depth_offset", num_levels + 1, int(new["depth_offset"][-1])),
    ):
        filled = np.full(size, empty)
        filled[: len(new[name])] = new[name]
        new[name] = filled
    return batch.with_arrays(new)


def _spread_nodes(
    values: Values, num_old: int, num_leaves: int, num_nodes: int, empty: int
) -> Values:  # [nodes, ...]
    """Values by node, those of the leaves first and those of the inner nodes where these now start."""
    filled = np.full((num_nodes, *values.shape[1:]), empty, dtype=values.dtype)
    filled[:num_old] = values[:num_old]
    filled[num_leaves : num_leaves + len(values) - num_old] = values[num_old:]
    return cast(Values, filled)
