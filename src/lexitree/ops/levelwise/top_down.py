"""Node inputs in, top-down states out, level by level from the roots to the leaves."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.ops.levelwise.gates import apply, for_products, sigmoid_gradient, tanh_gradient
from lexitree.ops.weights import TopDownWeights


def levelwise_run_top_down(
    x: Float[Tensor, "nodes word"], weights: TopDownWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its parent's."""
    x_down = apply(_PermuteRows, x, batch.down_order, batch.up_to_down)
    inputs = _project_inputs(x_down, weights, batch.num_trees)
    h_down = apply(_TopDown, inputs, weights.h, weights.c, weights.peephole, batch)
    return apply(_PermuteRows, h_down, batch.up_to_down, batch.down_order)


def _project_inputs(x_down: Tensor, weights: TopDownWeights, num_roots: int) -> Tensor:
    """What the word vectors give to each gate, `[nodes, 4 * hidden]` in down order."""
    if weights.x.shape[0] == 1:
        return torch.addmm(weights.bias[0], x_down, weights.x[0].t())
    # After the roots, left and right children alternate; a root takes the left side's weights.
    roots = torch.addmm(weights.bias[0], x_down[:num_roots], weights.x[0].t())
    children = x_down[num_roots:].view(-1, 2, x_down.shape[1])
    sides = [torch.addmm(weights.bias[side], children[:, side], weights.x[side].t()) for side in (0, 1)]
    return torch.cat([roots, torch.stack(sides, 1).view(-1, roots.shape[1])])


class _PermuteRows(torch.autograd.Function):
    """Rows in another order; the gradient is a gather by the inverse, not a scatter."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return rows.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (inverse,) = ctx.saved_tensors
        return gradients[0].index_select(0, inverse), None, None


class _TopDown(torch.autograd.Function):
    """The recurrence in down order; gates are columns f, i, g, o.

    A level below the roots is left, right, left, right ..., so its rows `[2 * parents, ...]` are, without a
    copy, the two sides of each parent `[parents, 2, ...]`, and one product serves both.
    """

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight_h: Tensor, weight_c: Tensor, peephole: Tensor, batch: TreeBatch
    ) -> Tensor:
        hidden, num_roots = weight_h.shape[-1], batch.num_trees
        h, c, tanh_c = (inputs.new_empty(batch.num_nodes, hidden) for _ in range(3))
        gates = torch.empty_like(inputs)
        _run_roots(inputs[:num_roots], gates[:num_roots], h[:num_roots], c[:num_roots], tanh_c[:num_roots])
        parents = batch.down_parent_index[::2].contiguous()
        parent_h, parent_c = (inputs.new_empty(len(parents), hidden) for _ in range(2))
        times_h, times_c = (for_products(w.view(-1, hidden)) for w in (weight_h, weight_c))
        times_new_c = for_products(peephole)
        for start, end in batch.depth_levels():
            level = slice((start - num_roots) // 2, (end - num_roots) // 2)
            hp = torch.index_select(h, 0, parents[level], out=parent_h[level])
            cp = torch.index_select(c, 0, parents[level], out=parent_c[level])
            pre = gates[start:end].view(-1, 8 * hidden)
            torch.addmm(inputs[start:end].view(-1, 8 * hidden), hp, times_h, out=pre)
            sides = pre.view(-1, 2, 4 * hidden)
            sides[:, :, : 2 * hidden] += (cp @ times_c).view(-1, 2, 2 * hidden)
            sides[:, :, : 2 * hidden].sigmoid_()
            f, i, g, o = sides.chunk(4, 2)
            c_level = c[start:end].view(-1, 2, hidden)
            torch.mul(f, cp.unsqueeze(1), out=c_level).addcmul_(i, g.tanh_())
            for side in (0, 1):
                o[:, side].addmm_(c_level[:, side], times_new_c[side])
            torch.tanh(c[start:end], out=tanh_c[start:end])
            torch.mul(
                o.sigmoid_(), tanh_c[start:end].view(-1, 2, hidden), out=h[start:end].view(-1, 2, hidden)
            )
        ctx.save_for_backward(weight_h, weight_c, peephole, gates, parents, parent_h, parent_c, c, tanh_c)
        ctx.batch = batch
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, gates, parents, parent_h, parent_c, c, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_roots = weight_h.shape[-1], batch.num_trees
        h_stacked, c_stacked = weight_h.view(-1, hidden), weight_c.view(-1, hidden)
        dh = gradients[0].clone()
        dc_from_children = torch.zeros_like(c)
        dgates = torch.empty_like(gates)
        for start, end in reversed(batch.depth_levels()):
            level = slice((start - num_roots) // 2, (end - num_roots) // 2)
            f, i, g, o = gates[start:end].chunk(4, 1)
            df, di, dg, do = dgates[start:end].chunk(4, 1)
            sigmoid_gradient(dh[start:end] * tanh_c[start:end], o, out=do)
            dc = tanh_gradient(dh[start:end] * o, tanh_c[start:end])
            dc += dc_from_children[start:end]
            do_sides, dc_sides = do.view(-1, 2, hidden), dc.view(-1, 2, hidden)
            for side in (0, 1):
                dc_sides[:, side].addmm_(do_sides[:, side], peephole[side])
            to_forget = (dc_sides * parent_c[level].unsqueeze(1)).view(-1, hidden)
            sigmoid_gradient(to_forget, f, out=df)
            sigmoid_gradient(dc * g, i, out=di)
            tanh_gradient(dc * i, g, out=dg)
            dh.index_add_(0, parents[level], dgates[start:end].view(-1, 8 * hidden) @ h_stacked)
            seen_by_cells = dgates[start:end, : 2 * hidden].reshape(-1, 4 * hidden)
            dc_parent = (dc * f).view(-1, 2, hidden).sum(1).addmm_(seen_by_cells, c_stacked)
            dc_from_children.index_copy_(0, parents[level], dc_parent)
        roots = slice(0, num_roots)
        _run_roots_backward(dh[roots], dc_from_children[roots], gates[roots], tanh_c[roots], dgates[roots])
        dsides = dgates[num_roots:].view(-1, 2, 4 * hidden)
        dweight_h = (dsides.view(-1, 8 * hidden).t() @ parent_h).view_as(weight_h)
        dweight_c = (dsides[:, :, : 2 * hidden].reshape(-1, 4 * hidden).t() @ parent_c).view_as(weight_c)
        c_sides = c[num_roots:].view(-1, 2, hidden)
        dpeephole = torch.stack([dsides[:, side, 3 * hidden :].t() @ c_sides[:, side] for side in (0, 1)])
        return dgates, dweight_h, dweight_c, dpeephole, None


def _run_roots(inputs: Tensor, gates: Tensor, h: Tensor, c: Tensor, tanh_c: Tensor) -> None:
    """A root has no parent: no forget gate and no peephole."""
    gates.copy_(inputs)
    f, i, g, o = gates.chunk(4, 1)
    f.zero_()
    torch.mul(i.sigmoid_(), g.tanh_(), out=c)
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)


def _run_roots_backward(
    dh: Tensor, dc_from_children: Tensor, gates: Tensor, tanh_c: Tensor, dgates: Tensor
) -> None:
    _, i, g, o = gates.chunk(4, 1)
    df, di, dg, do = dgates.chunk(4, 1)
    sigmoid_gradient(dh * tanh_c, o, out=do)
    dc = tanh_gradient(dh * o, tanh_c) + dc_from_children
    df.zero_()
    sigmoid_gradient(dc * g, i, out=di)
    tanh_gradient(dc * i, g, out=dg)
