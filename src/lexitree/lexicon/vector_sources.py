"""Open word-vector files as streams of bytes: plain, gzip, or a member of a zip archive."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from lexitree.errors import FileError, Place, VectorsError
from lexitree.lexicon.vector_rows import DAMAGED_REMEDY

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
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    with raw:
        yield raw


def _vectors_member(archive: zipfile.ZipFile, path: str | Path, dim: int | None) -> zipfile.ZipInfo:
    """Return the only file in the archive, or the one named after the dimension (`glove.6B.100d.txt`)."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
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
