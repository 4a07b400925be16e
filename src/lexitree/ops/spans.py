"""Spans of words: which of them read the same, how a sequence LSTM reads them, and the mean of their vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.arrays import IndexArray
from lexitree.ops.openmp import one_thread


def number_phrases(words: IndexArray, start: IndexArray, end: IndexArray) -> IndexArray:
    """Number spans of `words` from 0, so that spans of the same words get the same number.

    Nothing is hashed, so nothing can collide: runs of 1, 2, 4, ... words are numbered by the numbers of their
    halves, and a span by its length and the two longest such runs that begin and end with it. This takes a
    logarithmic number of passes in the length of the spans.
    """
    lengths = end - start
    numbers = np.zeros(len(start), dtype=np.int64)
    num_phrases, size = 0, 1
    runs = _number(words)
    while (longer := lengths >= size).any():
        chosen = np.flatnonzero(longer & (lengths < 2 * size))
        both_runs = _number_pairs(runs[start[chosen]], runs[end[chosen] - size])
        found = _number_pairs(both_runs, lengths[chosen] - size)
        numbers[chosen] = found + num_phrases
        num_phrases += int(found.max(initial=-1)) + 1
        runs = _number_pairs(runs[:-size], runs[size:])
        size *= 2
    return numbers


def distinct_phrases(words: IndexArray, start: IndexArray, end: IndexArray) -> tuple[IndexArray, IndexArray]:
    """The index of one span for each distinct phrase, and for each span the number of its phrase."""
    _, first, place = np.unique(number_phrases(words, start, end), return_index=True, return_inverse=True)
    return first, place


def _number(values: IndexArray) -> IndexArray:
    return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)


def _number_pairs(first: IndexArray, second: IndexArray) -> IndexArray:
    """A number for each pair of numbers, none of them negative."""
    return _number(first * (second.max(initial=0) + 1) + second)


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """How a sequence LSTM reads spans of leaves: one row per start, longest first, so that each step is a prefix.

    Spans that begin with the same leaf share a row: on its way to the end of the longest it passes the ends of the
    others. Read backwards, the same holds for spans that end with the same leaf. There is no padding.

    For the spans (0, 3), (0, 2) and (3, 4) of words a b c | d, read forwards:

        step            0     0     1     2
        row             0     1     0     0
        leaf_index      a     d     b     c        step_sizes = (2, 1, 1)
        previous_index              0     2
        last_index of the spans: 3, 2 (row 0 on its third and on its second step), 1
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
        lengths = end - start
        first_leaves, row_of_span = np.unique(end - 1 if backwards else start, return_inverse=True)
        row_lengths = np.zeros(len(first_leaves), dtype=np.int64)
        np.maximum.at(row_lengths, row_of_span, lengths)
        order = np.argsort(-row_lengths, kind="stable")
        num_steps = int(row_lengths.max(initial=0))
        # step_sizes[t] = number of rows with length > t
        step_sizes = len(order) - np.searchsorted(np.sort(row_lengths), np.arange(num_steps), side="right")
        first_places = np.cumsum(step_sizes) - step_sizes
        step = np.repeat(np.arange(num_steps), step_sizes)
        row = np.arange(len(step)) - first_places[step]
        later = slice(len(order), None)
        place_of_row = np.empty_like(order)
        place_of_row[order] = np.arange(len(order))
        return cls(
            tuple(step_sizes.tolist()),
            torch.from_numpy(first_leaves[order][row] + (-step if backwards else step)),
            torch.from_numpy(first_places[step[later] - 1] + row[later]),
            torch.from_numpy(first_places[lengths - 1] + place_of_row[row_of_span]),
        )

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
