"""A path in, a stream of bytes out: plain files, gzip, and the member of a zip archive that holds vectors."""

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

MAX_LINE_BYTES = 1 << 21
"""Longer lines are refused, so that a file without line ends cannot fill the memory."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""

# RuntimeError is what zipfile says of an encrypted member or an unknown compression.
_DAMAGE = (EOFError, OSError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error)


class Readable(Protocol):
    """What is asked of a stream; files, gzip streams and members of archives all have it."""

    def read(self, size: int, /) -> bytes: ...


class ByteSource:
    """A stream of bytes that knows its name, reports progress, and says in plain words when it breaks off."""

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
        """Up to `size` bytes; none at the end."""
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
        """`size` bytes, which a stream may give in pieces; fewer only at its end."""
        pieces = [self.read(size)]
        while pieces[-1] and (size := size - len(pieces[-1])):
            pieces.append(self.read(size))
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes]:
        """The lines without their ends and without spaces at the end; a byte order mark is dropped."""
        pending, num_lines = self.read_exactly(len(BYTE_ORDER_MARK)), 0
        pending = pending.removeprefix(BYTE_ORDER_MARK)
        while chunk := self.read():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                yield line.rstrip(b" \r")
            num_lines += len(lines)
            if len(pending) > MAX_LINE_BYTES:
                problem = f"a line of over {MAX_LINE_BYTES:,} bytes; this is no text file of word vectors"
                raise VectorsError(Place(self.name, num_lines + 1), problem)
        # Only a file of less than four bytes leaves several lines here.
        for line in pending.split(b"\n"):
            yield line.rstrip(b" \r")


def damaged(name: str, error: Exception) -> VectorsError:
    """The error of a file that breaks off or does not unpack."""
    return VectorsError(Place(name), f"cannot be read to its end ({error})", remedy=DAMAGED_REMEDY)


@contextmanager
def open_source(
    path: str | Path, *, dim: int | None = None, progress: Progress | None = None
) -> Generator[ByteSource]:
    """Open a file of vectors; `.gz` and `.zip` are unpacked on the fly, never onto the disk."""
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
            problem = f"is not a whole {Path(path).suffix[1:]} archive ({error})"
            raise VectorsError(Place(str(path)), problem, remedy=DAMAGED_REMEDY) from error
        with archive:
            yield archive


@contextmanager
def open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str | Path, *, progress: Progress | None = None
) -> Generator[ByteSource]:
    """Open one member of an archive; it is named `archive.zip/member`."""
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
        # Large reads go straight through; a buffer would only copy them.
        raw = io.FileIO(path)
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    with raw:
        yield raw


def _vectors_member(archive: zipfile.ZipFile, path: str | Path, dim: int | None) -> zipfile.ZipInfo:
    """The one file in the archive; among several, the one named after the dimension (`glove.6B.100d.txt`)."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if not members:
        raise VectorsError(Place(str(path)), "the archive holds no file")
    if len(members) > 1 and dim is not None:
        members = [member for member in members if f".{dim}d." in member.filename] or members
    if len(members) > 1:
        names = ", ".join(member.filename for member in members[:8])
        problem = f"the archive holds {len(members)} files ({names}{', …' if len(members) > 8 else ''})"
        remedy = (
            "Choose one by its dimension (--dim 300 takes the one with '.300d.' in its name), or unpack one."
        )
        raise VectorsError(Place(str(path)), problem, remedy=remedy)
    return members[0]
