"""Leaf vectors in, the mean over the leaves under each node out, in time linear in nodes whatever the depth."""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.threads import one_thread


def span_means(
    leaves: Float[Tensor, "leaves hidden"], start: Int[Tensor, " nodes"], end: Int[Tensor, " nodes"]
) -> Float[Tensor, "nodes hidden"]:
    """The mean of `leaves[start:end]` for every node.

    Prefix sums make it linear. They are taken in float64: the difference of two sums over a long batch must
    not depend, in float32, on what else the batch holds.
    """
    return cast(Tensor, _SpanMeans.apply(leaves, start, end))


class _SpanMeans(torch.autograd.Function):
    """Prefix sums, and for the gradient prefix sums of what begins and ends at each leaf."""

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
        # A GPU adds along neighbouring numbers in parallel, along rows one after the other.
        out.copy_(rows.t().contiguous().cumsum(1, dtype=torch.float64).t())
    else:
        torch.cumsum(rows, 0, dtype=torch.float64, out=out)
