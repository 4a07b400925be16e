"""Gradients of pairs of children, level by level from the roots: the loop that binary recurrences share."""

from __future__ import annotations

import torch
from torch import Tensor

from lexitree.batch.tree_batch import TreeBatch
from lexitree.ops.levelwise.levels import EdgeOrder, arrive, blocks, cut, level_by_level


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
