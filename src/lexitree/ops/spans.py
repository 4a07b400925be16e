"""Spans of words: how a sequence LSTM reads them, and the mean of their vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.arrays import IndexArray
from lexitree.ops.numpy.spans import SpanSchedule
from lexitree.ops.openmp import one_thread


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """How a sequence LSTM reads spans of leaves: one row per start, longest first, so that each step is a prefix.

    These are the arrays of a `lexitree.ops.numpy.spans.SpanSchedule`, which has an example, as tensors.
    """

    step_sizes: tuple[int, ...]
    """Number of rows that are longer than each step."""
    leaf_index: Int[Tensor, " places"]
    """The leaf read at each place."""
    previous_index: Int[Tensor, " later_places"]
    """The place one step before, for each place after the first step."""
    last_index: Int[Tensor, " spans"]
    """The place where each span ends, in the given order of the spans."""

    @classmethod
    def from_spans(cls, start: IndexArray, end: IndexArray, *, backwards: bool = False) -> SequenceSchedule:
        made = SpanSchedule.from_spans(start, end, backwards=backwards)
        parts = made.leaf_index, made.previous_index, made.last_index
        return cls(made.step_sizes, *(torch.from_numpy(part) for part in parts))

    @property
    def num_places(self) -> int:
        return len(self.leaf_index)

    def to(self, device: torch.device) -> SequenceSchedule:
        """Move the schedule to another device, in one copy."""
        if device == self.leaf_index.device:
            return self
        parts = (self.leaf_index, self.previous_index, self.last_index)
        moved = torch.split(torch.cat(parts).to(device), [len(part) for part in parts])
        return SequenceSchedule(self.step_sizes, *moved)


def span_means(
    leaves: Float[Tensor, "leaves hidden"], start: Int[Tensor, " nodes"], end: Int[Tensor, " nodes"]
) -> Float[Tensor, "nodes hidden"]:
    """The mean of `leaves[start:end]` for every node.

    Prefix sums make it linear in the number of nodes, whatever the depth. They are taken in float64: in float32, the
    difference of two sums would depend on what else the batch holds.
    """
    return cast(Tensor, _SpanMeans.apply(leaves, start, end))


class _SpanMeans(torch.autograd.Function):
    """Prefix sums; for the gradient, prefix sums of the spans that begin and end at each leaf."""

    @staticmethod
    @one_thread()
    def forward(ctx: Any, leaves: Tensor, start: Tensor, end: Tensor) -> Tensor:
        ctx.save_for_backward(start, end)
        ctx.num_leaves = len(leaves)
        sums = leaves.new_zeros(len(leaves) + 1, leaves.shape[1], dtype=torch.float64)
        _prefix_sums(leaves, out=sums[1:])
        total = sums.index_select(0, end).sub_(sums.index_select(0, start))
        return total.div_((end - start).unsqueeze(1)).to(leaves.dtype)

    @staticmethod
    @one_thread()
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        start, end = ctx.saved_tensors
        share = gradients[0].double() / (end - start).unsqueeze(1)
        changes = share.new_zeros(ctx.num_leaves + 1, share.shape[1])
        changes.index_add_(0, start, share).index_add_(0, end, share, alpha=-1)
        _prefix_sums(changes, out=changes)
        return changes[:-1].to(gradients[0].dtype), None, None


def _prefix_sums(rows: Tensor, out: Tensor) -> None:
    if rows.is_cuda:
        # A GPU sums neighbouring numbers in parallel, but rows one after the other.
        out.copy_(rows.t().contiguous().cumsum(1, dtype=torch.float64).t())
    else:
        torch.cumsum(rows, 0, dtype=torch.float64, out=out)
