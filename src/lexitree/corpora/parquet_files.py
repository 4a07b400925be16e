"""Reads Parquet, a piece of a row group at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lexitree.errors import FileError, import_extra
from lexitree.stores import is_address, open_stored

PARQUET_SUFFIX = ".parquet"

MAX_BATCH_ROWS = 1024
MAX_BATCH_BYTES = 1 << 25
"""What is held at a time: so many rows, or fewer if they are large."""
_BUFFER_BYTES = 1 << 20


@contextmanager
def open_parquet(path: str | Path) -> Generator[Any]:
    """Open a Parquet file, or one in a store, as a `pyarrow.parquet.ParquetFile`.

    Raises:
        MissingExtraError: pyarrow is not installed.
        FileError: The file cannot be read, or is no Parquet.
    """
    parquet = import_extra("pyarrow.parquet", extra="parquet", purpose="Reading Parquet", package="pyarrow")
    with ExitStack() as opened:
        source: Any = opened.enter_context(open_stored(str(path))) if is_address(path) else path
        try:
            # With a buffer, a column of a row group is read page by page, and not all of it at once.
            file = parquet.ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        except (OSError, ValueError) as error:
            raise FileError(path, f"cannot be read as Parquet ({error})") from error
        yield opened.enter_context(file)


def read_row_group(file: Any, number: int, path: str | Path) -> Iterator[Any]:
    """Yield the rows of a row group as Arrow record batches of moderate size; none if it is empty."""
    group = file.metadata.row_group(number)
    bytes_per_row = group.total_byte_size // max(group.num_rows, 1) + 1
    num_rows = max(1, min(MAX_BATCH_ROWS, MAX_BATCH_BYTES // bytes_per_row))
    try:
        yield from file.iter_batches(num_rows, row_groups=[number])
    except (OSError, ValueError) as error:
        raise FileError(path, f"cannot be read: row group {number} is damaged ({error})") from error
