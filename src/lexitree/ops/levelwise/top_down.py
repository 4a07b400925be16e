"""The top-down tree LSTM, level by level from the roots to the leaves."""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.levelwise.levels import (
    apply,
    blocks,
    cut,
    for_products,
    inverse,
    level_by_level,
    sigmoid_gradient,
    tanh_gradient,
)
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import TopDownWeights


def levelwise_run_top_down(
    x: Float[Tensor, "rows word"],
    weights: TopDownWeights,
    batch: TreeBatch,
    source: Int[Tensor, " nodes"] | None = None,
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node; see `reference_run_top_down`."""
    halves = list(zip(weights.x.chunk(2, 1), weights.bias.chunk(2, 1), strict=True))
    if source is not None and weights.x.shape[0] == 1:
        # Each row is multiplied once, however many nodes have it.
        order = source.index_select(0, batch.down_order)
        products = (torch.addmm(bias[0], x, weight[0].t()) for weight, bias in halves)
        inputs = [product.index_select(0, order) for product in products]
    else:
        x = x if source is None else x.index_select(0, source)
        x_down = apply(_PermuteRows, x, batch.down_order, batch.up_to_down)
        inputs = [_project_inputs(x_down, weight, bias, batch.num_trees) for weight, bias in halves]
    return apply(_TopDown, *inputs, weights.h, weights.c, weights.peephole, batch)


def _project_inputs(x_down: Tensor, weight: Tensor, bias: Tensor, num_roots: int) -> Tensor:
    """What the word vectors give to two of the gates, `[nodes, 2 * hidden]` in down order."""
    if weight.shape[0] == 1:
        return torch.addmm(bias.squeeze(0), x_down, weight.squeeze(0).t())
    # After the roots, left and right children alternate; a root takes the left side's weights.
    roots = torch.addmm(bias[0], x_down[:num_roots], weight[0].t())
    children = x_down[num_roots:].view(-1, 2, x_down.shape[1])
    sides = [torch.addmm(bias[side], children[:, side], weight[side].t()) for side in (0, 1)]
    return torch.cat([roots, torch.stack(sides, 1).view(-1, roots.shape[1])])


class _PermuteRows(torch.autograd.Function):
    """Rows in another order; the gradient is a gather by the inverse, not a scatter."""

    @staticmethod
    @one_thread()
    def forward(ctx: Any, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return rows.index_select(0, order)

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (inverse,) = ctx.saved_tensors
        return gradients[0].index_select(0, inverse), None, None


class _TopDown(torch.autograd.Function):
    """The recurrence in down order; the gates are the columns f, i of one buffer and g, o of another.

    A level below the roots is left, right, left, right ..., so its rows `[2 * parents, ...]` are, without a
    copy, the two sides of each parent `[parents, 2, ...]`, and one product serves both. f and i see all of the
    parent's state, h beside c in one buffer; g and o see its h.

    The inputs become the gates: their memory is used up.
    """

    @staticmethod
    @one_thread()
    def forward(
        ctx: Any,
        f_i: Tensor,
        g_o: Tensor,
        weight_h: Tensor,
        weight_c: Tensor,
        peephole: Tensor,
        batch: TreeBatch,
    ) -> Tensor:
        hidden, num_roots = weight_h.shape[-1], batch.num_trees
        states = f_i.new_empty(batch.num_nodes, 2 * hidden)
        h, c = torch.split(states, hidden, 1)
        tanh_c = f_i.new_empty(batch.num_nodes, hidden)
        _run_roots(*(rows[:num_roots] for rows in (f_i, g_o, h, c, tanh_c)))

        parents = batch.down_parent_index[::2].contiguous()
        parent_states = f_i.new_empty(len(parents), 2 * hidden)
        by_state, by_h = _stacked_weights(weight_h, weight_c)
        times = (for_products(by_state), for_products(by_h), for_products(peephole))
        _run_levels(f_i, g_o, states, tanh_c, parents, parent_states, *times, batch)
        ctx.save_for_backward(weight_h, weight_c, peephole, f_i, g_o, parents, parent_states, states, tanh_c)
        ctx.batch = batch
        return states[:, :hidden].index_select(0, batch.up_to_down)

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, f_i, g_o, parents, parent_states, states, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_roots, num_parents = weight_h.shape[-1], batch.num_trees, len(parents)
        # Every node once: the parents, level by level, whose gradients products add to, and then the leaves.
        order = torch.cat([parents, batch.up_to_down[: batch.num_leaves]])
        place = inverse(order)
        dstates_by_parent = torch.empty_like(states)
        torch.index_select(
            gradients[0], 0, batch.down_order.index_select(0, order), out=dstates_by_parent[:, :hidden]
        )
        dstates_by_parent[num_parents:, hidden:] = 0
        dstates = torch.empty_like(states)
        dh, dc = torch.split(dstates, hidden, 1)
        df_i, dg_o, slope_c = _slopes(f_i, g_o, parent_states[:, hidden:], tanh_c, num_roots)
        dg, do = torch.split(dg_o, hidden, 1)

        weights = (*_stacked_weights(weight_h, weight_c), peephole)
        _run_levels_backward(
            df_i, dg_o, slope_c, f_i[:, :hidden], dstates, dstates_by_parent, place, *weights, batch
        )
        roots = slice(0, num_roots)
        torch.index_select(dstates_by_parent, 0, place[roots], out=dstates[roots])
        do[roots].mul_(dh[roots])
        dc[roots].addcmul_(dh[roots], slope_c[roots])
        blocks(df_i[roots], hidden).mul_(dc[roots].unsqueeze(1))
        dg[roots].mul_(dc[roots])

        dgates_fi, dgates_go = (gates[num_roots:].view(-1, 4 * hidden) for gates in (df_i, dg_o))
        dby_state = (dgates_fi.t() @ parent_states).view(2, 2 * hidden, 2 * hidden)
        dby_h = (dgates_go.t() @ parent_states[:, :hidden]).view(2, 2 * hidden, hidden)
        do_sides, c_sides = (_sides(rows, num_roots).unbind(1) for rows in (do, states[:, hidden:]))
        dpeephole = torch.stack([d.t() @ side for d, side in zip(do_sides, c_sides, strict=True)])
        dweight_h = torch.cat([dby_state[:, :, :hidden], dby_h], 1)
        return df_i, dg_o, dweight_h, dby_state[:, :, hidden:].contiguous(), dpeephole, None


def _run_levels(
    f_i: Tensor,
    g_o: Tensor,
    states: Tensor,
    tanh_c: Tensor,
    parents: Tensor,
    parent_states: Tensor,
    times_state: Tensor,
    times_h: Tensor,
    times_new_c: Tensor,
    batch: TreeBatch,
) -> None:
    """Gather the parents' states, squash the gates in place and fill h beside c, and tanh c, below the roots."""
    hidden, num_roots = tanh_c.shape[1], batch.num_trees
    widths = [size // 2 for size in batch.depth_sizes[1:]]
    parent_h, parent_c = torch.split(parent_states, hidden, 1)
    f, i, g, o, h, c, tanh = (
        _sides(rows, num_roots)
        for columns in (f_i, g_o, states, tanh_c)
        for rows in torch.split(columns, hidden, 1)
    )
    times_c_L, times_c_R = times_new_c
    for above, pre, gates, new in level_by_level(
        cut(widths, parents, parent_states, parent_h, parent_c.unsqueeze(1)),
        cut(widths, *(rows[num_roots:].view(-1, 4 * hidden) for rows in (f_i, g_o))),
        cut(widths, f, i, g, o, *o.unbind(1)),
        cut(widths, h, c, tanh, *c.unbind(1)),
    ):
        (parent, state, state_h, state_c), (pre_fi, pre_go) = above, pre
        (f_t, i_t, g_t, o_t, o_L, o_R), (new_h, new_c, new_tanh_c, c_L, c_R) = gates, new
        torch.index_select(states, 0, parent, out=state)
        pre_fi.addmm_(state, times_state).sigmoid_()
        pre_go.addmm_(state_h, times_h)
        torch.mul(f_t, state_c, out=new_c).addcmul_(i_t, g_t.tanh_())
        o_L.addmm_(c_L, times_c_L)
        o_R.addmm_(c_R, times_c_R)
        torch.tanh(new_c, out=new_tanh_c)
        torch.mul(o_t.sigmoid_(), new_tanh_c, out=new_h)


def _run_levels_backward(
    df_i: Tensor,
    dg_o: Tensor,
    slope_c: Tensor,
    forget: Tensor,
    dstates: Tensor,
    dstates_by_parent: Tensor,
    place: Tensor,
    by_state: Tensor,
    by_h: Tensor,
    peephole: Tensor,
    batch: TreeBatch,
) -> None:
    """Turn the slopes below the roots into the gates' gradients, and add to those of the parents' states."""
    hidden, num_roots, sizes = slope_c.shape[1], batch.num_trees, batch.depth_sizes[1:]
    widths = [size // 2 for size in sizes]
    (dh, dc), (dg, do) = torch.split(dstates, hidden, 1), torch.split(dg_o, hidden, 1)
    dparents = dstates_by_parent[: sum(widths)]
    by_side = (side for rows in (do, dc, forget) for side in _sides(rows, num_roots).unbind(1))
    W_co_L, W_co_R = peephole
    for node, gate, side, pre, parent in level_by_level(
        cut(sizes, *(rows[num_roots:] for rows in (place, dstates, dh, dc, dc.unsqueeze(1)))),
        cut(sizes, *(rows[num_roots:] for rows in (blocks(df_i, hidden), dg, do, slope_c))),
        cut(widths, *by_side),
        cut(widths, *(rows[num_roots:].view(-1, 4 * hidden) for rows in (df_i, dg_o))),
        cut(widths, dparents, *torch.split(dparents, hidden, 1)),
        backwards=True,
    ):
        (place_t, dstate, dh_t, dc_t, dc_block), (df_i_t, dg_t, do_t, slope) = node, gate
        (do_L, do_R, dc_L, dc_R, f_L, f_R), (dpre_fi, dpre_go) = side, pre
        dparent, dparent_h, dparent_c = parent
        torch.index_select(dstates_by_parent, 0, place_t, out=dstate)
        do_t.mul_(dh_t)
        dc_t.addcmul_(dh_t, slope)
        dc_L.addmm_(do_L, W_co_L)
        dc_R.addmm_(do_R, W_co_R)
        df_i_t.mul_(dc_block)
        dg_t.mul_(dc_t)
        torch.mul(dc_L, f_L, out=dparent_c).addcmul_(dc_R, f_R)
        dparent.addmm_(dpre_fi, by_state)
        dparent_h.addmm_(dpre_go, by_h)


def _sides(rows: Tensor, num_roots: int) -> Tensor:
    """What stands below the roots, by parent and side `[parents, 2, ...]`, without a copy."""
    return cast(Tensor, rows[num_roots:].unflatten(0, (-1, 2)))


def _stacked_weights(weight_h: Tensor, weight_c: Tensor) -> tuple[Tensor, Tensor]:
    """The weights of [h, c] for f, i and of h for g, o, rows by side and gate."""
    hidden = weight_h.shape[-1]
    by_state = torch.cat([weight_h[:, : 2 * hidden], weight_c], 2)
    return by_state.view(-1, 2 * hidden), weight_h[:, 2 * hidden :].reshape(-1, hidden)


def _slopes(
    f_i: Tensor, g_o: Tensor, parent_c: Tensor, tanh_c: Tensor, num_roots: int
) -> tuple[Tensor, Tensor, Tensor]:
    """What the gradient of the cell (of h for o) is multiplied with to give each gate's; what dh is, to add to dc."""
    hidden = tanh_c.shape[1]
    slopes_fi, slopes_go = torch.empty_like(f_i), torch.empty_like(g_o)
    (f, i), (g, o) = torch.split(f_i, hidden, 1), torch.split(g_o, hidden, 1)
    (slope_f, slope_i), (slope_g, slope_o) = (
        torch.split(slopes_fi, hidden, 1),
        torch.split(slopes_go, hidden, 1),
    )
    slope_f[:num_roots] = 0
    sigmoid_gradient(parent_c.unsqueeze(1), _sides(f, num_roots), out=_sides(slope_f, num_roots))
    sigmoid_gradient(g, i, out=slope_i)
    tanh_gradient(i, g, out=slope_g)
    sigmoid_gradient(tanh_c, o, out=slope_o)
    return slopes_fi, slopes_go, tanh_gradient(o, tanh_c)


def _run_roots(f_i: Tensor, g_o: Tensor, h: Tensor, c: Tensor, tanh_c: Tensor) -> None:
    """A root has no parent: no forget gate and no peephole."""
    (f, i), (g, o) = f_i.chunk(2, 1), g_o.chunk(2, 1)
    f.zero_()
    torch.mul(i.sigmoid_(), g.tanh_(), out=c)
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)
