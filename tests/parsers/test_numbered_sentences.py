"""Batches of numbered sentences: each place has the features of its word, in whatever order they are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.numbered_sentences import NumberedSentences
from lexitree.parsers.word_features import NUM_FEATURES, WordFeatures

FEATURES = WordFeatures(Vocabulary(["a"]), Vocabulary(["\x02", "\x03", "a", "film"]), 50)


@given(
    st.lists(st.lists(st.sampled_from(["a", "film", "new"]), min_size=1, max_size=6), min_size=1), st.data()
)
def test_each_sentence_has_its_own_numbers(sentences: list[list[str]], data: st.DataObject) -> None:
    numbered = NumberedSentences.of(FEATURES, sentences)
    chosen = data.draw(st.lists(st.sampled_from(range(len(sentences))), min_size=1))
    batch = numbered.pad(np.array(chosen), np.zeros(len(chosen), dtype=np.int64))
    assert batch.num_words == max(len(sentences[number]) for number in chosen)
    assert batch.is_sorted == (batch.places.tolist() == sorted(batch.places.tolist(), reverse=True))
    for column, number in enumerate(chosen):
        own = batch.rows[: batch.places[column], column]
        vectors, words, affixes = FEATURES.number(sentences[number])
        assert np.array_equal(own, np.column_stack([vectors, words, affixes]))
        assert batch.is_place[:, column].sum() == len(own)


def test_behind_its_end_a_sentence_repeats_its_start() -> None:
    batch = NumberedSentences.of(FEATURES, [["a"], ["a", "film"]]).pad(np.arange(2), np.array([0, 0]))
    assert batch.rows.shape == (4, 2, NUM_FEATURES)
    assert np.array_equal(batch.rows[3, 0], batch.rows[0, 0])
    assert not batch.is_sorted


@pytest.mark.parametrize("number", [1, 2, 9])
def test_nothing_before_a_sentence_counts(number: int) -> None:
    alone = NumberedSentences.of(FEATURES, [["film"]])
    after = NumberedSentences.of(FEATURES, [["a"] * each for each in range(1, number)] + [["film"]])
    last = np.array([number - 1])
    assert np.array_equal(after.pad(last, last).rows, alone.pad(np.array([0]), last).rows)
