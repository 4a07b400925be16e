"""Read text files strictly, line by line, and write files and folders atomically."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import secrets
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
"""Longer lines are an error, so that a hostile file cannot exhaust the memory."""

STANDARD_STREAM = "-"

_UNCHANGED = "The previous contents are untouched; free some space and run the command again."


@contextmanager
def _open_binary(path: str | Path) -> Generator[BinaryIO, None, None]:
    """Open a file for reading bytes; `-` is standard input, and `.gz` is decompressed on the fly."""
    if str(path) == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    try:
        opener = gzip.open if str(path).endswith(".gz") else open
        stream = opener(path, "rb")
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise FileError(repr(str(path)), f"is not a valid file name ({error})") from error
    with stream:
        yield cast(BinaryIO, stream)


def read_lines(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file.

    Args:
        path: The file; `-` is standard input, and `.gz` is decompressed on the fly.
        encoding: Its encoding, applied strictly.

    Yields:
        The line number, counted from 1, and the line without its line break.

    Raises:
        FileError: The file cannot be read, or the encoding does not exist.
        EncodingError: A byte is invalid in this encoding, or a line is too long.
    """
    with _open_binary(path) as stream:
        yield from decode_lines(stream, encoding, name=display_name(path))


def decode_lines(stream: BinaryIO, encoding: str, name: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a byte stream; see `read_lines`.

    Only `\\n` ends a line: U+2028 and U+0085 may be part of a token.
    """
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
            raise EncodingError(
                Place(name, number + 1), f"line is longer than {MAX_LINE_CHARACTERS:,} characters"
            )
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
        # Codecs that are not for text, such as "hex" and "zlib", raise a LookupError here.
        with suppress(UnicodeError):
            " ".encode(encoding)
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        raise FileError(name, f"unknown text encoding {encoding!r}") from error


def _read_chunk(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.read(CHUNK_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(name, f"cannot be read to its end ({error})") from error


def _encoding_error(
    error: UnicodeError, decoder: codecs.IncrementalDecoder, encoding: str, name: str, num_lines: int
) -> EncodingError:
    """Find the line of the invalid byte: `num_lines`, plus the line breaks before it in this chunk."""
    problem = f"invalid {encoding} ({error})"
    if isinstance(error, UnicodeDecodeError):
        num_lines += decoder.decode(error.object[: error.start]).count("\n")
        problem = f"the byte 0x{error.object[error.start]:02x} is not {encoding}"
    remedy = "Give the file's encoding, for example --encoding latin-1; it is never guessed."
    return EncodingError(Place(name, num_lines), problem, remedy=remedy)


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        FileError: The file cannot be read or is not valid TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not a TOML file ({error})") from error


def display_name(path: str | Path) -> str:
    """Return the path as error messages show it."""
    return "<standard input>" if str(path) == STANDARD_STREAM else str(path)


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Generator[IO[str], None, None]:
    """Open a text file for writing that replaces `path` only when it is complete and on disk."""
    with atomic_path(path) as temporary, open(temporary, mode, encoding="utf-8", newline="\n") as stream:
        yield stream


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
def file_errors(path: str | Path, what: str = "read") -> Generator[None, None, None]:
    """Report an OSError inside as a FileError: the path cannot be read, written or made."""
    try:
        yield
    except OSError as error:
        raise FileError(path, f"cannot be {what} ({error.strerror or error})") from error


@contextmanager
def atomic_path(path: str | Path, *errors: type[Exception]) -> Generator[Path, None, None]:
    """Provide a temporary path that replaces `path` on success and is removed on failure.

    The old file stays in place until the new one is complete on disk, so a full disk, a killed process or a power cut
    damages nothing. A pipe or a device, such as /dev/null, cannot be replaced and is written to directly.

    Args:
        path: The file to create or replace.
        *errors: Exceptions besides OSError that mean that the file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    # A folder, because libraries such as safetensors make temporary files of their own beside the one they write.
    folder = _unused_name(path)
    temporary = folder / path.name
    try:
        with file_errors(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(0o700)
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_current_umask())
        temporary.replace(path)
    except (OSError, *errors) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(path, f"cannot be written ({reason})", remedy=_UNCHANGED) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        # Without it, a power cut may bring the old file back; that is not worth an error.
        _sync(path.parent)


def _unused_name(path: Path) -> Path:
    """A hidden name beside a file or folder, known before it is made: a signal in between leaves nothing behind."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _sync(path: Path) -> None:
    """Wait until a file or the names in a folder are on disk, so that a name never gets there before its content."""
    if sys.platform == "win32" and path.is_dir():
        return  # Windows cannot open folders.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def atomic_folder(folder: Path, *errors: type[Exception]) -> Generator[Path, None, None]:
    """Provide a new folder to fill, which replaces the old one on success.

    Args:
        folder: The folder to create or replace.
        *errors: Exceptions besides OSError that mean that the folder cannot be written.
    """
    with file_errors(folder, "written"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
    try:
        yield temporary
        _swap_in(temporary, folder)
    except (OSError, *errors) as error:
        raise FileError(folder, f"cannot be written ({error})", remedy=_UNCHANGED) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap_in(temporary: Path, folder: Path) -> None:
    """Replace a folder. This takes two renames: the old one moves aside, and back if the second one fails."""
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
        # Not rmtree: if the old folder could not be moved back, it must stay there.
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def to_json(record: object, *, indent: int | None = None) -> str:
    """JSON in which text stays readable; line separators of JavaScript are escaped, so one line stays one line."""
    written = json.dumps(record, ensure_ascii=False, indent=indent, allow_nan=False)
    if not _has_whole_characters(written):
        return json.dumps(record, indent=indent, allow_nan=False)
    return written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _has_whole_characters(text: str) -> bool:
    """Half a surrogate pair, which JSON can hold and files cannot, has to stay escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
