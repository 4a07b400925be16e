"""A name goes in; its public files come out in the data folder, verified, or an error that helps."""

from __future__ import annotations

import errno
import hashlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from lexitree.corpora.locations import LocalFile, Package, RemoteFile, cache_folder, find_package
from lexitree.errors import DownloadError, FileError
from lexitree.files import atomic_path

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 60
MAX_ATTEMPTS = 5
"""How often a connection that was cut is taken up again, as long as each time brought some bytes."""

MAX_MEMBER_BYTES = 1 << 26
"""No text of a corpus is longer: an archive that unpacks to more is not what it should be."""

RANGE_NOT_SATISFIABLE = 416
PARTIAL_CONTENT = 206

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, its bytes so far and its bytes in all."""


class Response(Protocol):
    """As much of an HTTP response as a download needs."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def read(self, amount: int, /) -> bytes: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> object: ...


Opener = Callable[..., Response]
"""Called as `urllib.request.urlopen` is: a request and `timeout=`."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch has done."""

    name: str
    folder: Path
    paths: tuple[Path, ...]
    already_there: bool
    """Whether all files were there before and have the right checksums, so that nothing was downloaded."""


def fetch(
    name: str,
    into: str | Path | None = None,
    *,
    opener: Opener = urlopen,
    progress: Progress | None = None,
) -> Fetched:
    """Download a corpus or vectors into a data folder, by default the user's cache, where they are found.

    What is there with the right checksum is left alone. A download that was cut goes on where it stopped. A
    file appears under its name only when it is complete and its checksum is right.
    """
    folder = Path(into).expanduser() if into is not None else cache_folder()
    return fetch_package(find_package(name), folder, opener=opener, progress=progress)


def fetch_package(
    package: Package,
    folder: Path,
    *,
    opener: Opener = urlopen,
    progress: Progress | None = None,
) -> Fetched:
    """Download the files of a package that are not yet in the folder; see `fetch`."""
    missing = [file for file in package.files if not is_fetched(file, folder)]
    for file in missing:
        _Download(file, folder, opener, progress or _no_progress).run()
    paths = tuple(folder / file.path for file in package.local_files)
    return Fetched(package.name, folder, paths, already_there=not missing)


def is_fetched(file: RemoteFile, folder: Path) -> bool:
    """Whether all that comes of a file is in the folder, with the right sizes and checksums."""
    return all(_is_whole(folder / local.path, local) for local in file.local_files)


def explain_by_hand(file: RemoteFile, folder: Path) -> str:
    """How to do without a download: the address, the checksum, and where to put what."""
    lines = [f"By hand: get {file.url}", f"  ({file.num_bytes:,} bytes, sha256 {file.sha256})"]
    if file.members:
        names = ", ".join(member.member for member in file.members)
        lines.append(f"  and unpack {names} into {(folder / file.members[0].path).parent}")
    else:
        lines.append(f"  and put it at {folder / file.path}")
    return "\n".join([*lines, "or set LEXITREE_DATA to a folder that has it."])


class _Download:
    """One file on its way: `.part` grows, is verified, and is then moved into place or unpacked."""

    def __init__(self, file: RemoteFile, folder: Path, opener: Opener, progress: Progress) -> None:
        self.file = file
        self.folder = folder
        self.opener = opener
        self.progress = progress
        self.target = folder / file.path
        self.part = self.target.with_name(self.target.name + ".part")

    def run(self) -> None:
        old_bytes = _num_bytes(self.part)
        self._complete()
        if not self._verified() and old_bytes:
            # The old part may be of another version of the file: it gets one more chance without it.
            self.part.unlink()
            self._complete()
        if not self._verified():
            self.part.unlink()
            raise self._failure(
                "what came has a wrong checksum: it was damaged on its way, or replaced at its source"
            )
        self._put_in_place()

    def _complete(self) -> None:
        """Bring the part to its full length, over several connections if they are cut."""
        if _num_bytes(self.part) > self.file.num_bytes:
            self.part.unlink()
        after, problem = _num_bytes(self.part), ""
        for _ in range(MAX_ATTEMPTS):
            before = after
            if before == self.file.num_bytes:
                return
            problem = self._extend(before)
            after = _num_bytes(self.part)
            if after == before:
                break
        if after != self.file.num_bytes:
            done = f"{after:,} of {self.file.num_bytes:,} bytes"
            advice = "Run the command again: it goes on from there."
            raise self._failure(f"the connection was cut after {done} ({problem})", advice=advice)

    def _extend(self, start: int) -> str:
        """Ask for what is missing and add it to the part; says what ended the connection."""
        request = Request(self.file.url, headers={"User-Agent": "lexitree", "Accept-Encoding": "identity"})
        if start:
            request.add_header("Range", f"bytes={start}-")
        try:
            response = self.opener(request, timeout=TIMEOUT_SECONDS)
        except HTTPError as error:
            if error.code == RANGE_NOT_SATISFIABLE and start:
                self.part.unlink()
                return "the server refused to resume"
            raise self._failure(f"the server answered {error.code} {error.reason}") from error
        except (OSError, HTTPException) as error:
            host = urlsplit(self.file.url).hostname
            reason = getattr(error, "reason", None) or error
            raise self._failure(f"no connection to {host} ({reason}), perhaps there is no network") from error
        with response:
            resumes = response.status == PARTIAL_CONTENT and _range_start(response) == start
            if response.status == PARTIAL_CONTENT and not resumes:
                self.part.unlink()
                return "the server resumed at another place than asked"
            if not resumes:
                start = 0  # The server ignores ranges and sends all again.
            self._refuse_other_length(response, start)
            return self._copy(response, start)

    def _refuse_other_length(self, response: Response, start: int) -> None:
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced) != self.file.num_bytes - start:
            raise self._failure(
                f"the server offers {int(announced) + start:,} bytes instead of {self.file.num_bytes:,}: "
                "the file was replaced at its source, or this is a page that stands in for it"
            )

    def _copy(self, response: Response, start: int) -> str:
        num_bytes = start
        with self._open_part("ab" if start else "wb") as stream:
            while True:
                self.progress(self.target.name, num_bytes, self.file.num_bytes)
                try:
                    chunk = response.read(CHUNK_BYTES)
                except (OSError, HTTPException) as error:
                    return str(error) or type(error).__name__
                if not chunk:
                    return "the server closed it"
                num_bytes += len(chunk)
                if num_bytes > self.file.num_bytes:
                    raise self._failure(
                        f"the server sends more than the {self.file.num_bytes:,} bytes of the file"
                    )
                self._write(stream, chunk)

    def _open_part(self, mode: str) -> IO[bytes]:
        try:
            # Only now, so that a try without a network leaves no empty folder.
            self.part.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer: a chunk that did not fit on the disk must fail when written, not when closed.
            return cast(IO[bytes], open(self.part, mode, buffering=0))
        except OSError as error:
            raise self._failure(f"{self.part} cannot be written ({error.strerror or error})") from error

    def _write(self, stream: IO[bytes], chunk: bytes) -> None:
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[stream.write(rest) :]
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            problem = (
                "the disk is full" if full else f"{self.part} cannot be written ({error.strerror or error})"
            )
            advice = "Make room and run the command again: it goes on from there." if full else ""
            raise self._failure(problem, advice=advice) from error

    def _verified(self) -> bool:
        return _is_whole(self.part, LocalFile("", self.file.num_bytes, self.file.sha256))

    def _put_in_place(self) -> None:
        try:
            if self.file.members:
                self._unpack()
                self.part.unlink()
            else:
                self.part.replace(self.target)
        except (OSError, FileError) as error:
            raise self._failure(f"it came, but cannot be put in place ({error})") from error

    def _unpack(self) -> None:
        """Take the members out by name; the names of the files written are ours, never the archive's."""
        try:
            with zipfile.ZipFile(self.part) as archive:
                for member in self.file.members:
                    self._unpack_member(archive, member)
        except (zipfile.BadZipFile, KeyError, NotImplementedError) as error:
            self.part.unlink()
            raise self._failure(f"the archive cannot be unpacked ({error})") from error

    def _unpack_member(self, archive: zipfile.ZipFile, member: LocalFile) -> None:
        # The archive's own checksum is verified by now; zipfile checks each member's CRC on the way.
        with (
            archive.open(member.member) as source,
            atomic_path(self.folder / member.path) as temporary,
            open(temporary, "wb") as stream,
        ):
            num_bytes = 0
            while chunk := source.read(CHUNK_BYTES):
                num_bytes += len(chunk)
                if num_bytes > MAX_MEMBER_BYTES:
                    raise self._failure(f"{member.member} unpacks to more than {MAX_MEMBER_BYTES:,} bytes")
                stream.write(chunk)

    def _failure(self, problem: str, *, advice: str = "") -> DownloadError:
        by_hand = explain_by_hand(self.file, self.folder)
        remedy = f"{advice}\n{by_hand}" if advice else by_hand
        return DownloadError(f"{self.file.url} was not downloaded: {problem}.", remedy=remedy)


def _no_progress(name: str, num_bytes: int, num_total: int) -> None:
    """Nobody is looking."""


def _range_start(response: Response) -> int:
    """Where the bytes of a partial answer start: 7 in `bytes 7-99/100`; -1 if it does not say."""
    first = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0].strip()
    return int(first) if first.isdecimal() else -1


def _num_bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _is_whole(path: Path, expected: LocalFile) -> bool:
    if not path.is_file() or path.stat().st_size != expected.num_bytes:
        return False
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == expected.sha256
