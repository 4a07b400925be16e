"""The sequence LSTM over all spans of a batch, computed by one native kernel, and its gradients by another."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lexitree.ops.levelwise.levels import apply
from lexitree.ops.native.calls import in_rows, kernels_for
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.weights import SequenceWeights


def native_run_sequences(
    x: Float[Tensor, "leaves word"], weights: SequenceWeights, schedule: SequenceSchedule
) -> Float[Tensor, "spans hidden"]:
    """The last state of an LSTM over each span; see `reference_run_sequences`."""
    return apply(_Sequences, x, *weights, schedule)


class _Sequences(torch.autograd.Function):
    """The recurrence; kernels/sequences.c tells what the buffers hold."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight_x: Tensor,
        weight_h: Tensor,
        weight_c: Tensor | None,
        peephole: Tensor | None,
        bias: Tensor,
        schedule: SequenceSchedule,
    ) -> Tensor:
        hidden, num_spans = weight_h.shape[1], len(schedule.last_index)
        factors = tuple(map(in_rows, (x, weight_x, weight_h, weight_c, peephole)))
        bias = bias.contiguous()
        index = (torch.tensor(schedule.step_sizes, dtype=torch.int64), schedule.leaf_index.contiguous())
        index = (*index, schedule.last_index.contiguous())
        out = bias.new_empty(num_spans, hidden)
        kept = tuple(bias.new_empty(schedule.num_places, columns * hidden) for columns in (4, 2))
        ctx.sizes = (
            *(hidden, weight_x.shape[1], int(weight_c is not None)),
            *(len(x), len(schedule.step_sizes), num_spans, schedule.num_places),
        )
        kernels_for(bias).sequences_forward(*(*factors, bias), *ctx.sizes, *(*index, out, *kept))
        ctx.save_for_backward(*factors, *index, *kept)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, weight_x, weight_h, weight_c, peephole, *kept = ctx.saved_tensors
        factors = (x, weight_x, weight_h, weight_c, peephole)
        dout = gradients[0].contiguous()
        dx, *dweights = (None if each is None else torch.empty_like(each) for each in factors)
        dx = dx if ctx.needs_input_grad[0] else None
        dbias = x.new_empty(len(weight_h))
        kernels_for(x).sequences_backward(*factors, *ctx.sizes, *(*kept, dout, dx, *dweights, dbias))
        return dx, *dweights, dbias, None
