"""The sequence LSTM over all spans of a batch, one time step at a time."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.levels import (
    apply,
    blocks,
    cut,
    for_products,
    level_by_level,
    sigmoid_gradient,
    tanh_gradient,
)
from lexitree.ops.openmp import one_thread
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.weights import SequenceWeights


def levelwise_run_sequences(
    x: Float[Tensor, "leaves word"], weights: SequenceWeights, schedule: SequenceSchedule
) -> Float[Tensor, "spans hidden"]:
    """The last state of an LSTM over each span; see `reference_run_sequences`."""
    # Spans overlap: every word is projected once, and the rows are dealt out.
    projected = torch.addmm(weights.bias, x, weights.x.t())
    h = apply(_Sequences, projected, weights.h, weights.c, weights.peephole, schedule)
    return h.index_select(0, schedule.last_index)


class _Sequences(torch.autograd.Function):
    """The recurrence; gates are columns f, i, g, o. The rows that go on are a prefix of the step before."""

    @staticmethod
    @one_thread()
    def forward(
        ctx: Any,
        projected: Tensor,
        weight_h: Tensor,
        weight_c: Tensor | None,
        peephole: Tensor | None,
        schedule: SequenceSchedule,
    ) -> Tensor:
        gates = projected.index_select(0, schedule.leaf_index)
        h, c, tanh_c = (gates.new_empty(len(gates), weight_h.shape[1]) for _ in range(3))
        times = tuple(None if w is None else for_products(w) for w in (weight_h, weight_c, peephole))
        _run_steps(gates, (h, c, tanh_c), times, schedule.step_sizes)
        ctx.save_for_backward(weight_h, weight_c, peephole, gates, h, c, tanh_c)
        ctx.schedule, ctx.num_leaves = schedule, len(projected)
        return h

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, gates, h, c, tanh_c = ctx.saved_tensors
        schedule: SequenceSchedule = ctx.schedule
        hidden, num_rows = h.shape[1], len(h) - len(schedule.previous_index)
        h_before, c_before = (state.index_select(0, schedule.previous_index) for state in (h, c))
        dgates, slope_c = _slopes(gates, c_before, tanh_c)
        dstates = gradients[0].clone(memory_format=torch.contiguous_format), torch.zeros_like(c)
        weights = weight_h, weight_c, peephole
        _run_steps_backward(dgates, slope_c, gates[:, :hidden], dstates, weights, schedule.step_sizes)
        later = dgates[num_rows:]
        dprojected = dgates.new_zeros(ctx.num_leaves, 4 * hidden)
        return (
            dprojected.index_add_(0, schedule.leaf_index, dgates),
            later.t() @ h_before,
            None if weight_c is None else later[:, : 2 * hidden].t() @ c_before,
            None if peephole is None else dgates[:, 3 * hidden :].t() @ c,
            None,
        )


def _run_steps(
    gates: Tensor,
    states: tuple[Tensor, Tensor, Tensor],
    times: tuple[Tensor | None, ...],
    step_sizes: tuple[int, ...],
) -> None:
    """Squash the gates in place and fill h, c and tanh c; before the first step h and c are zero."""
    times_h, times_c, times_new_c = times
    assert times_h is not None
    hidden = states[0].shape[1]
    views = cut(step_sizes, gates, gates[:, : 2 * hidden], *torch.split(gates, hidden, 1), *states)
    before: tuple[Tensor, Tensor] | None = None
    for ((everything, f_i, f, i, g, o, h, c, tanh_c),) in level_by_level(views):
        c_before = None
        if before is not None:
            h_before, c_before = (state[: len(h)] for state in before)
            everything.addmm_(h_before, times_h)
            if times_c is not None:
                f_i.addmm_(c_before, times_c)
        f_i.sigmoid_()
        torch.mul(i, g.tanh_(), out=c)
        if c_before is not None:
            c.addcmul_(f, c_before)
        if times_new_c is not None:
            o.addmm_(c, times_new_c)
        torch.tanh(c, out=tanh_c)
        torch.mul(o.sigmoid_(), tanh_c, out=h)
        before = h, c


def _slopes(gates: Tensor, c_before: Tensor, tanh_c: Tensor) -> tuple[Tensor, Tensor]:
    """What dc (dh for o) is multiplied with to give each gate's gradient; and dh, to add to dc."""
    f, i, g, o = gates.chunk(4, 1)
    slopes = torch.empty_like(gates)
    slope_f, slope_i, slope_g, slope_o = slopes.chunk(4, 1)
    num_rows = len(gates) - len(c_before)
    # At the first step there is nothing to forget.
    slope_f[:num_rows] = 0
    sigmoid_gradient(c_before, f[num_rows:], out=slope_f[num_rows:])
    sigmoid_gradient(g, i, out=slope_i)
    tanh_gradient(i, g, out=slope_g)
    sigmoid_gradient(tanh_c, o, out=slope_o)
    return slopes, tanh_gradient(o, tanh_c)


def _run_steps_backward(
    dgates: Tensor,
    slope_c: Tensor,
    forget: Tensor,
    dstates: tuple[Tensor, Tensor],
    weights: tuple[Tensor, Tensor | None, Tensor | None],
    step_sizes: tuple[int, ...],
) -> None:
    """Turn the slopes in `dgates` into gradients; `dstates` gathers those of h and c from the steps after."""
    weight_h, weight_c, peephole = weights
    hidden = weight_h.shape[1]
    columns = (
        dgates,
        dgates[:, : 2 * hidden],
        dgates[:, 3 * hidden :],
        blocks(dgates[:, : 3 * hidden], hidden),
    )
    views = cut(step_sizes, *columns, slope_c, forget, *dstates)
    after: tuple[Tensor, ...] | None = None
    for ((everything, f_i, o, f_i_g, slope, f, dh, dc),) in level_by_level(views, backwards=True):
        if after is not None:
            everything_after, f_i_after, f_after, dc_after = after
            num_going_on = len(dc_after)
            dh[:num_going_on].addmm_(everything_after, weight_h)
            torch.mul(dc_after, f_after, out=dc[:num_going_on])
            if weight_c is not None:
                dc[:num_going_on].addmm_(f_i_after, weight_c)
        o.mul_(dh)
        dc.addcmul_(dh, slope)
        if peephole is not None:
            dc.addmm_(o, peephole)
        f_i_g.mul_(dc.unsqueeze(1))
        after = everything, f_i, f, dc
