"""Words and spans in, a number for each phrase out: the same for spans of the same words in the same order."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import IndexArray


def number_phrases(words: IndexArray, start: IndexArray, end: IndexArray) -> IndexArray:
    """A number for each span of `words`, from 0 on; two spans have the same if they read the same.

    Nothing is hashed, so nothing can collide: runs of 1, 2, 4, ... words are numbered by the numbers of their
    halves, and a span by its length and the two longest such runs that begin and end with it. That takes a
    logarithmic number of passes, however long the spans are.
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
    """One span for each phrase, and for each span the place of its phrase among these."""
    _, first, place = np.unique(number_phrases(words, start, end), return_index=True, return_inverse=True)
    return first, place


def _number(values: IndexArray) -> IndexArray:
    return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)


def _number_pairs(first: IndexArray, second: IndexArray) -> IndexArray:
    """A number for each pair of numbers, none of them negative."""
    return _number(first * (second.max(initial=0) + 1) + second)
