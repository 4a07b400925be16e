"""The schedule of the sequence LSTM: every span reads its own words, in order, and ends where it says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lexitree.ops.spans import SequenceSchedule

spans = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=8)


@given(spans, st.booleans())
def test_every_span_reads_its_words_in_order(pairs: list[tuple[int, int]], backwards: bool) -> None:
    start = np.array([first for first, _ in pairs], dtype=np.int64)
    end = np.array([first + length for first, length in pairs], dtype=np.int64)
    schedule = SequenceSchedule.from_spans(start, end, backwards=backwards)
    assert sum(schedule.step_sizes) == schedule.num_places
    assert list(schedule.step_sizes) == sorted(schedule.step_sizes, reverse=True)
    for (first, length), last in zip(pairs, schedule.last_index.tolist(), strict=True):
        words = list(range(first, first + length))
        assert read_backwards(schedule, last, length) == (words if backwards else words[::-1])


def read_backwards(schedule: SequenceSchedule, place: int, length: int) -> list[int]:
    """Walk from a span's last place to its first."""
    num_rows = schedule.num_places - len(schedule.previous_index)
    words = [int(schedule.leaf_index[place])]
    while place >= num_rows:
        place = int(schedule.previous_index[place - num_rows])
        words.append(int(schedule.leaf_index[place]))
    assert len(words) == length
    return words


@given(spans, st.booleans())
def test_what_spans_have_in_common_is_read_once(pairs: list[tuple[int, int]], backwards: bool) -> None:
    """Spans from one word on are one row, as long as the longest of them."""
    start = np.array([first for first, _ in pairs], dtype=np.int64)
    end = np.array([first + length for first, length in pairs], dtype=np.int64)
    longest: dict[int, int] = {}
    for first, length in pairs:
        begin = first + length if backwards else first
        longest[begin] = max(length, longest.get(begin, 0))
    schedule = SequenceSchedule.from_spans(start, end, backwards=backwards)
    assert schedule.num_places == sum(longest.values())


def test_docstring_example() -> None:
    schedule = SequenceSchedule.from_spans(np.array([0, 0, 3]), np.array([3, 2, 4]))
    assert schedule.step_sizes == (2, 1, 1)
    assert schedule.leaf_index.tolist() == [0, 3, 1, 2]
    assert schedule.previous_index.tolist() == [0, 2]
    assert schedule.last_index.tolist() == [3, 2, 1]
