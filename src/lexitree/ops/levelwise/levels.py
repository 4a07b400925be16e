"""What the level-wise recurrences share: buffers cut into levels, and gradients of gates and of children."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.tree_batch import TreeBatch

CACHE_LINE = 64
"""Bytes."""


def for_products(weight: Tensor) -> Tensor:
    """A copy of the transposed weight, made once per batch: narrow levels multiply by it faster than by a view.

    Each row starts a cache line, since loads that straddle two of them slow the products down.
    """
    *sides, columns, rows = weight.shape
    line = CACHE_LINE // weight.element_size()
    padded = weight.new_empty(*sides, rows, -(-columns // line) * line)
    return padded[..., :columns].copy_(weight.mT)


def sigmoid_gradient(gradient: Tensor, output: Tensor, out: Tensor) -> None:
    """Write the gradient of the input of a sigmoid, from that of its output."""
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=out)


def tanh_gradient(gradient: Tensor, output: Tensor, out: Tensor | None = None) -> Tensor:
    """The gradient of the input of a tanh, from that of its output; written to `out` if given."""
    if out is None:
        return cast(Tensor, torch.ops.aten.tanh_backward(gradient, output))
    return cast(Tensor, torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=out))


def run_leaves(gates: Sequence[Tensor], h: Tensor, c: Tensor, tanh_c: Tensor) -> None:
    """Squash the gates i, g, o in place and fill the states of nodes without children."""
    i, g, o = gates
    torch.mul(i.sigmoid_(), g.tanh_(), out=c)
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)


def cell_slopes(gates: Sequence[Tensor], tanh_c: Tensor, slopes: Sequence[Tensor]) -> Tensor:
    """Fill what turns the gradient of the cell into those of i and g, and that of h into o's; return c's by h."""
    (i, g, o), (slope_i, slope_g, slope_o) = gates, slopes
    sigmoid_gradient(g, i, out=slope_i)
    tanh_gradient(i, g, out=slope_g)
    sigmoid_gradient(tanh_c, o, out=slope_o)
    return tanh_gradient(o, tanh_c)


def apply(function: type[torch.autograd.Function], *arguments: object) -> Tensor:
    """Apply an autograd Function that returns one tensor."""
    return cast(Tensor, function.apply(*arguments))


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
    """Scatter values into the rows of one level's nodes; values of the same node are added up."""
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


def run_pairs_backward(
    dgates: Tensor,
    slope_c: Tensor,
    forget: Tensor,
    edge_gradients: tuple[Tensor, Tensor],
    weight_h: Tensor,
    weight_c: Tensor | None,
    peephole: Tensor | None,
    edges: EdgeOrder,
    batch: TreeBatch,
) -> Tensor:
    """Turn slopes into gradients, add to those of h and c in the order of the edges, and return those of the cells.

    The columns of `dgates` are first those that see the children's cells, as many as `weight_c` has rows, and last
    those of the output gate.
    """
    hidden, widths = slope_c.shape[1], batch.level_sizes[1:]
    dh_edges, dc_edges = edge_gradients
    dh_pairs, dc_pairs = (rows[: len(batch.children_index)].view(-1, 2 * hidden) for rows in edge_gradients)
    dh, dc = torch.empty_like(slope_c), torch.empty_like(slope_c)
    dcell, do = blocks(dgates[:, :-hidden], hidden), dgates[:, -hidden:]
    see_cells = dgates[:, : 0 if weight_c is None else len(weight_c)]
    for places, node, gate, pair in level_by_level(
        edges.levels,
        cut(widths, dh, dc, dc.unsqueeze(1)),
        cut(
            widths,
            dgates,
            see_cells,
            dcell,
            do,
            slope_c,
            blocks(forget, hidden),
        ),
        cut(widths, dh_pairs, dc_pairs, blocks(dc_pairs, hidden)),
        backwards=True,
    ):
        (dh_t, dc_t, dc_block), (dh_pair, dc_pair, dc_kept) = node, pair
        dall_gates, df_i, dcell_t, do_t, slope, f = gate
        arrive(dh_edges, places, out=dh_t)
        arrive(dc_edges, places, out=dc_t)
        do_t.mul_(dh_t)
        dc_t.addcmul_(dh_t, slope)
        if peephole is not None:
            dc_t.addmm_(do_t, peephole)
        dcell_t.mul_(dc_block)
        dh_pair.addmm_(dall_gates, weight_h)
        torch.mul(dc_block, f, out=dc_kept)
        if weight_c is not None:
            dc_pair.addmm_(df_i, weight_c)
    return dc
