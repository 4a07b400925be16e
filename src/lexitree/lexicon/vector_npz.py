"""Read and write word vectors in .npz files, block by block and without pickle."""

from __future__ import annotations

import itertools
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.errors import Place, VectorsError
from lexitree.lexicon.vector_streams import (
    CHUNK_BYTES,
    DAMAGED_REMEDY,
    SKIP_REMEDY,
    ByteSource,
    Progress,
    RowCollector,
    WordVectors,
    check_same_dim,
    checked_dim,
    open_archive,
    open_member,
)
from lexitree.writing import atomic_path

MAX_WORD_BYTES = 1 << 16
_NPZ_REMEDY = (
    "It must contain 'words' (strings) [n] and 'vectors' (floats) [n, dim]; see 'lexitree vectors filter'."
)


class _ArrayLayout(NamedTuple):
    """What an array's header claims, which is trusted only as far as the data confirms it."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def read_npz_rows(path: str | Path, rows: RowCollector, dim: int | None, progress: Progress | None) -> int:
    """Read the arrays `words` and `vectors` of an .npz (others are ignored) into `rows`; returns the dimension."""
    with open_archive(path) as archive:
        words_member, vectors_member = (_find_array(archive, name, path) for name in ("words", "vectors"))
        with open_member(archive, vectors_member, path, progress=progress) as source:
            layout = _check_vectors_layout(_read_layout(source), source.name)
            row_dim = layout.shape[1]
            check_same_dim(row_dim, dim, Place(source.name))
            with open_member(archive, words_member, path) as words_source:
                kept = _read_kept_words(words_source, rows, layout.shape[0])
            _read_kept_vectors(source, layout, rows, kept)
    return row_dim


def _find_array(archive: zipfile.ZipFile, name: str, path: str | Path) -> zipfile.ZipInfo:
    try:
        return archive.getinfo(f"{name}.npy")
    except KeyError as error:
        found = (
            ", ".join(member.filename.removesuffix(".npy") for member in archive.infolist()[:8]) or "nothing"
        )
        problem = f"array '{name}' is missing (found: {found})"
        raise VectorsError(Place(str(path)), problem, remedy=_NPZ_REMEDY) from error


def _read_layout(source: ByteSource) -> _ArrayLayout:
    """Read an array's header: its type and shape."""
    try:
        # Later versions are for structured arrays, whose headers may be of any length.
        if np.lib.format.read_magic(source) != (1, 0):
            raise ValueError("not version 1.0 of the format")
        shape, is_column_major, dtype = np.lib.format.read_array_header_1_0(source)
    except VectorsError:
        raise
    except Exception as error:  # the header is Python source, and parsing it can fail in many ways
        problem = f"is not a NumPy array ({error})"
        raise VectorsError(Place(source.name), problem, remedy=DAMAGED_REMEDY) from error
    if dtype.hasobject:
        problem = "contains pickled objects, which are never loaded: they could run any code"
        raise VectorsError(Place(source.name), problem, remedy=_NPZ_REMEDY)
    if not 0 < dtype.itemsize <= MAX_WORD_BYTES:
        raise VectorsError(Place(source.name), f"has the unsupported type {dtype}", remedy=_NPZ_REMEDY)
    if is_column_major and len(shape) > 1:
        problem = "is stored in column-major order, so its rows cannot be streamed"
        raise VectorsError(Place(source.name), problem, remedy="Apply np.ascontiguousarray before saving.")
    return _ArrayLayout(dtype, shape)


def _check_vectors_layout(layout: _ArrayLayout, name: str) -> _ArrayLayout:
    if layout.dtype.kind != "f" or len(layout.shape) != 2:
        problem = f"'vectors' has type {layout.dtype} and shape {layout.shape}"
        raise VectorsError(Place(name), problem, remedy=_NPZ_REMEDY)
    checked_dim(layout.shape[1], Place(name))
    return layout


def _read_kept_words(source: ByteSource, rows: RowCollector, num_rows: int) -> dict[str, int]:
    """Return the wanted words with their row numbers, in order."""
    layout = _read_layout(source)
    if layout.dtype.kind not in "US" or len(layout.shape) != 1:
        problem = f"'words' has type {layout.dtype} and shape {layout.shape}"
        raise VectorsError(Place(source.name), problem, remedy=_NPZ_REMEDY)
    if layout.shape[0] != num_rows:
        problem = f"{layout.shape[0]:,} words but {num_rows:,} vectors"
        raise VectorsError(Place(source.name), problem, remedy=_NPZ_REMEDY)
    kept: dict[str, int] = {}
    row = 0
    for block in _read_blocks(source, layout):
        for word in _decode_block(block, row, source.name, rows):
            if word is not None:
                if rows.wants(word):
                    kept.setdefault(word, row)
                rows.num_read += 1
            row += 1
    return kept


def _decode_block(
    block: npt.NDArray[Any], first_row: int, name: str, rows: RowCollector
) -> Iterator[str | None]:
    """Yield the words of a block; None for one that cannot be decoded."""
    if block.dtype.kind == "U":
        codes = block.view(np.dtype(np.uint32).newbyteorder(block.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise VectorsError(Place(name), "contains invalid characters", remedy=DAMAGED_REMEDY)
    words: list[str | bytes] = block.tolist()
    for row, word in enumerate(words, first_row + 1):
        try:
            yield word if isinstance(word, str) else word.decode()
        except UnicodeDecodeError:
            rows.fault(VectorsError(Place(name), f"row {row:,}: the word is not UTF-8", remedy=SKIP_REMEDY))
            yield None


def _read_kept_vectors(
    source: ByteSource, layout: _ArrayLayout, rows: RowCollector, kept: dict[str, int]
) -> None:
    words, kept_rows = list(kept), np.fromiter(kept.values(), dtype=np.int64, count=len(kept))
    start = 0
    for block in _read_blocks(source, layout):
        first, last = np.searchsorted(kept_rows, [start, start + len(block)]).tolist()
        with np.errstate(over="ignore", invalid="ignore"):
            chosen = block[kept_rows[first:last] - start].astype(np.float32)
        for word, row in zip(words[first:last], chosen, strict=True):
            if np.isfinite(row).all():
                rows.add(word, row)
                continue
            rows.num_read -= 1
            problem = f"row {kept[word] + 1:,} ({word!r:.60}) is not finite"
            rows.fault(VectorsError(Place(source.name), problem, remedy=SKIP_REMEDY))
        start += len(block)


def _read_blocks(source: ByteSource, layout: _ArrayLayout) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of an array in blocks, so that a false header cannot claim memory."""
    dtype, (num_rows, *row_shape) = layout.dtype, layout.shape
    row_bytes = dtype.itemsize * int(np.prod(row_shape, dtype=np.int64))
    block_rows = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, num_rows, block_rows):
        num_wanted = min(block_rows, num_rows - start)
        data = source.read_exactly(num_wanted * row_bytes)
        if len(data) != num_wanted * row_bytes:
            raise _wrong_size(source.name, layout)
        yield np.frombuffer(data, dtype=dtype).reshape(num_wanted, *row_shape)
    if source.read(1):
        raise _wrong_size(source.name, layout)


def _wrong_size(name: str, layout: _ArrayLayout) -> VectorsError:
    problem = f"does not contain the {layout.shape} values that its header claims"
    return VectorsError(Place(name), problem, remedy=DAMAGED_REMEDY)


def write_vectors_npz(path: str | Path, vectors: WordVectors, *, float16: bool = False) -> None:
    """Write vectors as a compressed .npz file, atomically; `read_vectors` reads it back.

    Args:
        path: The file to write.
        vectors: The vectors.
        float16: Whether to halve the size of the file; numbers keep three digits.

    Raises:
        VectorsError: A word ends in a zero byte, or a number is too large for 16 bits.
        FileError: The file cannot be written.
    """
    name = str(path)
    if any(word.endswith("\0") for word in vectors.words):
        raise VectorsError(Place(name), "a word that ends in a zero byte cannot be stored in an .npz")
    numbers: npt.NDArray[np.floating[Any]] = vectors.vectors
    if float16:
        with np.errstate(over="ignore"):
            numbers = numbers.astype(np.float16)
        if not np.isfinite(numbers).all():
            problem = "some numbers are too large for 16 bits"
            raise VectorsError(Place(name), problem, remedy="Write 32 bits (--float32).")
    # NumPy would make an array of floats from an empty list.
    longest = max(itertools.chain([1], map(len, vectors.words)))
    words = np.array(vectors.words, dtype=f"<U{longest}")
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, words=words, vectors=numbers)
        stream.flush()
        os.fsync(stream.fileno())
