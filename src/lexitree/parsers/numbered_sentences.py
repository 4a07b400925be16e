"""Many sentences as the row numbers of a parser's tables, and batches of them padded to the longest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lexitree.arrays import BoolArray, IndexArray
from lexitree.parsers.word_features import SENTENCE_END, SENTENCE_START, WordFeatures


class PaddedSentences(NamedTuple):
    """A batch; places are the words plus the start and the end of the sentence."""

    rows: IndexArray  # [places, trees, features]
    """See `WordFeatures.rows`; behind its end, a sentence repeats its first place."""
    styles: IndexArray  # [trees]
    places: IndexArray  # [trees]
    """Number of places of each sentence."""

    @property
    def num_words(self) -> int:
        """Number of words of the longest sentence."""
        return len(self.rows) - 2

    @property
    def is_sorted(self) -> bool:
        """Whether the longest sentences come first."""
        return bool((self.places[:-1] >= self.places[1:]).all())

    @property
    def is_place(self) -> BoolArray:  # [places, trees]
        """Whether each place is before the end of its sentence."""
        return np.arange(len(self.rows))[:, None] < self.places


class NumberedSentences(NamedTuple):
    """The features of all places of some sentences, one sentence after the other."""

    rows: IndexArray  # [places, features]
    """See `WordFeatures.rows`."""
    first: IndexArray  # [sentences]
    """The first place of each sentence."""
    places: IndexArray  # [sentences]
    """Its number of places."""

    @classmethod
    def of(cls, features: WordFeatures, sentences: Sequence[Sequence[str]]) -> NumberedSentences:
        """Look up the words of sentences."""
        places = np.array([len(words) + 2 for words in sentences], dtype=np.int64)
        rows = features.rows(word for words in sentences for word in (SENTENCE_START, *words, SENTENCE_END))
        return cls(rows, np.cumsum(places) - places, places)

    def pad(self, numbers: IndexArray, styles: IndexArray) -> PaddedSentences:
        """Make a batch of the sentences of these numbers, each with its style."""
        first, places = self.first[numbers], self.places[numbers]
        place = np.arange(int(places.max()))[:, None]
        return PaddedSentences(self.rows[np.where(place < places, place + first, first)], styles, places)
