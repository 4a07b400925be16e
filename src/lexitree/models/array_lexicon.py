"""The words of a model and their vectors in NumPy; the tables stay as they are stored until words are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lexitree.arrays import FloatArray, IndexArray
from lexitree.lexicon.guessing import flatten_bags, letter_groups, plan_guesses
from lexitree.lexicon.vocabulary import UNK_INDEX, Vocabulary


class Table(Protocol):
    """A table of vectors in any form, such as bytes in a file."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def rows(self, index: npt.NDArray[np.integer]) -> FloatArray:
        """The rows of these numbers in 32 bits."""
        ...

    def all(self) -> FloatArray:
        """All rows in 32 bits."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class ArrayGuesser:
    """Guesses the vectors of words from their letters; `VectorGuesser`, which is fitted with torch, explains it."""

    group_vectors: Table  # [groups, small]
    projection: FloatArray  # [small, word]
    mean: FloatArray  # [word]

    def __post_init__(self) -> None:
        if (len(self.group_vectors.shape), self.mean.ndim) != (2, 1) or not self.group_vectors.shape[0]:
            raise ValueError("a guesser has a table of groups of letters and a mean")
        if (self.group_vectors.shape[1], len(self.mean)) != self.projection.shape:
            raise ValueError("the tensors of a guesser do not fit each other")

    def vectors(self, words: Sequence[str]) -> FloatArray:  # [words, word]
        """A vector for each word, by its letters alone."""
        if not words:
            return np.zeros((0, len(self.mean)), dtype=np.float32)
        num_rows = self.group_vectors.shape[0]
        flat, starts = flatten_bags([letter_groups(word, num_rows) for word in words])
        sums = np.add.reduceat(self.group_vectors.rows(flat), starts)
        return sums @ self.projection + self.mean


@dataclass(frozen=True, eq=False, slots=True)
class ArrayLexicon:
    """One vector for each word of a vocabulary; row 0 stands for all unknown words. `WordTable` is the same in torch.

    With a guesser, unknown words get vectors of their own.
    """

    vocabulary: Vocabulary
    table: Table
    guesser: ArrayGuesser | None = None

    def __post_init__(self) -> None:
        if self.vocabulary.num_rows != self.table.shape[0]:
            raise ValueError(f"{self.vocabulary.num_rows} rows but {self.table.shape[0]} vectors")
        if self.guesser is not None and len(self.guesser.mean) != self.word_size:
            raise ValueError(f"vectors of {self.word_size} numbers, but guesses of {len(self.guesser.mean)}")

    @property
    def word_size(self) -> int:
        return self.table.shape[1]

    @property
    def can_guess(self) -> bool:
        """Whether unknown words get vectors of their own."""
        return self.guesser is not None

    def index(self, words: Sequence[str]) -> IndexArray:
        """The row of each word, by the look-up rule of the vocabulary."""
        return self.vocabulary.indices(words)

    def split(self, words: Sequence[str]) -> None:
        """Vectors are of whole words: there are no pieces."""
        del words

    def count_unknown(self, words: Sequence[str]) -> int:
        """How many of some words are unknown."""
        return self.vocabulary.count_unknown(words)

    def vectors(
        self, word_index: IndexArray, unknown_words: Sequence[str] = ()
    ) -> FloatArray:  # [words, word]
        """The vector of each word; ~k in the index, which is negative, stands for unknown word k."""
        if not unknown_words:
            return self.table.rows(word_index)
        found = self.table.rows(np.maximum(word_index, UNK_INDEX))
        is_guessed = word_index < 0
        found[is_guessed] = self.guess(unknown_words)[~word_index[is_guessed]]
        return found

    def guess(self, words: Sequence[str]) -> FloatArray:  # [words, word]
        """A vector for each of some unknown words, from its letters, parts and likeness to known words."""
        assert self.guesser is not None
        plan = plan_guesses(words, self.vocabulary)
        known = self.table.rows(np.array(plan.known, dtype=np.int64))
        table = np.concatenate([self.guesser.vectors(plan.spelled), known])
        flat, starts = flatten_bags(plan.bags)
        weights = np.fromiter(chain.from_iterable(plan.weights), dtype=np.float32, count=len(flat))
        return np.add.reduceat(table[flat] * weights[:, np.newaxis], starts)
