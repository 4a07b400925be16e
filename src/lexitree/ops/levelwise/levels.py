"""Buffers of a whole batch in, their levels out; and the order in which gradients travel from parents to children."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.batch import TreeBatch

Views = tuple[Tensor, ...]

LEVELS_AT_ONCE = 128
"""How many levels are cut at once: more save nothing, and a tree may be as deep as it has words."""


class Cut(NamedTuple):
    """Buffers of which each level is a slice, with the levels' sizes."""

    sizes: Sequence[int]
    buffers: Views

    def levels(self, *, backwards: bool) -> Iterator[Views]:
        """The rows of each level. Many are cut at once: one by one, slicing costs more than arithmetic."""
        ends = list(itertools.accumulate(self.sizes, initial=0))
        runs = range(0, len(self.sizes), LEVELS_AT_ONCE)
        for first in reversed(runs) if backwards else runs:
            sizes = list(self.sizes[first : first + LEVELS_AT_ONCE])
            rows = slice(ends[first], ends[first + len(sizes)])
            # "Unsafe" leaves out the bookkeeping of views: autograd sees a recurrence as one piece, not its levels.
            parts = (torch.unsafe_split_with_sizes(buffer[rows], sizes) for buffer in self.buffers)
            views = list(zip(*parts, strict=True))
            yield from reversed(views) if backwards else views


def cut(sizes: Sequence[int], *buffers: Tensor) -> Cut:
    """Buffers to be taken level by level."""
    return Cut(sizes, buffers)


def level_by_level(*groups: Cut, backwards: bool = False) -> Iterator[tuple[Views, ...]]:
    """The views of each level in turn, from the first or, backwards, from the last."""
    return zip(*(group.levels(backwards=backwards) for group in groups), strict=True)


class EdgeOrder(NamedTuple):
    """Every node once: as a child, in the order of `children_index`, and after these the roots.

    Each child has one parent, so in this order a level's gradients for its children are one slice that a product
    can add to; the level of the children then gathers its rows. Nothing is scattered.
    """

    node: Int[Tensor, " nodes"]
    """The node at each place."""
    place: Int[Tensor, " nodes"]
    """The place of each node."""

    @classmethod
    def of(cls, batch: TreeBatch) -> EdgeOrder:
        node = torch.cat([batch.children_index, batch.root_index])
        return cls(node, inverse(node))


def inverse(permutation: Int[Tensor, " nodes"]) -> Int[Tensor, " nodes"]:
    """Where each number stands."""
    numbers = torch.arange(len(permutation), device=permutation.device)
    return torch.empty_like(permutation).index_copy_(0, permutation, numbers)


def blocks(columns: Float[Tensor, "rows columns"], size: int) -> Float[Tensor, "rows blocks size"]:
    """Columns seen as blocks side by side, such as the gates, without a copy."""
    return cast(Tensor, columns.unflatten(1, (-1, size)))
