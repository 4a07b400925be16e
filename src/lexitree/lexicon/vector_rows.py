"""Word vectors, and what all file formats share while they stream the rows of the wanted words."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import OnError, Place, VectorsError

_MAX_KEPT_ERRORS = 100
"""How many errors are kept; all are counted. Bad rows must not exhaust the memory."""

MAX_DIM = 1 << 16
"""A file that claims longer vectors is rejected, whatever its size."""

SKIP_REMEDY = "Correct the row, or skip bad rows with --on-error skip."
DAMAGED_REMEDY = "The file is damaged or truncated: copy or download it again."


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words with their vectors, in the order of the file."""

    words: tuple[str, ...]
    vectors: FloatArray  # [words, dim]
    source: str
    """The file that they come from."""
    num_read: int = 0
    """The number of valid rows in the file, wanted or not."""
    errors: tuple[VectorsError, ...] = ()
    """The first errors that were skipped, at most 100."""
    num_skipped: int = 0
    """The number of rows that were skipped."""

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.words):
            problem = f"{len(self.words)} words do not match vectors of shape {self.vectors.shape}"
            raise VectorsError(Place(self.source), problem)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.vectors.shape[1]


class RowError(Exception):
    """What is wrong with one row; the reader of the format adds the place."""

    def __init__(self, problem: str, offset: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset
        """The offending byte of the row, if known."""


class RowCollector:
    """Collects the wanted rows of a stream; memory grows with what is kept, not with what a file claims."""

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
        # A bytearray grows in place, so the rows of a large file are never in memory twice.
        self._numbers = bytearray()

    def wants(self, word: str) -> bool:
        """Return whether to keep the row; of a word that occurs twice, only the first row is kept."""
        return (self.wanted is None or word in self.wanted) and word not in self.kept

    def add(self, word: str, row: FloatArray) -> None:
        self.kept[word] = None
        self._numbers += row.tobytes()

    def fault(self, error: VectorsError) -> None:
        """Raise the error of a row, or count it if errors are skipped."""
        if self.on_error == "raise":
            raise error
        self.num_skipped += 1
        if len(self.errors) < _MAX_KEPT_ERRORS:
            self.errors.append(error)

    def finish(self, dim: int) -> WordVectors:
        if not self.num_read:
            if self.errors:
                first = self.errors[0]
                problem = f"no row can be read; the first error: {first.problem}"
                raise VectorsError(first.place, problem) from first
            raise VectorsError(Place(self.source), "contains no word vectors", remedy=_EMPTY_REMEDY)
        vectors = np.frombuffer(self._numbers, dtype=np.float32).reshape(len(self.kept), dim)
        return WordVectors(
            tuple(self.kept), vectors, self.source, self.num_read, tuple(self.errors), self.num_skipped
        )


_EMPTY_REMEDY = "Each row of a text file is a word and its numbers, separated by spaces."


def checked_dim(dim: int, place: Place) -> int:
    """Return the length of a vector as claimed by a file, if it is plausible."""
    if not 1 <= dim <= MAX_DIM:
        raise VectorsError(
            place, f"vectors have {dim:,} dimensions; 1 to {MAX_DIM:,} are supported", remedy=DAMAGED_REMEDY
        )
    return dim


def check_same_dim(found: int, expected: int | None, place: Place) -> None:
    """Compare the dimension of the file with the requested one."""
    if expected is not None and found != expected:
        raise VectorsError(place, f"vectors have {found} dimensions, but {expected} were requested")
