"""Spans of words in, the schedule of a sequence LSTM over all of them out: one slice a time step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from lexitree.arrays import IndexArray


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """Spans of a batch's leaves as rows, longest first, so that the rows still running at a step are a prefix.

    Spans that begin with the same leaf are one row: on its way to the end of the longest it passes the ends of the
    others. Read backwards, this goes for spans that end with the same leaf. There is no padding.

    For the spans (0, 3), (0, 2) and (3, 4) of words a b c | d, read forwards:

        step            0     0     1     2
        row             0     1     0     0
        leaf_index      a     d     b     c        step_sizes = (2, 1, 1)
        previous_index              0     2
        last_index of the spans: 3, 2 (row 0 on its third and on its second step), 1
    """

    step_sizes: tuple[int, ...]
    """How many rows are longer than each step."""
    leaf_index: Int[Tensor, " places"]
    """The leaf read at each place."""
    previous_index: Int[Tensor, " later_places"]
    """The place one step before, for each place after the first step."""
    last_index: Int[Tensor, " spans"]
    """The place where each span ends, in the order the spans were given."""

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
        """The same schedule on another device, moved in one copy."""
        if device == self.leaf_index.device:
            return self
        parts = (self.leaf_index, self.previous_index, self.last_index)
        moved = torch.split(torch.cat(parts).to(device), [len(part) for part in parts])
        return SequenceSchedule(self.step_sizes, *moved)
