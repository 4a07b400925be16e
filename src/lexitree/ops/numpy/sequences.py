"""The sequence LSTM over all spans of a batch in NumPy, one time step at a time."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import RealArray
from lexitree.ops.numpy.functions import columns, squash
from lexitree.ops.numpy.spans import SpanSchedule
from lexitree.ops.weights import SequenceWeights


def numpy_run_sequences(x: RealArray, weights: SequenceWeights, schedule: SpanSchedule) -> RealArray:
    """The last state of an LSTM over each span, [spans, hidden]; see `reference_run_sequences`.

    Args:
        x: [leaves, word]
        weights: With the cells' peepholes or without.
        schedule: The spans.
    """
    dtype, hidden = weights.bias.dtype, weights.hidden
    # Spans overlap: every word is projected once, and the rows are dealt out.
    projected = x.astype(dtype, copy=False) @ weights.x.T
    projected += weights.bias
    h = np.empty((schedule.num_places, hidden), dtype)
    # Before the first step, all states are zero; the rows that go on are a prefix of the step before.
    h_before = c_before = np.zeros((max(schedule.step_sizes, default=0), hidden), dtype)
    first = 0
    for size in schedule.step_sizes:
        step = slice(first, first + size)
        gates = projected[schedule.leaf_index[step]]
        c_before = _run_step(gates, h_before[:size], c_before[:size], weights, h[step])
        h_before = h[step]
        first += size
    return h[schedule.last_index]


def _run_step(
    gates: RealArray,
    h_before: RealArray,
    c_before: RealArray,
    weights: SequenceWeights,
    new_h: RealArray,
) -> RealArray:
    """Squash the gates of a step in place, fill its h, and return its c."""
    hidden = weights.hidden
    gates += h_before @ weights.h.T
    f_i = gates[:, : 2 * hidden]
    if weights.c is not None:
        f_i += c_before @ weights.c.T
    squash(f_i)
    f, i, g, o = columns(gates, hidden)
    c = f * c_before + i * np.tanh(g)
    if weights.peephole is not None:
        o += c @ weights.peephole.T
    np.multiply(squash(o), np.tanh(c), out=new_h)
    return c
