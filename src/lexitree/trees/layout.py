"""The numbers of children of all nodes, parents first, in; what follows from the shape alone out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NodeArray

NO_PARENT = -1


class Layout(NamedTuple):
    """What follows from the shape alone, one entry a node; computed once in linear time."""

    parents: NodeArray
    """The parent of each node; -1 at the root."""
    starts: NodeArray
    """The first word of each phrase ..."""
    ends: NodeArray
    """... and the word after its last: `words[start:end]` is the phrase."""
    depths: NodeArray
    """Edges up to the root, which is at 0."""
    heights: NodeArray
    """Edges down to the deepest leaf below; leaves are at 0."""


def lay_out(arity: list[int]) -> Layout:
    """Walk the nodes once forwards (parents, depths, starts) and once backwards (ends, heights)."""
    num_nodes = len(arity)
    parents, depths, starts = [NO_PARENT] * num_nodes, [0] * num_nodes, [0] * num_nodes
    path: list[int] = []
    missing: list[int] = []
    num_words = 0
    for node, num_children in enumerate(arity):
        starts[node] = num_words
        depths[node] = len(path)
        if path:
            parents[node] = path[-1]
            missing[-1] -= 1
        if num_children:
            path.append(node)
            missing.append(num_children)
        else:
            num_words += 1
            while missing and missing[-1] == 0:
                path.pop()
                missing.pop()
    ends, heights = [0] * num_nodes, [0] * num_nodes
    for node in range(num_nodes - 1, -1, -1):
        if not arity[node]:
            ends[node] = starts[node] + 1
        parent = parents[node]
        if parent != NO_PARENT:
            # From behind, the last child comes first, and it ends where its parent does.
            ends[parent] = ends[parent] or ends[node]
            if heights[parent] <= heights[node]:
                heights[parent] = heights[node] + 1
    arrays = (parents, starts, ends, depths, heights)
    return Layout(*(frozen_array(values) for values in arrays))


def frozen_array(values: npt.ArrayLike) -> NodeArray:
    """A copy of numbers that nobody can change."""
    array = np.array(values, dtype=np.int32)
    array.flags.writeable = False
    return array
