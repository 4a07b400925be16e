"""Download public corpora and word vectors into the data folder, and verify their checksums."""

from __future__ import annotations

import errno
import hashlib
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request

from lexitree.corpora.bounded_http import Meter, Response, open_bounded
from lexitree.corpora.locations import LocalFile, Package, RemoteFile, cache_folder, find_package
from lexitree.errors import DownloadError, FileError
from lexitree.writing import atomic_path, exclusive_lock, sync_name, sync_path

CHUNK_BYTES = 1 << 18
_MAX_ATTEMPTS = 5
"""How many times an interrupted download is resumed, as long as every attempt makes progress."""

_MAX_MEMBER_BYTES = 1 << 26
"""No corpus file is larger, so an archive that unpacks to more is not the expected one."""

# Among others: an encrypted member, an unknown compression, a member that is not there, a malformed name.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    LookupError,
    ValueError,
)
_RANGE_NOT_SATISFIABLE = 416
_PARTIAL_CONTENT = 206

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the bytes so far and the total."""


Opener = Callable[[Request, Meter], Response]
"""Opens a request; what arrives goes through the meter."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result of a fetch."""

    name: str
    folder: Path
    paths: tuple[Path, ...]
    already_there: bool
    """Whether all files were present with the right checksums, so that nothing was downloaded."""


def fetch(
    name: str,
    into: str | Path | None = None,
    *,
    opener: Opener = open_bounded,
    progress: Progress | None = None,
) -> Fetched:
    """Download a corpus or word vectors.

    Files that are present with the right checksum are not downloaded again. An interrupted download is resumed. A
    file appears under its name only when it is complete and its checksum is right.

    Args:
        name: What to download; see `lexitree data list`.
        into: The data folder; by default the user's cache folder, where it is found without further settings.
        opener: Opens a request, as `open_bounded` does.
        progress: Called with the name of a file, the bytes so far and the total.

    Raises:
        CorpusNotFoundError: Nothing can be downloaded under this name.
        DownloadError: The download failed; the message says how to download the file manually.
    """
    folder = Path(into).expanduser() if into is not None else cache_folder()
    return fetch_package(find_package(name), folder, opener=opener, progress=progress)


def fetch_package(
    package: Package,
    folder: Path,
    *,
    opener: Opener = open_bounded,
    progress: Progress | None = None,
) -> Fetched:
    """Download the files of a package that are not yet in the folder; see `fetch`."""
    missing = [file for file in package.files if not _is_fetched(file, folder)]
    for file in missing:
        _Download(file, folder, opener, progress or _no_progress).run()
    paths = tuple(folder / file.path for file in package.local_files)
    return Fetched(package.name, folder, paths, already_there=not missing)


def _is_fetched(file: RemoteFile, folder: Path) -> bool:
    """Return whether all that a file provides is in the folder, with the right sizes and checksums."""
    return all(_is_whole(folder / local.path, local) for local in file.local_files)


def _explain_by_hand(file: RemoteFile, folder: Path) -> str:
    """Explain how to download a file manually: its address and checksum, and where to put it."""
    lines = [f"To do it manually: download {file.url}", f"  ({file.num_bytes:,} bytes, sha256 {file.sha256})"]
    if file.members:
        names = ", ".join(member.member for member in file.members)
        lines.append(f"  and unpack {names} into {(folder / file.members[0].path).parent}")
    else:
        lines.append(f"  and put it at {folder / file.path}")
    return "\n".join([*lines, "or set LEXITREE_DATA to a folder that contains it."])


class _Download:
    """The download of one file: `.part` grows, is verified, and is then moved into place or unpacked."""

    def __init__(self, file: RemoteFile, folder: Path, opener: Opener, progress: Progress) -> None:
        self.file = file
        self.folder = folder
        self.opener = opener
        self.progress = progress
        self.target = folder / file.path
        self.part = self.target.with_name(self.target.name + ".part")
        self.meter = Meter(file.num_bytes)

    def run(self) -> None:
        """Download the file, unless another process does."""
        try:
            with exclusive_lock(self.target, "downloads it"):
                self._run()
        except FileError as error:
            raise self._failure(error.message, advice=error.remedy) from error
        finally:
            # An attempt without a network leaves no empty folder.
            with suppress(OSError):
                self.target.parent.rmdir()

    def _run(self) -> None:
        old_bytes = _num_bytes(self.part)
        self._complete()
        if not self._verified() and old_bytes:
            # The old part may be of another version of the file: start over once.
            self.part.unlink()
            self._complete()
        if not self._verified():
            self.part.unlink()
            raise self._failure(
                "the checksum is wrong: the file was damaged in transit, or replaced at its source"
            )
        self._put_in_place()

    def _complete(self) -> None:
        """Complete the partial file, over several connections if necessary."""
        if _num_bytes(self.part) > self.file.num_bytes:
            self.part.unlink()
        after, problem = _num_bytes(self.part), ""
        for _ in range(_MAX_ATTEMPTS):
            before = after
            if before == self.file.num_bytes:
                return
            problem = self._extend(before)
            after = _num_bytes(self.part)
            if after == before:
                break
        if after != self.file.num_bytes:
            if not after:
                self.part.unlink(missing_ok=True)
            done = f"{after:,} of {self.file.num_bytes:,} bytes"
            advice = "Run the command again to resume."
            raise self._failure(f"the connection was interrupted after {done} ({problem})", advice=advice)

    def _extend(self, start: int) -> str:
        """Request what is missing and append it; returns what ended the connection."""
        request = Request(self.file.url, headers={"User-Agent": "lexitree", "Accept-Encoding": "identity"})
        if start:
            request.add_header("Range", f"bytes={start}-")
        try:
            response = self.opener(request, self.meter)
        except HTTPError as error:
            error.close()
            if error.code == _RANGE_NOT_SATISFIABLE and start:
                self.part.unlink()
                return "the server refused to resume"
            raise self._failure(f"the server responded with {error.code} {error.reason}") from error
        except (OSError, HTTPException, ValueError) as error:
            host = urlsplit(self.file.url).hostname
            reason = getattr(error, "reason", None) or error
            raise self._failure(f"cannot connect to {host} ({reason})") from error
        with response:
            resumes = response.status == _PARTIAL_CONTENT and _range_start(response) == start
            if response.status == _PARTIAL_CONTENT and not resumes:
                self.part.unlink(missing_ok=True)  # A server may send a part that was not asked for.
                return "the server resumed at the wrong position"
            if not resumes:
                start = 0  # The server ignores ranges and sends everything again.
            self._refuse_other_content(response, self.file.num_bytes - start)
            return self._copy(response, start)

    def _refuse_other_content(self, response: Response, num_bytes: int) -> None:
        # Not as a number: it may have thousands of digits.
        announced = response.headers.get("Content-Length", "").strip()
        if announced.isdecimal() and announced.lstrip("0") != str(num_bytes):
            raise self._failure(
                f"the server offers {announced:.20} bytes instead of {num_bytes:,}: "
                "the file was replaced at its source, or this is another page"
            )
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise self._failure(f"the server sends it in another encoding ({encoding:.20})")

    def _copy(self, response: Response, start: int) -> str:
        num_bytes = start
        with self._open_part("ab" if start else "wb") as stream:
            while True:
                self.progress(self.target.name, num_bytes, self.file.num_bytes)
                try:
                    # Not `read`, which waits for a whole chunk, however slowly it comes.
                    chunk = response.read1(CHUNK_BYTES)
                except (OSError, HTTPException, ValueError) as error:
                    return str(error) or type(error).__name__
                if not chunk:
                    return "the server closed the connection"
                num_bytes += len(chunk)
                if num_bytes > self.file.num_bytes:
                    self.part.unlink()
                    raise self._failure(
                        f"the server sent more than the expected {self.file.num_bytes:,} bytes"
                    )
                self._write(stream, chunk)

    def _open_part(self, mode: str) -> IO[bytes]:
        try:
            # Unbuffered: on a full disk, writing must fail, not closing.
            return cast(IO[bytes], open(self.part, mode, buffering=0))
        except OSError as error:
            raise self._failure(self._unwritable(error)) from error

    def _unwritable(self, error: OSError) -> str:
        return f"{self.part} cannot be written ({error.strerror or error})"

    def _write(self, stream: IO[bytes], chunk: bytes) -> None:
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[stream.write(rest) :]
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            problem = "the disk is full" if full else self._unwritable(error)
            advice = "Free some space and run the command again to resume." if full else ""
            raise self._failure(problem, advice=advice) from error

    def _verified(self) -> bool:
        return _is_whole(self.part, LocalFile("", self.file.num_bytes, self.file.sha256))

    def _put_in_place(self) -> None:
        try:
            if self.file.members:
                self._unpack()
                self.part.unlink()
            else:
                sync_path(self.part)
                self.part.replace(self.target)
                sync_name(self.target)
        except (OSError, FileError) as error:
            raise self._failure(f"downloaded, but cannot be moved into place ({error})") from error

    def _unpack(self) -> None:
        """Extract the members by name; the names of the written files are ours, never the archive's."""
        try:
            with zipfile.ZipFile(self.part) as archive:
                for member in self.file.members:
                    self._unpack_member(archive, member)
        except _ZIP_ERRORS as error:
            self.part.unlink()
            raise self._failure(f"the archive cannot be unpacked ({error})") from error

    def _unpack_member(self, archive: zipfile.ZipFile, member: LocalFile) -> None:
        # The archive's checksum is already verified, and zipfile checks each member's CRC.
        with (
            archive.open(member.member) as source,
            atomic_path(self.folder / member.path) as temporary,
            open(temporary, "wb") as stream,
        ):
            num_bytes = 0
            while chunk := source.read(CHUNK_BYTES):
                num_bytes += len(chunk)
                if num_bytes > _MAX_MEMBER_BYTES:
                    raise ValueError(f"{member.member} unpacks to more than {_MAX_MEMBER_BYTES:,} bytes")
                stream.write(chunk)
            stream.flush()

    def _failure(self, problem: str, *, advice: str = "") -> DownloadError:
        by_hand = _explain_by_hand(self.file, self.folder)
        remedy = f"{advice}\n{by_hand}" if advice else by_hand
        return DownloadError(f"cannot download {self.file.url}: {problem}.", remedy=remedy)


def _no_progress(name: str, num_bytes: int, num_total: int) -> None:
    """Report nothing."""


def _range_start(response: Response) -> int:
    """Return where a partial response starts: 7 in `bytes 7-99/100`; -1 if unknown."""
    first = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0].strip()
    return int(first[:20]) if first.isdecimal() else -1


def _num_bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _is_whole(path: Path, expected: LocalFile) -> bool:
    if not path.is_file() or path.stat().st_size != expected.num_bytes:
        return False
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == expected.sha256
