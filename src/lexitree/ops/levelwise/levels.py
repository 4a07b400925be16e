"""Buffers of a whole batch in, their levels out; and the order in which gradients travel from parents to children."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.batch.tree_batch import TreeBatch

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
    """Every node as often as it is a child, in the order of `children_index`, and after these the roots.

    In this order a level's gradients for its children are one slice that a product can add to; the level of the
    children then gathers its rows. In a batch of trees each node has one place, so nothing is scattered. Where trees
    share nodes, what arrives at the places of a node is added up.
    """

    node: Int[Tensor, " places"]
    """The node at each place."""
    place: Int[Tensor, " places"]
    """The places of each node, node by node."""
    row: Int[Tensor, " places"] | None = None
    """For each of those, the row of its node within its level; None where each node has one place."""
    level_places: Sequence[int] = ()
    """How many places the nodes of each level have, from the leaves on."""

    @classmethod
    def of(cls, batch: TreeBatch) -> EdgeOrder:
        node = torch.cat([batch.children_index, batch.root_index])
        if not batch.has_shared_nodes:
            return cls(node, inverse(node), None, batch.level_sizes)
        place = torch.argsort(node, stable=True)
        ends = torch.tensor(list(itertools.accumulate(batch.level_sizes)), device=node.device)
        level = torch.bucketize(node.index_select(0, place), ends, right=True)
        starts = ends - torch.tensor(batch.level_sizes, device=node.device)
        row = node.index_select(0, place) - starts.index_select(0, level)
        return cls(node, place, row, torch.bincount(level, minlength=len(ends)).tolist())

    def spread(self, rows: Float[Tensor, "nodes size"]) -> Float[Tensor, "places size"]:
        """The rows of all nodes, each at the first of the places of its node; the others are zero."""
        spread = rows.index_select(0, self.node)
        if self.row is not None:
            again = self.place[1:][self.node[self.place[1:]] == self.node[self.place[:-1]]]
            spread.index_fill_(0, again, 0)
        return spread

    @property
    def levels(self) -> Cut:
        """Where what arrives at each level above the leaves stands."""
        rows = (self.place,) if self.row is None else (self.place, self.row)
        first, *sizes = self.level_places
        return Cut(sizes, tuple(numbers[first:] for numbers in rows))

    @property
    def leaves(self) -> Views:
        """The same for the leaves."""
        rows = (self.place,) if self.row is None else (self.place, self.row)
        return tuple(numbers[: self.level_places[0]] for numbers in rows)


def arrive(rows: Tensor, arriving: Views, out: Tensor) -> Tensor:
    """Write what stands at the places of the nodes of one level; several of one node are added up."""
    if len(arriving) == 1:
        return torch.index_select(rows, 0, arriving[0], out=out)
    place, row = arriving
    return out.zero_().index_add_(0, row, rows.index_select(0, place))


def inverse(permutation: Int[Tensor, " nodes"]) -> Int[Tensor, " nodes"]:
    """Where each number stands."""
    numbers = torch.arange(len(permutation), device=permutation.device)
    return torch.empty_like(permutation).index_copy_(0, permutation, numbers)


def blocks(columns: Float[Tensor, "rows columns"], size: int) -> Float[Tensor, "rows blocks size"]:
    """Columns seen as blocks side by side, such as the gates, without a copy."""
    return cast(Tensor, columns.unflatten(1, (-1, size)))
