"""Adam on the rows of the word table that a batch has, in one kernel; see `reference_update_rows`.

It is a module of its own since it shares nothing with the kernels that walk trees.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from lexitree.ops.tree_batch import TreeBatch

NO_ROW = 2**62


def fused_update_rows(
    table: Tensor,
    moments: Tensor,
    squares: Tensor,
    gradient: Tensor,
    batch: TreeBatch,
    betas: Tensor,
    num_steps: Tensor,
    rate_scale: Tensor,
    *,
    learning_rate: float,
    epsilon: float,
    shrink: float,
    l2: float,
) -> None:
    """Move the rows of the batch's words by Adam; see `reference_update_rows` for the arguments.

    The gradients of each word are summed in the order of the leaves, and nothing waits for the host. `betas`,
    `num_steps` and `rate_scale` are on the device, so that a recorded step keeps counting when it is replayed.
    """
    # As the backward pass left them: one row per leaf, words not yet added up.
    gradients = gradient._values()
    leaf = torch.arange(batch.num_leaves, device=batch.device)
    words = torch.where(leaf < batch.counts[0], batch.word_index, NO_ROW)
    rows, order = torch.sort(words, stable=True)
    # In float64: 1 - 0.999 loses four digits in float32.
    corrections = 1 - betas**num_steps
    size = table.shape[1]
    _update_rows[(batch.num_leaves,)](
        table, moments, squares, gradients, rows, order, betas, corrections, rate_scale, batch.num_leaves,
        learning_rate, epsilon, shrink, l2,
        SIZE=size, BLOCK=triton.next_power_of_2(size), NO_ROW=NO_ROW, num_warps=4,
    )  # fmt: skip


@triton.jit(do_not_specialize=["num_leaves"])
def _update_rows(
    table, moments, squares, gradients, rows, order, betas, corrections, rate_scale, num_leaves,
    learning_rate, epsilon, shrink, l2,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, NO_ROW: tl.constexpr,
):  # fmt: skip
    """The first leaf of each run of equal words does the work for all of them."""
    place = tl.program_id(0)
    row = tl.load(rows + place)
    before = tl.load(rows + place - 1, mask=place > 0, other=-1)
    if (row != before) & (row != NO_ROW):
        column = tl.arange(0, BLOCK)
        mask = column < SIZE
        gradient = tl.zeros((BLOCK,), tl.float32)
        same = row
        while same == row:
            gradient += tl.load(gradients + tl.load(order + place) * SIZE + column, mask=mask, other=0.0)
            place += 1
            same = tl.load(rows + place, mask=place < num_leaves, other=NO_ROW)
        at = row * SIZE + column
        vector = tl.load(table + at, mask=mask, other=0.0)
        gradient += l2 * vector
        moment = tl.load(moments + at, mask=mask, other=0.0)
        new_share = (1.0 - tl.load(betas)).to(tl.float32)
        moment += (gradient - moment) * new_share
        beta2 = tl.load(betas + 1)
        square = tl.load(squares + at, mask=mask, other=0.0) * beta2.to(tl.float32)
        square += gradient * gradient * (1.0 - beta2).to(tl.float32)
        first = tl.load(corrections).to(tl.float32)
        second = tl.load(corrections + 1).to(tl.float32)
        scale = tl.sqrt_rn(tl.div_rn(square, second)) + epsilon
        share = tl.load(rate_scale).to(tl.float32)
        vector = vector * (1.0 - shrink * share) - (learning_rate * share / first) * tl.div_rn(moment, scale)
        tl.store(table + at, vector, mask=mask)
        tl.store(moments + at, moment, mask=mask)
        tl.store(squares + at, square, mask=mask)
