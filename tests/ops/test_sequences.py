"""The schedule of the sequence LSTM: every span reads its own words, in order, and ends where it says."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from lexitree.ops.sequences import SequenceSchedule

spans = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=8)


@given(spans, st.booleans())
def test_every_span_reads_its_words_in_order(pairs: list[tuple[int, int]], backwards: bool) -> None:
    start = torch.tensor([first for first, _ in pairs], dtype=torch.long)
    end = torch.tensor([first + length for first, length in pairs], dtype=torch.long)
    schedule = SequenceSchedule.from_spans(start, end, backwards=backwards)
    assert sum(schedule.step_sizes) == len(schedule.leaf_index) == sum(length for _, length in pairs)
    for (first, length), last in zip(pairs, schedule.last_index.tolist(), strict=True):
        words = list(range(first, first + length))
        assert read_backwards(schedule, last, length) == (words if backwards else words[::-1])


def read_backwards(schedule: SequenceSchedule, place: int, length: int) -> list[int]:
    """Walk from a span's last place to its first: the row is the same at every step."""
    starts = [0]
    for size in schedule.step_sizes:
        starts.append(starts[-1] + size)
    row = place - starts[length - 1]
    return [int(schedule.leaf_index[starts[step] + row]) for step in range(length - 1, -1, -1)]


def test_docstring_example() -> None:
    schedule = SequenceSchedule.from_spans(torch.tensor([0, 3]), torch.tensor([3, 4]))
    assert schedule.step_sizes == (2, 1, 1)
    assert schedule.leaf_index.tolist() == [0, 3, 1, 2]
    assert schedule.last_index.tolist() == [3, 1]
