"""Node inputs in, bottom-up states out, level by level from the leaves to the roots."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.ops.levelwise.gates import apply, for_products, sigmoid_gradient, tanh_gradient
from lexitree.ops.weights import BottomUpWeights


def levelwise_run_bottom_up(
    x: Float[Tensor, "inputs word"], weights: BottomUpWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its children; `x` holds all nodes (+Lex) or the leaves only."""
    num_leaves, hidden = batch.num_leaves, weights.hidden
    # A leaf has no forget gate; in the plain model the inner nodes have no input at all.
    leaf_weight = weights.x[hidden:] if weights.is_lexical else weights.x
    leaf_input = x[:num_leaves] @ leaf_weight.t()
    inner_input = x[num_leaves:] @ weights.x.t() if weights.is_lexical else None
    return apply(
        _BottomUp, leaf_input, inner_input, weights.h, weights.c, weights.peephole, weights.bias, batch
    )


class _BottomUp(torch.autograd.Function):
    """The recurrence; gates are columns f_L, f_R, i, g, o at inner nodes and i, g, o at leaves."""

    @staticmethod
    def forward(
        ctx: Any,
        leaf_input: Tensor,
        inner_input: Tensor | None,
        weight_h: Tensor,
        weight_c: Tensor | None,
        peephole: Tensor | None,
        bias: Tensor,
        batch: TreeBatch,
    ) -> Tensor:
        hidden, num_leaves = len(bias) // 5, batch.num_leaves
        num_nodes, num_inner = batch.num_nodes, batch.num_nodes - batch.num_leaves
        h, c, tanh_c = (bias.new_empty(num_nodes, hidden) for _ in range(3))
        leaf_gates = leaf_input + bias[2 * hidden :]
        _run_leaves(leaf_gates, h[:num_leaves], c[:num_leaves], tanh_c[:num_leaves])

        times_h = for_products(weight_h)
        times_c, times_new_c = (None if w is None else for_products(w) for w in (weight_c, peephole))
        gates = bias.new_empty(num_inner, 5 * hidden)
        children_h, children_c = (bias.new_empty(num_inner, 2 * hidden) for _ in range(2))
        for start, end in batch.levels():
            level = slice(start - num_leaves, end - num_leaves)
            index = batch.children_index[2 * level.start : 2 * level.stop]
            torch.index_select(h, 0, index, out=children_h[level].view(-1, hidden))
            torch.index_select(c, 0, index, out=children_c[level].view(-1, hidden))
            pre = torch.addmm(bias, children_h[level], times_h, out=gates[level])
            if inner_input is not None:
                pre[:, :hidden] += inner_input[level, :hidden]
                pre[:, hidden:] += inner_input[level]
            if times_c is not None:
                pre[:, : 3 * hidden].addmm_(children_c[level], times_c)
            pre[:, : 3 * hidden].sigmoid_()
            forget, i, g, o = _split_gates(pre, hidden)
            kept = (forget * children_c[level]).view(-1, 2, hidden)
            torch.sum(kept, 1, out=c[start:end]).addcmul_(i, g.tanh_())
            if times_new_c is not None:
                o.addmm_(c[start:end], times_new_c)
            torch.tanh(c[start:end], out=tanh_c[start:end])
            torch.mul(o.sigmoid_(), tanh_c[start:end], out=h[start:end])
        ctx.save_for_backward(
            weight_h, weight_c, peephole, leaf_gates, gates, children_h, children_c, c, tanh_c
        )
        ctx.batch, ctx.is_lexical = batch, inner_input is not None
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, leaf_gates, gates, children_h, children_c, c, tanh_c = ctx.saved_tensors
        batch: TreeBatch = ctx.batch
        hidden, num_leaves = weight_h.shape[0] // 5, batch.num_leaves
        dh = gradients[0].clone()
        dc_from_parent = torch.zeros_like(c)
        dgates = torch.empty_like(gates)
        for start, end in reversed(batch.levels()):
            level = slice(start - num_leaves, end - num_leaves)
            index = batch.children_index[2 * level.start : 2 * level.stop]
            forget, i, g, o = _split_gates(gates[level], hidden)
            dforget, di, dg, do = _split_gates(dgates[level], hidden)
            sigmoid_gradient(dh[start:end] * tanh_c[start:end], o, out=do)
            dc = tanh_gradient(dh[start:end] * o, tanh_c[start:end])
            dc += dc_from_parent[start:end]
            if peephole is not None:
                dc.addmm_(do, peephole)
            dc_pair = dc.repeat(1, 2)
            sigmoid_gradient(dc_pair * children_c[level], forget, out=dforget)
            sigmoid_gradient(dc * g, i, out=di)
            tanh_gradient(dc * i, g, out=dg)
            dh.index_add_(0, index, (dgates[level] @ weight_h).view(-1, hidden))
            dc_children = dc_pair.mul_(forget)
            if weight_c is not None:
                dc_children.addmm_(dgates[level, : 3 * hidden], weight_c)
            # Each child has one parent, so nothing is added up here.
            dc_from_parent.index_copy_(0, index, dc_children.view(-1, hidden))
        dleaf_gates = _run_leaves_backward(
            dh[:num_leaves], dc_from_parent[:num_leaves], leaf_gates, tanh_c[:num_leaves]
        )
        dbias = dgates.sum(0)
        dbias[2 * hidden :] += dleaf_gates.sum(0)
        dinner = None
        if ctx.is_lexical:
            dinner = dgates[:, hidden:].clone()
            dinner[:, :hidden] += dgates[:, :hidden]
        return (
            dleaf_gates,
            dinner,
            dgates.t() @ children_h,
            None if weight_c is None else dgates[:, : 3 * hidden].t() @ children_c,
            None if peephole is None else dgates[:, 4 * hidden :].t() @ c[num_leaves:],
            dbias,
            None,
        )


def _split_gates(gates: Tensor, hidden: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of the columns: both forget gates as one, i, g, o."""
    forget = gates[:, : 2 * hidden]
    i, g, o = gates[:, 2 * hidden :].chunk(3, 1)
    return forget, i, g, o


def _run_leaves(gates: Tensor, h: Tensor, c: Tensor, tanh_c: Tensor) -> None:
    """Squash the gates i, g, o in place and fill the leaves' states."""
    i, g, o = gates.chunk(3, 1)
    torch.mul(i.sigmoid_(), g.tanh_(), out=c)
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)


def _run_leaves_backward(dh: Tensor, dc_from_parent: Tensor, gates: Tensor, tanh_c: Tensor) -> Tensor:
    i, g, o = gates.chunk(3, 1)
    dgates = torch.empty_like(gates)
    di, dg, do = dgates.chunk(3, 1)
    sigmoid_gradient(dh * tanh_c, o, out=do)
    dc = tanh_gradient(dh * o, tanh_c) + dc_from_parent
    sigmoid_gradient(dc * g, i, out=di)
    tanh_gradient(dc * i, g, out=dg)
    return dgates
