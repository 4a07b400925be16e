"""Read word vectors in text format (GloVe, fastText) and in word2vec's binary format, as a stream."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import Place, VectorsError
from lexitree.lexicon.vector_streams import (
    DAMAGED_REMEDY,
    MAX_DIM,
    SKIP_REMEDY,
    ByteSource,
    RowCollector,
    RowError,
    check_same_dim,
    checked_dim,
)

LINES_LOOKED_AT = 32
"""The number of lines from which the dimension of a text file is inferred."""

MAX_WORD_BYTES = 1 << 14
"""No word of a binary file is longer; if none ends within this, the file is in another format."""

_MAX_HEADER_BYTES = 64
_FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"

_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEADER = re.compile(rb"(\d{1,18}) (\d{1,18})")


class TextLayout(NamedTuple):
    """What the first lines of a text file say."""

    dim: int
    num_promised: int | None
    """The number of rows according to a header line `count dim`; None without a header."""


def read_text_rows(source: ByteSource, rows: RowCollector, dim: int | None) -> int:
    """Read lines `word number number ...` into `rows`; returns the dimension."""
    lines = enumerate(source.lines(), 1)
    first = [(number, line) for number, line in itertools.islice(lines, LINES_LOOKED_AT) if line]
    layout = text_layout([line for _, line in first], source.name, dim)
    dim = layout.dim
    if layout.num_promised is not None:
        del first[0]
    for number, line in itertools.chain(first, lines):
        if not line:
            continue
        try:
            end = _word_end(line, dim)
            word = line[:end].decode()
            if rows.wants(word):
                rows.add(word, _parse_seeds(line, end))
            rows.num_read += 1
        except (RowError, UnicodeDecodeError) as fault:
            rows.fault(_text_error(source.name, number, line, fault))
    num_found = rows.num_read + rows.num_skipped
    if layout.num_promised not in (None, num_found):
        problem = f"the header says {layout.num_promised:,} rows, but the file has {num_found:,}"
        rows.fault(VectorsError(Place(source.name, 1), problem, remedy=f"{DAMAGED_REMEDY} {SKIP_REMEDY}"))
    return dim


def text_layout(lines: Sequence[bytes], name: str, dim: int | None = None) -> TextLayout:
    """Find the header, if there is one, and the dimension that most of the first rows agree on.

    Words may contain spaces (GloVe 840B has `. . .` and `at name@domain.com`), so a single row is not enough.
    """
    if any(b"\0" in line for line in lines):
        problem = "contains zero bytes, so it is not text in UTF-8"
        remedy = "Text in UTF-16 can be converted with: iconv -f UTF-16 -t UTF-8"
        raise VectorsError(Place(name), problem, remedy=remedy)
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if header:
        num_promised, promised_dim = int(header[1]), int(header[2])
        # Otherwise the first row is a word that is a number, with a one-dimensional vector.
        if len(lines) == 1 or promised_dim == 1 or _agreed_dim(lines[1:]) != 1:
            check_same_dim(promised_dim, dim, Place(name, 1))
            return TextLayout(checked_dim(promised_dim, Place(name, 1)), num_promised)
    if dim is None:
        dim = _agreed_dim(lines) if lines else 1
    if dim == 0:
        problem = "a row must be a word and its numbers, separated by spaces, but there is no space"
        raise VectorsError(Place(name, 1), problem, remedy="Is this a text file of word vectors?")
    return TextLayout(checked_dim(dim, Place(name, 1)), None)


def _agreed_dim(lines: Sequence[bytes]) -> int:
    """Return the dimension of most rows; in a tie, the one under which more rows are valid; 0 without any numbers."""
    votes = Counter(num_spaces for line in lines if (num_spaces := line.count(b" ")))
    most = max(votes.values(), default=0)
    tied = [dim for dim, count in votes.items() if count == most]
    if len(tied) < 2 or max(tied) > MAX_DIM:
        return tied[0] if tied else 0
    return max(tied, key=lambda dim: sum(_makes_sense(line, dim) for line in lines))


def _makes_sense(line: bytes, dim: int) -> bool:
    try:
        _parse_seeds(line, _word_end(line, dim))
    except RowError:
        return False
    return True


def _word_end(line: bytes, dim: int) -> int:
    """Return where the word ends and `dim` numbers follow; an unwanted row costs no more than counting spaces."""
    num_spaces = line.count(b" ")
    if num_spaces == dim:
        end = line.index(b" ")
    elif num_spaces > dim:
        word = line.rsplit(b" ", dim)[0]
        end = len(word)
        last_piece = word.rpartition(b" ")[2]
        if _NUMBER.fullmatch(last_piece):
            raise RowError(f"more than {dim} numbers after the word", end - len(last_piece))
    else:
        raise RowError(f"{num_spaces} numbers after the word instead of {dim}")
    if end == 0:
        raise RowError("no word before the numbers", 0)
    return end


def _parse_seeds(line: bytes, end: int) -> FloatArray:
    """Parse the numbers after the word; an error points at the first invalid one."""
    fields = line[end + 1 :].split(b" ")
    try:
        if b"_" in line[end:]:
            raise ValueError("Python reads 1_0 as 10")
        with np.errstate(over="ignore"):
            row = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError:
        row = None
    if row is not None and np.isfinite(row).all():
        return row
    offset = end + 1
    for position, field in enumerate(fields):
        if not _NUMBER.fullmatch(field):
            raise RowError(f"{field.decode(errors='replace')[:40]!r} is not a number", offset)
        if row is not None and not np.isfinite(row[position]):
            raise RowError(f"{field.decode()[:40]} is too large for a 32-bit number", offset)
        offset += len(field) + 1
    raise RowError("not a row of numbers")


def _text_error(name: str, number: int, line: bytes, fault: RowError | UnicodeDecodeError) -> VectorsError:
    if isinstance(fault, RowError):
        problem, offset = fault.problem, fault.offset
    else:
        problem = f"the byte 0x{fault.object[fault.start]:02x} in the word is not UTF-8"
        offset = fault.start
    column = 0 if offset is None else len(line[:offset].decode(errors="replace")) + 1
    place = Place(name, number, column, line.decode(errors="replace"))
    return VectorsError(place, problem, remedy=SKIP_REMEDY)


def read_word2vec_rows(source: ByteSource, rows: RowCollector, dim: int | None) -> int:
    """Read word2vec's binary format (`count dim`, then word, space, floats) into `rows`; returns the dimension."""
    place = Place(source.name)
    data, num_rows, row_dim = _read_word2vec_header(source)
    check_same_dim(row_dim, dim, place)
    row_bytes = 4 * checked_dim(row_dim, place)
    start = 0
    for number in range(1, num_rows + 1):
        # Some writers end a row with a line break, others do not.
        while (end := data.find(b" ", start, start + MAX_WORD_BYTES)) < 0 or end + 1 + row_bytes > len(data):
            if end < 0 and len(data) - start >= MAX_WORD_BYTES:
                problem = f"row {number:,} has no word; is this word2vec's binary format?"
                raise VectorsError(place, problem, remedy=DAMAGED_REMEDY)
            if not (more := source.read()):
                problem = f"the file ends in row {number:,} of {num_rows:,}"
                raise VectorsError(place, problem, remedy=DAMAGED_REMEDY)
            data, start = data[start:] + more, 0
        try:
            word = _decode_word(data[start:end].lstrip(b"\n"))
            if rows.wants(word):
                rows.add(word, _finite_row(np.frombuffer(data, "<f4", row_dim, end + 1)))
            rows.num_read += 1
        except RowError as fault:
            rows.fault(VectorsError(place, f"row {number:,}: {fault.problem}", remedy=SKIP_REMEDY))
        start = end + 1 + row_bytes
    # Reading to the end also makes gzip verify its checksum.
    if data[start:].strip(b"\n") or source.read():
        rows.fault(VectorsError(place, f"the file has more than the {num_rows:,} rows of its header"))
    return row_dim


def _read_word2vec_header(source: ByteSource) -> tuple[bytes, int, int]:
    """Return the bytes after the header, the number of rows and the dimension."""
    data = source.read()
    if data.startswith(_FASTTEXT_MODEL):
        remedy = "Use the .vec file that comes with it."
        raise VectorsError(Place(source.name), "this is a fastText model, not word vectors", remedy=remedy)
    line, line_end, rest = data.partition(b"\n")
    header = _HEADER.fullmatch(line.strip(b" \r")) if line_end and len(line) <= _MAX_HEADER_BYTES else None
    if header:
        return rest, int(header[1]), int(header[2])
    if not data:
        raise VectorsError(Place(source.name), "the file is empty", remedy=DAMAGED_REMEDY)
    problem = "does not start with the line 'count dim' of word2vec's binary format"
    raise VectorsError(Place(source.name), problem, remedy="Text files of vectors end in .txt or .vec.")


def _decode_word(word: bytes) -> str:
    if not word:
        raise RowError("no word before the numbers")
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise RowError(f"the byte 0x{error.object[error.start]:02x} in the word is not UTF-8") from error


def _finite_row(row: FloatArray) -> FloatArray:
    if not np.isfinite(row).all():
        raise RowError(f"number {int(np.argmin(np.isfinite(row))) + 1} of the vector is not finite")
    return row.astype(np.float32)
