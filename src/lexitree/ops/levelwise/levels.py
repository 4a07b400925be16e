"""Buffers of a whole batch in, their levels out; and the order in which gradients travel from parents to children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.batch import TreeBatch

Views = tuple[Tensor, ...]


def cut(sizes: Sequence[int], *buffers: Tensor) -> list[Views]:
    """Views of the rows of each level, for all levels at once: one by one, slicing costs more than arithmetic."""
    return list(zip(*(torch.split(buffer, list(sizes)) for buffer in buffers), strict=True))


def level_by_level(*groups: list[Views], backwards: bool = False) -> Iterator[tuple[Views, ...]]:
    """The views of each level in turn, in the order they were cut or backwards."""
    levels = list(zip(*groups, strict=True))
    return reversed(levels) if backwards else iter(levels)


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
