"""Streams word-vector files: opens them (plain, gzip, zip) and collects the rows of the wanted words."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import FileError, OnError, Place, VectorsError
from lexitree.files import unreadable

CHUNK_BYTES = 1 << 20

_MAX_LINE_BYTES = 1 << 21
"""Longer lines are an error, so that a file without line breaks cannot exhaust the memory."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Progress = Callable[[int, int], None]
"""Called with the bytes so far and the total."""

# zipfile raises RuntimeError for an encrypted member or an unknown compression.
_DAMAGE = (EOFError, OSError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error)


class Readable(Protocol):
    """A binary stream: a file, a gzip stream or a member of an archive."""

    def read(self, size: int, /) -> bytes: ...


class ByteSource:
    """A stream of bytes that knows its name and reports progress and damage."""

    def __init__(
        self,
        name: str,
        stream: Readable,
        *,
        total: int = 0,
        position: Callable[[], int] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self._stream = stream
        self._total = total
        self._position = position
        self._progress = progress
        self._num_bytes = 0

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Return up to `size` bytes; none at the end."""
        try:
            data = self._stream.read(size)
        except _DAMAGE as error:
            raise damaged(self.name, error) from error
        self._num_bytes += len(data)
        if self._progress is not None:
            done = self._position() if self._position is not None else self._num_bytes
            self._progress(done, max(done, self._total))
        return data

    def read_exactly(self, size: int) -> bytes:
        """Return `size` bytes, which a stream may deliver in pieces; fewer only at its end."""
        pieces = [self.read(size)]
        while pieces[-1] and (size := size - len(pieces[-1])):
            pieces.append(self.read(size))
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines without line breaks and trailing spaces; a byte order mark is dropped."""
        pending, num_lines = self.read_exactly(len(_BYTE_ORDER_MARK)), 0
        pending = pending.removeprefix(_BYTE_ORDER_MARK)
        while chunk := self.read():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                yield line.rstrip(b" \r")
            num_lines += len(lines)
            if len(pending) > _MAX_LINE_BYTES:
                problem = (
                    f"line is longer than {_MAX_LINE_BYTES:,} bytes; this is not a text file of word vectors"
                )
                raise VectorsError(Place(self.name, num_lines + 1), problem)
        # Only a file of less than four bytes leaves several lines.
        for line in pending.split(b"\n"):
            yield line.rstrip(b" \r")


def damaged(name: str, error: Exception) -> VectorsError:
    """Return the error for a file that is truncated or cannot be decompressed."""
    return VectorsError(Place(name), f"cannot be read to its end ({error})", remedy=DAMAGED_REMEDY)


@contextmanager
def open_source(
    path: str | Path, *, dim: int | None = None, progress: Progress | None = None
) -> Generator[ByteSource]:
    """Open a file of vectors; `.gz` and `.zip` are decompressed on the fly, never onto the disk."""
    if str(path).endswith(".zip"):
        with open_archive(path) as archive:
            member = _vectors_member(archive, path, dim)
            with open_member(archive, member, path, progress=progress) as source:
                yield source
        return
    with _open_file(path) as raw:
        total = os.fstat(raw.fileno()).st_size
        if str(path).endswith(".gz"):
            with gzip.open(raw) as unpacked:
                yield ByteSource(str(path), unpacked, total=total, position=raw.tell, progress=progress)
        else:
            yield ByteSource(str(path), raw, total=total, progress=progress)


@contextmanager
def open_archive(path: str | Path) -> Generator[zipfile.ZipFile]:
    """Open a zip archive (an `.npz` is one) for reading."""
    with _open_file(path) as raw:
        try:
            archive = zipfile.ZipFile(raw)
        except (*_DAMAGE, ValueError) as error:
            problem = f"is not a complete {Path(path).suffix[1:]} archive ({error})"
            raise VectorsError(Place(str(path)), problem, remedy=DAMAGED_REMEDY) from error
        with archive:
            yield archive


@contextmanager
def open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str | Path, *, progress: Progress | None = None
) -> Generator[ByteSource]:
    """Open one member of an archive; its name is `archive.zip/member`."""
    name = f"{path}/{member.filename}"
    try:
        stream = archive.open(member)
    except (*_DAMAGE, ValueError) as error:
        raise damaged(name, error) from error
    with stream:
        yield ByteSource(name, stream, total=member.file_size, progress=progress)


@contextmanager
def _open_file(path: str | Path) -> Generator[io.FileIO]:
    try:
        # Unbuffered: reads are large, and a buffer would only copy them.
        raw = io.FileIO(path)
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise FileError(repr(str(path)), f"is not a valid file name ({error})") from error
    with raw:
        yield raw


def _vectors_member(archive: zipfile.ZipFile, path: str | Path, dim: int | None) -> zipfile.ZipInfo:
    """Return the only file in the archive, or the one named after the dimension (`glove.6B.100d.txt`)."""
    members = [
        member
        for member in archive.infolist()
        # Not `is_dir`, which fails on an empty name in Python 3.11.
        if not member.filename.endswith("/") and not member.filename.startswith("__MACOSX/")
    ]
    if not members:
        raise VectorsError(Place(str(path)), "the archive is empty")
    if len(members) > 1 and dim is not None:
        members = [member for member in members if f".{dim}d." in member.filename] or members
    if len(members) > 1:
        names = ", ".join(member.filename for member in members[:8])
        problem = f"the archive contains {len(members)} files ({names}{', …' if len(members) > 8 else ''})"
        remedy = "Choose one by its dimension (--dim 300 selects '.300d.' in its name), or unpack one."
        raise VectorsError(Place(str(path)), problem, remedy=remedy)
    return members[0]


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

    def __init__(
        self, source: str, wanted: Collection[str] | None, on_error: OnError, num_first: int = 0
    ) -> None:
        self.source = source
        self.wanted: Set[str] | None = (
            wanted if wanted is None or isinstance(wanted, Set) else frozenset(wanted)
        )
        self.on_error: OnError = on_error
        self.num_first = num_first
        self.num_read = 0
        self.num_skipped = 0
        self.errors: list[VectorsError] = []
        self.kept: dict[str, None] = {}
        # A bytearray grows in place, so the rows of a large file are never in memory twice.
        self._numbers = bytearray()

    def wants(self, word: str) -> bool:
        """Return whether to keep the row; of a word that occurs twice, only the first row is kept."""
        is_wanted = self.wanted is None or self.num_read < self.num_first or word in self.wanted
        return is_wanted and word not in self.kept

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
