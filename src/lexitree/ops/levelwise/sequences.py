"""Word vectors and spans in, the last state of a sequence LSTM over each span out, step by step."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.gates import apply, for_products, sigmoid_gradient, tanh_gradient
from lexitree.ops.sequences import SequenceSchedule
from lexitree.ops.weights import SequenceWeights


def levelwise_run_sequences(
    x: Float[Tensor, "leaves word"], weights: SequenceWeights, schedule: SequenceSchedule
) -> Float[Tensor, "spans hidden"]:
    """The last state of an LSTM over each span."""
    # Spans overlap: project every word once, then deal the rows out.
    inputs = torch.addmm(weights.bias, x, weights.x.t()).index_select(0, schedule.leaf_index)
    h = apply(_Sequences, inputs, weights.h, weights.c, weights.peephole, schedule.step_sizes)
    return h.index_select(0, schedule.last_index)


def _steps(step_sizes: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """(first place, place after the last, first place of the step before) of every step after the first."""
    ends = list(itertools.accumulate(step_sizes))
    starts = [0, *ends]
    return [(starts[step], ends[step], starts[step - 1]) for step in range(1, len(step_sizes))]


class _Sequences(torch.autograd.Function):
    """The recurrence; gates are columns f, i, g, o. The rows that go on are a prefix of the step before."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight_h: Tensor,
        weight_c: Tensor | None,
        peephole: Tensor | None,
        step_sizes: tuple[int, ...],
    ) -> Tensor:
        hidden, num_places = weight_h.shape[1], inputs.shape[0]
        h, c, tanh_c = (inputs.new_empty(num_places, hidden) for _ in range(3))
        gates = inputs.clone()
        times_h = for_products(weight_h)
        times_c, times_new_c = (None if w is None else for_products(w) for w in (weight_c, peephole))
        first = slice(0, step_sizes[0] if step_sizes else 0)
        _finish_step(gates[first], None, times_new_c, h[first], c[first], tanh_c[first])
        for start, end, before in _steps(step_sizes):
            previous = slice(before, before + end - start)
            pre = gates[start:end].addmm_(h[previous], times_h)
            if times_c is not None:
                pre[:, : 2 * hidden].addmm_(c[previous], times_c)
            _finish_step(pre, c[previous], times_new_c, h[start:end], c[start:end], tanh_c[start:end])
        ctx.save_for_backward(weight_h, weight_c, peephole, gates, h, c, tanh_c)
        ctx.step_sizes = step_sizes
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        weight_h, weight_c, peephole, gates, h, c, tanh_c = ctx.saved_tensors
        step_sizes: tuple[int, ...] = ctx.step_sizes
        hidden = weight_h.shape[1]
        dh, dc_later = gradients[0].clone(), torch.zeros_like(c)
        dgates = torch.empty_like(gates)
        parent_rows: list[Tensor] = []
        for start, end, before in reversed(_steps(step_sizes)):
            previous, rows = slice(before, before + end - start), slice(start, end)
            dc = _step_backward(dh[rows], dc_later[rows], gates[rows], tanh_c[rows], peephole, dgates[rows])
            sigmoid_gradient(dc * c[previous], gates[rows, :hidden], out=dgates[rows, :hidden])
            dh[previous].addmm_(dgates[rows], weight_h)
            torch.mul(dc, gates[rows, :hidden], out=dc_later[previous])
            if weight_c is not None:
                dc_later[previous].addmm_(dgates[rows, : 2 * hidden], weight_c)
            parent_rows.append(torch.arange(before, before + end - start, device=h.device))
        first = slice(0, step_sizes[0] if step_sizes else 0)
        _step_backward(dh[first], dc_later[first], gates[first], tanh_c[first], peephole, dgates[first])
        dgates[first, :hidden] = 0
        later = dgates[first.stop :]
        parents = (
            torch.cat(parent_rows[::-1]) if parent_rows else torch.zeros(0, dtype=torch.long, device=h.device)
        )
        return (
            dgates,
            later.t() @ h.index_select(0, parents),
            None if weight_c is None else later[:, : 2 * hidden].t() @ c.index_select(0, parents),
            None if peephole is None else dgates[:, 3 * hidden :].t() @ c,
            None,
        )


def _finish_step(
    gates: Tensor, c_before: Tensor | None, times_new_c: Tensor | None, h: Tensor, c: Tensor, tanh_c: Tensor
) -> None:
    """Squash the gates in place and fill h and c; before the first step the cell is zero."""
    f, i, g, o = gates.chunk(4, 1)
    torch.mul(i.sigmoid_(), g.tanh_(), out=c)
    f.sigmoid_()
    if c_before is not None:
        c.addcmul_(f, c_before)
    if times_new_c is not None:
        o.addmm_(c, times_new_c)
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)


def _step_backward(
    dh: Tensor, dc_later: Tensor, gates: Tensor, tanh_c: Tensor, peephole: Tensor | None, dgates: Tensor
) -> Tensor:
    """Fill the gradients of i, g, o; the gradient of the cell is returned."""
    _, i, g, o = gates.chunk(4, 1)
    _, di, dg, do = dgates.chunk(4, 1)
    sigmoid_gradient(dh * tanh_c, o, out=do)
    dc = tanh_gradient(dh * o, tanh_c).add_(dc_later)
    if peephole is not None:
        dc.addmm_(do, peephole)
    sigmoid_gradient(dc * g, i, out=di)
    tanh_gradient(dc * i, g, out=dg)
    return dc
