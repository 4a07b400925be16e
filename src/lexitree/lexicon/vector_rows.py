"""Rows of a word-vector file in, the wanted ones out: what every format shares while it streams."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import OnError, Place, VectorsError

MAX_KEPT_ERRORS = 100
"""A file of nothing but bad rows must not fill the memory with their errors; the rest is only counted."""

MAX_DIM = 1 << 16
"""A file that claims longer vectors is refused, whatever its size."""

SKIP_REMEDY = "Mend the row, or leave bad rows out with --on-error skip."
DAMAGED_REMEDY = "The file is damaged or was cut short: copy or download it again."


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words with their vectors, in the order of the file."""

    words: tuple[str, ...]
    vectors: FloatArray  # [words, dim]
    source: str
    """The file they come from."""
    num_read: int = 0
    """How many good rows the file has, wanted or not."""
    errors: tuple[VectorsError, ...] = ()
    """The first errors that were skipped (at most 100) ..."""
    num_skipped: int = 0
    """... and how many there were in all."""

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.words):
            problem = f"{len(self.words)} words do not fit vectors of the shape {self.vectors.shape}"
            raise VectorsError(Place(self.source), problem)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.vectors.shape[1]


class RowError(Exception):
    """What is wrong with one row; the format adds the place."""

    def __init__(self, problem: str, offset: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset
        """The byte of the row at which it is wrong, where that can be said."""


class RowCollector:
    """Keeps the wanted rows of a stream; memory grows with what is kept, never with what a file promises."""

    def __init__(self, source: str, wanted: Collection[str] | None, on_error: OnError) -> None:
        self.source = source
        self.wanted: Set[str] | None = (
            wanted if wanted is None or isinstance(wanted, Set) else frozenset(wanted)
        )
        self.on_error: OnError = on_error
        self.num_read = 0
        self.num_skipped = 0
        self.errors: list[VectorsError] = []
        self.kept: dict[str, None] = {}
        # A bytearray grows in place, so all rows of a large file are never held twice.
        self._numbers = bytearray()

    def wants(self, word: str) -> bool:
        """Whether the row is to be kept; of a word that occurs twice the first row is."""
        return (self.wanted is None or word in self.wanted) and word not in self.kept

    def add(self, word: str, row: FloatArray) -> None:
        self.kept[word] = None
        self._numbers += row.tobytes()

    def fault(self, error: VectorsError) -> None:
        """Raise the error of a row, or note it and go on."""
        if self.on_error == "raise":
            raise error
        self.num_skipped += 1
        if len(self.errors) < MAX_KEPT_ERRORS:
            self.errors.append(error)

    def finish(self, dim: int) -> WordVectors:
        if not self.num_read:
            if self.errors:
                first = self.errors[0]
                problem = f"not one row can be read; the first: {first.problem}"
                raise VectorsError(first.place, problem) from first
            raise VectorsError(Place(self.source), "holds no word vectors", remedy=EMPTY_REMEDY)
        vectors = np.frombuffer(self._numbers, dtype=np.float32).reshape(len(self.kept), dim)
        return WordVectors(
            tuple(self.kept), vectors, self.source, self.num_read, tuple(self.errors), self.num_skipped
        )


EMPTY_REMEDY = "Each row of a text file is a word and its numbers, separated by spaces."


def checked_dim(dim: int, place: Place) -> int:
    """The length of a vector as a file claims it, within reason."""
    if not 1 <= dim <= MAX_DIM:
        raise VectorsError(
            place, f"vectors of {dim:,} numbers; 1 to {MAX_DIM:,} can be read", remedy=DAMAGED_REMEDY
        )
    return dim


def check_same_dim(found: int, expected: int | None, place: Place) -> None:
    """Compare the file's dimension with the one the user asked for."""
    if expected is not None and found != expected:
        raise VectorsError(place, f"vectors of {found} numbers, but {expected} are asked for")
