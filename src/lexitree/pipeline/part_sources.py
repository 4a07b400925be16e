"""Reads files part by part: row groups of Parquet, and so many rows of other files; says how parts are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lexitree.corpora.parquet_files import open_parquet, read_row_group
from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, Place, import_extra
from lexitree.pipeline import PART_ROWS
from lexitree.pipeline.arrow_columns import extend_batch, extend_schema, texts_of_arrow
from lexitree.pipeline.formats import OutputFormat, OutputSettings, RecordFormat, RowFormat, ValuesFormat

BLOCK_ROWS = 256
"""Rows that are read and written together."""


@dataclass(frozen=True)
class Block:
    """Rows that are read and written together."""

    part: int
    rows: Sequence[Row]
    is_last: bool
    """Whether the part ends here."""
    table: Any = None
    """The record batch of Arrow that the rows come from, with all columns."""


WriteBlock = Callable[[Block, Sequence[Any]], object]
"""Writes the rows of a block with their records."""


class PartSource(ABC):
    """An input file that is read part by part, and how its parts are written."""

    output_format: RowFormat[Any]
    suffix: str
    """What the names of its parts end in."""

    @abstractmethod
    def blocks(self, done: Container[int]) -> Iterator[Block]:
        """The rows of all parts in their order, except of those that are done."""

    @abstractmethod
    def part_sizes(self) -> list[int]:
        """How many rows each part has; rows that were read for that cannot be read again."""

    @abstractmethod
    def open_part(self, path: Path) -> AbstractContextManager[WriteBlock]:
        """Open a new part for writing."""


class RecordParts(PartSource):
    """Lines of text, CSV or JSON Lines: a part is so many rows.

    Args:
        output_format: The format of the parts.
        rows: The rows of the file.
        part_rows: Rows per part.

    Raises:
        ConfigError: Files of this format do not consist of records, or have no ending of their own.
    """

    def __init__(self, output_format: OutputFormat, rows: Iterator[Row], part_rows: int = PART_ROWS) -> None:
        if not isinstance(output_format, RecordFormat) or not output_format.suffixes:
            raise ConfigError(
                f"a folder of parts cannot be written as {output_format.name}",
                remedy="Use --format json, csv, table or brackets.",
            )
        self.rows = rows
        self.output_format = output_format
        self._opening = output_format.opening()
        has_tabs = output_format.settings.delimiter == "\t" and ".tsv" in output_format.suffixes
        self.suffix = ".tsv" if has_tabs else output_format.suffixes[0]
        self.part_rows = part_rows

    def blocks(self, done: Container[int]) -> Iterator[Block]:
        for part, row in enumerate(self.rows):
            ahead, num_left = row, self.part_rows
            while ahead is not None:
                taken = [ahead, *islice(self.rows, min(BLOCK_ROWS, num_left) - 1)]
                num_left -= len(taken)
                # Not a row of the next part: if it is malformed, this part is complete all the same.
                ahead = next(self.rows, None) if num_left else None
                if part not in done:
                    yield Block(part, taken, is_last=ahead is None)

    def part_sizes(self) -> list[int]:
        num_full, rest = divmod(sum(1 for _ in self.rows), self.part_rows)
        return [self.part_rows] * num_full + [rest] * bool(rest)

    @contextmanager
    def open_part(self, path: Path) -> Generator[WriteBlock]:
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(self._opening)
            yield lambda _, records: stream.writelines(records)


class ParquetParts(PartSource):
    """A Parquet file: a part is a row group. All columns are copied as they are.

    Args:
        path: The file, or its address in a store.
        file: The open file.
        settings: The column of the texts, and the columns that are added.
    """

    suffix = ".parquet"

    def __init__(self, path: str | Path, file: Any, settings: OutputSettings) -> None:
        self.path = path
        self.file = file
        self.settings = settings
        self.output_format = ValuesFormat(settings)
        self.schema = extend_schema(file.schema_arrow, settings, Place(str(path)))

    def blocks(self, done: Container[int]) -> Iterator[Block]:
        num_before = 0
        for part in range(self.file.num_row_groups):
            num_rows: int = self.file.metadata.row_group(part).num_rows
            if part not in done:
                yield from self._blocks_of(part, num_rows, num_before)
            num_before += num_rows

    def part_sizes(self) -> list[int]:
        return [self.file.metadata.row_group(part).num_rows for part in range(self.file.num_row_groups)]

    def _blocks_of(self, part: int, num_rows: int, num_before: int) -> Iterator[Block]:
        number, last = num_before, num_before + num_rows
        for batch in read_row_group(self.file, part, self.path):
            rows: list[Row] = []
            for text in texts_of_arrow(batch.column(self.settings.column)):
                number += 1
                rows.append(Row("" if text is None else text, (), Place(str(self.path), number)))
            if number > last:
                break
            yield Block(part, rows, number == last, batch)
        if number != last:
            raise FileError(self.path, f"row group {part} is damaged: it does not have {num_rows:,} rows")
        if not num_rows:
            yield Block(part, (), is_last=True)

    @contextmanager
    def open_part(self, path: Path) -> Generator[WriteBlock]:
        parquet = import_extra("pyarrow.parquet", extra="parquet", purpose="Parquet", package="pyarrow")
        with parquet.ParquetWriter(path, self.schema) as writer:

            def write(block: Block, records: Sequence[Any]) -> None:
                if block.rows:
                    writer.write_batch(extend_batch(block.table, records, self.settings, self.schema))

            yield write


@contextmanager
def open_parquet_parts(path: str | Path, settings: OutputSettings) -> Generator[ParquetParts]:
    """Open a Parquet file whose row groups are to be labelled."""
    with open_parquet(path) as file:
        yield ParquetParts(path, file, settings)
