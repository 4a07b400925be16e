"""Spans of words in, the schedule of a sequence LSTM over all of them out: one slice a time step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class SequenceSchedule:
    """Spans of a batch's leaves, longest first, so that the spans still running at a step are a prefix.

    For the spans (0, 3) and (3, 4) of words a b c | d, read forwards:

        step         0     0     1     2
        row          0     1     0     0
        leaf_index   a     d     b     c        step_sizes = (2, 1, 1)
        last_index of the spans: 3 (row 0 ends at the fourth place), 1
    """

    step_sizes: tuple[int, ...]
    """How many spans are longer than each step."""
    leaf_index: Int[Tensor, " places"]
    """The leaf read at each place."""
    last_index: Int[Tensor, " spans"]
    """The place where each span ends, in the order the spans were given."""

    @classmethod
    def from_spans(
        cls, start: Int[Tensor, " spans"], end: Int[Tensor, " spans"], *, backwards: bool = False
    ) -> SequenceSchedule:
        starts, ends = start.cpu().numpy(), end.cpu().numpy()
        lengths = ends - starts
        order = np.argsort(-lengths, kind="stable")
        lengths_in_order = lengths[order]
        num_steps = int(lengths.max(initial=0))
        # step_sizes[t] = number of spans with length > t
        step_sizes = len(lengths) - np.searchsorted(np.sort(lengths), np.arange(num_steps), side="right")
        first_places = np.cumsum(step_sizes) - step_sizes
        step = np.repeat(np.arange(num_steps), step_sizes)
        row = np.arange(len(step)) - np.repeat(first_places, step_sizes)
        leaf = (ends[order][row] - 1 - step) if backwards else (starts[order][row] + step)
        last = np.empty_like(lengths)
        last[order] = first_places[lengths_in_order - 1] + np.arange(len(lengths))
        device = start.device
        return cls(
            tuple(step_sizes.tolist()),
            torch.from_numpy(leaf).to(device),
            torch.from_numpy(last).to(device),
        )
