"""Spans of words in NumPy: which read the same, how a sequence LSTM reads them, and the mean of their vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexitree.arrays import IndexArray, RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import ConfigError, SizeError

MAX_WORDS_READ = 20_000
"""Spans with more words are told apart without reading them: those of a deep tree have quadratically many."""


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
    """The index of one span for each distinct phrase, the first, and for each span the number of its phrase."""
    if (end - start).sum() <= MAX_WORDS_READ:
        return _read_phrases(words, start, end)
    _, first, place = np.unique(number_phrases(words, start, end), return_index=True, return_inverse=True)
    return first, place


def _read_phrases(words: IndexArray, start: IndexArray, end: IndexArray) -> tuple[IndexArray, IndexArray]:
    """The same, by the words of each span as they stand in memory."""
    raw, size = words.tobytes(), words.itemsize
    number_of: dict[bytes, int] = {}
    bounds = zip((start * size).tolist(), (end * size).tolist(), strict=True)
    place = np.array([number_of.setdefault(raw[a:b], len(number_of)) for a, b in bounds], dtype=np.int64)
    first = np.empty(len(number_of), dtype=np.int64)
    # Of several spans with a number, the one that is written last stays.
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)
    return first, place


def _number(values: IndexArray) -> IndexArray:
    return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)


def _number_pairs(first: IndexArray, second: IndexArray) -> IndexArray:
    """A number for each pair of numbers, none of them negative."""
    return _number(first * (second.max(initial=0) + 1) + second)


@dataclass(frozen=True, slots=True)
class SpanSchedule:
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
    leaf_index: IndexArray  # [places]
    """The leaf read at each place."""
    previous_index: IndexArray  # [places after the first step]
    """The place one step before, for each place after the first step."""
    last_index: IndexArray  # [spans]
    """The place where each span ends, in the given order of the spans."""

    @classmethod
    def from_spans(cls, start: IndexArray, end: IndexArray, *, backwards: bool = False) -> SpanSchedule:
        """The schedule for spans, each from its first word to the word after its last.

        Raises:
            SizeError: A span is empty, or begins before the first word.
        """
        lengths = end - start
        if len(start) and (lengths.min() < 1 or start.min() < 0):
            raise SizeError(
                f"spans need at least 1 word, from word 0 on; the shortest of these has {lengths.min()} words, and"
                f" the first begins at word {start.min()}"
            )
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
            first_leaves[order][row] + (-step if backwards else step),
            first_places[step[later] - 1] + row[later],
            first_places[lengths - 1] + place_of_row[row_of_span],
        )

    @property
    def num_places(self) -> int:
        return len(self.leaf_index)


MAX_SEQUENCE_BYTES = 4 << 30
"""Spans whose states would need more are refused: those of a deep tree have quadratically many words."""


def check_span_memory(num_bytes: int) -> None:
    """Refuse spans whose states need too much memory.

    Raises:
        ConfigError: They do.
    """
    if num_bytes > MAX_SEQUENCE_BYTES:
        raise ConfigError(
            "the phrases of these trees are too long to be read one by one",
            remedy="Ask for whole sentences only (--nodes root), or use a tree model.",
        )


def numpy_gather_features(
    down: RealArray, up: RealArray | None, layout: TreeLayout, nodes: IndexArray | None
) -> RealArray:
    """The features of nodes: their states from below, if any, those from above, and the mean of their words' ones.

    Args:
        down: [nodes, hidden], the states from above.
        up: [nodes, hidden], the states from below.
        layout: The trees.
        nodes: The nodes that are asked for, None for all.
    """
    start, end = layout.span_start, layout.span_end
    parts = [down] if up is None else [up, down]
    if nodes is not None:
        start, end, parts = start[nodes], end[nodes], [part[nodes] for part in parts]
    return np.concatenate([*parts, span_means(down[: layout.num_leaves], start, end)], 1)


def span_means(leaves: RealArray, start: IndexArray, end: IndexArray) -> RealArray:
    """The mean of `leaves[start:end]` for every node, [nodes, hidden].

    Prefix sums make it linear in the number of nodes. They are taken in float64: in float32, the difference of two
    sums would depend on what else the batch holds.

    Args:
        leaves: [leaves, hidden]
        start: [nodes], the first leaf of each.
        end: [nodes], the leaf after its last.
    """
    sums = np.zeros((len(leaves) + 1, leaves.shape[1]))
    np.cumsum(leaves, axis=0, dtype=np.float64, out=sums[1:])
    total = sums[end]
    total -= sums[start]
    total /= (end - start)[:, np.newaxis]
    return total.astype(leaves.dtype, copy=False)
