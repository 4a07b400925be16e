"""Phrases get the same number if and only if they read the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexitree.ops.numpy import spans
from lexitree.ops.numpy.spans import distinct_phrases, number_phrases


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Few different words, so that phrases come again."""
    words = draw(st.lists(st.integers(0, 2), min_size=1, max_size=40))
    ends = st.tuples(st.integers(0, len(words)), st.integers(0, len(words)))
    pairs = draw(st.lists(ends.filter(lambda pair: pair[0] != pair[1]), max_size=30))
    return words, [(min(pair), max(pair)) for pair in pairs]


@given(texts_with_spans())
def test_numbers_are_equal_where_the_words_are(case: tuple[list[int], list[tuple[int, int]]]) -> None:
    words, pairs = case
    start, end = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    numbers = number_phrases(np.array(words), start, end).tolist()
    phrases = [tuple(words[first:last]) for first, last in pairs]
    assert len(set(zip(numbers, phrases, strict=True))) == len(set(numbers)) == len(set(phrases))


@pytest.mark.parametrize("most_read", [0, spans.MAX_WORDS_READ])
@given(case=texts_with_spans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_phrase_is_chosen_once(
    most_read: int, case: tuple[list[int], list[tuple[int, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether few words are read or many are numbered."""
    monkeypatch.setattr(spans, "MAX_WORDS_READ", most_read)
    words, pairs = case
    start, end = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    first, place = (found.tolist() for found in distinct_phrases(np.array(words), start, end))
    phrases = [tuple(words[begin:last]) for begin, last in pairs]
    chosen = [phrases[span] for span in first]
    assert len(set(chosen)) == len(chosen)
    assert [chosen[row] for row in place] == phrases
    assert first == [phrases.index(phrase) for phrase in chosen]


def test_long_phrases_that_differ_in_one_word() -> None:
    words = np.zeros(3000, dtype=np.int64)
    words[[700, 1700]] = 1
    start = np.array([0, 1000, 1, 2000])
    numbers = number_phrases(words, start, start + 1000)
    assert numbers[0] == numbers[1]
    assert len(set(numbers.tolist())) == 3
