"""Read text files strictly, line by line, and TOML; write JSON and TOML."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import sys
import tomllib
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from lexitree.errors import EncodingError, FileError, Place
from lexitree.stores import is_address, open_stored
from lexitree.suggestions import suggest_files, suggest_path

CHUNK_BYTES = 1 << 16
MAX_LINE_CHARACTERS = 1 << 26
"""Longer lines are an error, so that a hostile file cannot exhaust the memory."""

STANDARD_STREAM = "-"
JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")
BRACKET_SUFFIXES = (".txt", ".mrg", ".ptb")
"""Files of trees in brackets, as treebanks have them."""
HTML_SUFFIXES = (".html", ".htm")
_TABLE_SUFFIXES = (*JSON_LINES_SUFFIXES, ".csv", ".json", ".npz", ".parquet", ".tsv", ".xls", ".xlsx")
_PICTURE_SUFFIXES = (*HTML_SUFFIXES, ".gif", ".jpeg", ".jpg", ".md", ".pdf", ".png", ".svg")
_FIXED_SUFFIXES = frozenset(_TABLE_SUFFIXES + _PICTURE_SUFFIXES)
"""Endings that mean the same to every program: nothing else is written under such a name."""

_GIVE_ENCODING = "Give the file's encoding, for example --encoding latin-1 or utf-16-le; it is never guessed."
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@contextmanager
def _open_binary(path: str | Path) -> Generator[BinaryIO, None, None]:
    """Open a file for reading bytes; `-` is standard input, and `.gz` is decompressed on the fly."""
    if str(path) == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    if is_address(path):
        with open_stored(str(path)) as stored:
            is_packed = str(path).endswith(".gz")
            with gzip.open(stored) if is_packed else nullcontext(stored) as stream:
                yield cast(BinaryIO, stream)
        return
    try:
        opener = gzip.open if str(path).endswith(".gz") else open
        stream = opener(path, "rb")
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise FileError(repr(str(path)), f"is not a valid file name ({error})") from error
    with stream:
        yield cast(BinaryIO, stream)


def read_lines(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file.

    Args:
        path: The file, or its address in a store; `-` is standard input, and `.gz` is decompressed on the fly.
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
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
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
        if not is_utf8:
            _refuse_half_characters(text, encoding, name, num_lines)
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
    # What a pipe holds is read at once; `read` would wait until a whole chunk has come.
    read = getattr(stream, "read1", stream.read)
    try:
        return read(CHUNK_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(name, f"cannot be read to its end ({error})") from error


def _encoding_error(
    error: UnicodeError, decoder: codecs.IncrementalDecoder, encoding: str, name: str, num_lines: int
) -> EncodingError:
    """Find the line of the invalid byte: `num_lines`, plus the line breaks before it in this chunk."""
    problem = f"invalid {encoding} ({error})"
    if isinstance(error, UnicodeDecodeError):
        # Some codecs, such as UTF-16 without a byte-order mark, refuse what stands before the byte as well.
        with suppress(UnicodeError):
            num_lines += decoder.decode(error.object[: error.start]).count("\n")
        problem = f"the byte 0x{error.object[error.start]:02x} is not {encoding}"
    return EncodingError(Place(name, num_lines), problem, remedy=_GIVE_ENCODING)


def _refuse_half_characters(text: str, encoding: str, name: str, num_lines: int) -> None:
    """Refuse half a surrogate pair, which UTF-7 and escapes can hold and other text cannot."""
    half = _HALF_CHARACTER.search(text)
    if half:
        place = Place(name, num_lines + text.count("\n", 0, half.start()))
        raise EncodingError(place, f"half a character is not {encoding}", remedy=_GIVE_ENCODING)


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        FileError: The file cannot be read or is not valid TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not a TOML file ({error})") from error


def plain_suffix(path: str | Path) -> str:
    """The ending of a file's name in lower case, without `.gz`."""
    return Path(str(path).removesuffix(".gz")).suffix.lower()


def choose_format(
    path: str | Path | None,
    endings: Mapping[str, Sequence[str]],
    *,
    asked: str | None = None,
    default: str | None = None,
    option: str = "",
    can_compress: bool = True,
) -> str:
    """The format of an output file: the one that was asked for, else the one that its ending means.

    Every command with an output file decides here, so that a file never holds something else than its name says.

    Args:
        path: The file, perhaps with `.gz` at its end; None and `-` are standard output.
        endings: The formats that can be written, each with the endings of its files.
        asked: The format that the user has asked for. It may have any ending but those of other formats.
        default: The format for standard output and for a name without an ending; by default the first.
        option: The option by which a format is asked for, for the error message.
        can_compress: Whether `.gz` at the end compresses the file; otherwise it is an ending like any other.

    Raises:
        FileError: The ending means a format that was not asked for, or that cannot be written.
    """
    name = "" if path is None or str(path) == STANDARD_STREAM else str(path)
    suffix = plain_suffix(name) if can_compress else Path(name).suffix.lower()
    meant = next((name for name, own in endings.items() if suffix in own), None)
    if asked is not None:
        is_free = meant is None and suffix not in _FIXED_SUFFIXES
        if is_free or suffix in endings.get(asked, ()):
            return asked
    elif meant is not None or not suffix:
        return meant or default or next(iter(endings))
    problem = f"cannot be written as {suffix}" if asked is None else f"{suffix} is not an ending of {asked}"
    fitting = endings.values() if asked is None else [endings.get(asked) or (".txt",)]
    known = dict.fromkeys(ending for own in fitting for ending in own)
    remedy = f"Endings that fit: {', '.join(known)}."
    others = f" For other endings, name the format with {option}." if option and asked is None else ""
    raise FileError(name, problem, remedy=remedy + others)


def display_name(path: str | Path) -> str:
    """Return the path as error messages show it."""
    return "<standard input>" if str(path) == STANDARD_STREAM else str(path)


def unreadable(path: str | Path, error: OSError) -> FileError:
    """The error to raise for a file that cannot be opened; for a missing one, it names similar files."""
    remedy = suggest_path(path) if isinstance(error, FileNotFoundError) else ""
    if isinstance(error, IsADirectoryError):
        remedy = suggest_files(path)
    return FileError(path, f"cannot be read ({error.strerror or error})", remedy=remedy)


@contextmanager
def file_errors(path: str | Path, what: str = "read") -> Generator[None, None, None]:
    """Report an OSError inside as a FileError: the path cannot be read, written or made."""
    try:
        yield
    except OSError as error:
        raise FileError(path, f"cannot be {what} ({error.strerror or error})") from error


def _encoder(indent: int | None = None) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, indent=indent, allow_nan=False)


_encode_line = _encoder().encode
"""Made once: `json.dumps` makes an encoder for each record."""


def to_json(record: object, *, indent: int | None = None) -> str:
    """JSON in which text stays readable; line separators of JavaScript are escaped, so one line stays one line."""
    written = _encode_line(record) if indent is None else _encoder(indent).encode(record)
    if not _has_whole_characters(written):
        return json.dumps(record, indent=indent, allow_nan=False)
    return escape_line_ends(written)


def escape_line_ends(written: str) -> str:
    """JSON on one line, also for programs that take other characters for the end of a line."""
    if written.isascii():
        return written
    return written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _has_whole_characters(text: str) -> bool:
    """Half a surrogate pair, which JSON can hold and files cannot, has to stay escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_toml(values: Mapping[str, Any]) -> str:
    """TOML with these values, tables last; values of None are left out, since TOML has none."""
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    tables: dict[str, Any] = {name: value for name, value in values.items() if name not in plain}
    parts = [
        _toml_lines(plain),
        *(f"[{_toml_key(name)}]\n{_toml_lines(each)}" for name, each in tables.items()),
    ]
    return "\n".join(part for part in parts if part)


def _toml_lines(values: Mapping[str, Any]) -> str:
    given = {name: value for name, value in values.items() if value is not None}
    return "".join(f"{_toml_key(name)} = {_toml_value(value)}\n" for name, value in given.items())


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_value(name)


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        items = cast(Mapping[str, object], value).items()
        return f"{{ {', '.join(f'{_toml_key(name)} = {_toml_value(item)}' for name, item in items)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, cast(Sequence[object], value)))}]"
    # Texts, numbers and truth values are written as in JSON, but for one character.
    return to_json(value).replace("\x7f", "\\u007f")
