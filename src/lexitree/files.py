"""Files in and out: strictly decoded, numbered lines come in; writes happen whole or not at all."""

from __future__ import annotations

import codecs
import gzip
import os
import shutil
import sys
import tempfile
import tomllib
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from lexitree.errors import EncodingError, FileError, Place

CHUNK_BYTES = 1 << 16
MAX_LINE_CHARACTERS = 1 << 26
"""Longer lines are refused, so that a hostile file cannot fill the memory."""

STANDARD_STREAM = "-"


@contextmanager
def open_binary(path: str | Path) -> Generator[BinaryIO, None, None]:
    """Open a file for reading bytes; `-` is standard input, `.gz` is unpacked on the fly."""
    if str(path) == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    try:
        opener = gzip.open if str(path).endswith(".gz") else open
        stream = opener(path, "rb")
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise FileError(repr(str(path)), f"is not the name of a file ({error})") from error
    with stream:
        yield cast(BinaryIO, stream)


def read_lines(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a file, decoded strictly and read in chunks."""
    with open_binary(path) as stream:
        yield from decode_lines(stream, encoding, name=display_name(path))


def decode_lines(stream: BinaryIO, encoding: str, name: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a byte stream; only `\\n` ends a line: U+2028 and U+0085 stay in tokens."""
    number = 0
    pending: list[str] = []
    num_pending = 0
    for text in _decode_chunks(stream, encoding, name):
        *lines, last = text.split("\n")
        for line in lines:
            number += 1
            yield number, "".join([*pending, line]).removesuffix("\r")
            pending.clear()
            num_pending = 0
        pending.append(last)
        num_pending += len(last)
        if num_pending > MAX_LINE_CHARACTERS:
            raise EncodingError(Place(name, number + 1), f"a line of over {MAX_LINE_CHARACTERS:,} characters")
    if num_pending:
        yield number + 1, "".join(pending).removesuffix("\r")


def _decode_chunks(stream: BinaryIO, encoding: str, name: str) -> Iterator[str]:
    decoder = _make_decoder(encoding, name)
    num_lines = 1
    at_start = True
    while True:
        chunk = _read_chunk(stream, name)
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            decoder.setstate((b"", state[1]))
            raise _encoding_error(error, decoder, encoding, name, num_lines) from error
        num_lines += text.count("\n")
        if text:
            yield text.removeprefix("\ufeff") if at_start else text
            at_start = False
        if not chunk:
            return


def _make_decoder(encoding: str, name: str) -> codecs.IncrementalDecoder:
    try:
        # Encoding tells codecs for text from others, such as "hex" and "zlib", by a LookupError.
        with suppress(UnicodeError):
            " ".encode(encoding)
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        raise FileError(name, f"there is no text encoding called {encoding!r}") from error


def _read_chunk(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.read(CHUNK_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(name, f"cannot be read to its end ({error})") from error


def _encoding_error(
    error: UnicodeError, decoder: codecs.IncrementalDecoder, encoding: str, name: str, num_lines: int
) -> EncodingError:
    """Name the line: `num_lines` up to the chunk and those that the good bytes before the bad one hold."""
    problem = f"this is not {encoding} ({error})"
    if isinstance(error, UnicodeDecodeError):
        num_lines += decoder.decode(error.object[: error.start]).count("\n")
        problem = f"the byte 0x{error.object[error.start]:02x} is not {encoding}"
    remedy = "Name the file's encoding, for example --encoding latin-1; it is never guessed."
    return EncodingError(Place(name, num_lines), problem, remedy=remedy)


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not a TOML file ({error})") from error


def display_name(path: str | Path) -> str:
    return "<standard input>" if str(path) == STANDARD_STREAM else str(path)


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Generator[IO[str], None, None]:
    """Write text to a file that appears under its name only when complete and on disk."""
    with atomic_path(path) as temporary, open(temporary, mode, encoding="utf-8", newline="\n") as stream:
        yield stream
        stream.flush()
        if temporary.is_file():
            os.fsync(stream.fileno())


@contextmanager
def open_output(path: str | Path | None, *, flush: bool = False) -> Generator[Callable[[str], object]]:
    """Give a function that writes text to a file that appears when complete, or to standard output.

    Args:
        path: The file; None or `-` is standard output.
        flush: Whether each text that is written to standard output is shown at once.
    """
    if path is not None and str(path) != STANDARD_STREAM:
        with atomic_write(path) as stream:
            yield stream.write
        return

    def write_at_once(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    yield write_at_once if flush else sys.stdout.write
    sys.stdout.flush()


@contextmanager
def atomic_path(path: str | Path) -> Generator[Path, None, None]:
    """Give a temporary name beside `path`; moved to `path` on success, removed on failure.

    The old file stays as it was until the new one is whole: a full disk or a kill damages nothing.
    A pipe or a device, such as /dev/null, cannot be replaced and is written as it is.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror or error})") from error
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_current_umask())
        temporary.replace(path)
    except OSError as error:
        raise FileError(
            path,
            f"cannot be written ({error.strerror or error})",
            remedy="What was there before is untouched; make room and run the command again.",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: Path, *errors: type[Exception]) -> Generator[Path, None, None]:
    """A new directory to fill, which takes the place of the old one when all went well.

    `errors` are those that the one who fills it may raise when it cannot be written, besides OSError.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
    except OSError as error:
        raise FileError(folder, f"cannot be written ({error.strerror or error})") from error
    try:
        yield temporary
        _swap_in(temporary, folder)
    except (OSError, *errors) as error:
        remedy = "What was there before is untouched; make room and run the command again."
        raise FileError(folder, f"cannot be written ({error})", remedy=remedy) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap_in(temporary: Path, folder: Path) -> None:
    """Directories cannot replace each other in one step: move the old one aside first, and back if need be."""
    temporary.chmod(0o755)
    if not folder.exists():
        temporary.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".old"))
    old = aside / folder.name
    try:
        folder.rename(old)
        temporary.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        # Not the whole of it: what could not go back must stay where it is.
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
