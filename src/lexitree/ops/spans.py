"""Leaf vectors in, the mean over the leaves under each node out, in time linear in nodes whatever the depth."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def span_means(
    leaves: Float[Tensor, "leaves hidden"], start: Int[Tensor, " nodes"], end: Int[Tensor, " nodes"]
) -> Float[Tensor, "nodes hidden"]:
    """The mean of `leaves[start:end]` for every node.

    Prefix sums make it linear. They are taken in float64: the difference of two sums over a long batch must
    not depend, in float32, on what else the batch holds.
    """
    sums = torch.zeros(len(leaves) + 1, leaves.shape[1], dtype=torch.float64, device=leaves.device)
    sums[1:] = leaves.double().cumsum(0)
    total = sums.index_select(0, end) - sums.index_select(0, start)
    return (total / (end - start).unsqueeze(1)).to(leaves.dtype)
