"""Files read part by part: every row once, in order, and parts that end where they should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora import parquet_files
from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, Place, TableError
from lexitree.pipeline import part_sources
from lexitree.pipeline.formats import OutputSettings
from lexitree.pipeline.known_formats import CsvFormat, DrawingFormat, JsonFormat, SvgFormat, TableFormat
from lexitree.pipeline.part_sources import Block, PartSource, RecordParts, open_parquet_parts


def some_rows(number: int) -> Iterator[Row]:
    return (Row(str(place), (), Place("in.txt", place + 1)) for place in range(number))


def parts_of(blocks: Iterator[Block]) -> dict[int, list[str]]:
    """The texts of each part; fails unless parts come in order and end once."""
    parts: dict[int, list[str]] = {}
    is_open = False
    for block in blocks:
        assert is_open == (block.part in parts)
        assert len(block.rows) <= part_sources.BLOCK_ROWS
        parts.setdefault(block.part, []).extend(row.text for row in block.rows)
        is_open = not block.is_last
    assert not is_open
    assert list(parts) == sorted(parts)
    return parts


@given(st.integers(0, 40), st.integers(1, 15), st.integers(1, 6), st.sets(st.integers(0, 8)))
def test_any_number_of_rows(num_rows: int, part_rows: int, block_rows: int, done: set[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_sources, "BLOCK_ROWS", block_rows)
        source = RecordParts(JsonFormat(), some_rows(num_rows), part_rows)
        found = parts_of(source.blocks(done))
    texts = [str(place) for place in range(num_rows)]
    expected = {
        first // part_rows: texts[first : first + part_rows] for first in range(0, num_rows, part_rows)
    }
    assert found == {part: rows for part, rows in expected.items() if part not in done}


def test_a_part_is_complete_before_the_next_is_read() -> None:
    def rows() -> Iterator[Row]:
        yield from some_rows(3)
        raise TableError(Place("in.csv", 4), "malformed")

    blocks = RecordParts(JsonFormat(), rows(), 3).blocks(())
    assert next(blocks).is_last
    with pytest.raises(TableError):
        next(blocks)


def test_formats_without_records_have_no_parts() -> None:
    for output_format in (SvgFormat(), DrawingFormat()):
        with pytest.raises(ConfigError, match="folder of parts cannot be written as"):
            RecordParts(output_format, some_rows(1))
    tabs = CsvFormat(OutputSettings(delimiter="\t"))
    suffixes = [
        RecordParts(each, some_rows(1)).suffix for each in (JsonFormat(), CsvFormat(), tabs, TableFormat())
    ]
    assert suffixes == [".jsonl", ".csv", ".tsv", ".tsv"]


@pytest.fixture
def arrow() -> Any:
    return pytest.importorskip("pyarrow", reason="needs the extra parquet")


def write_groups(path: Path, groups: list[list[str | None]]) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("text", pa.string())], metadata={"made by": "somebody"})
    with parquet.ParquetWriter(path, schema) as writer:
        for group in groups:
            writer.write_table(pa.table({"text": pa.array(group, pa.string())}).cast(schema))
    return path


def test_row_groups(arrow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_BATCH_ROWS", 4)
    groups = [[str(number) for number in range(10)], [], ["x", None, ""]]
    path = write_groups(tmp_path / "a.parquet", groups)
    settings = OutputSettings("text", errors=True)
    with open_parquet_parts(path, settings) as source:
        assert parts_of(source.blocks(())) == {0: groups[0], 1: [], 2: ["x", "", ""]}
        assert parts_of(source.blocks({0, 1})) == {2: ["x", "", ""]}
        blocks: PartSource = source
        *_, last = blocks.blocks({0})
        assert last.rows[0].place == Place(str(path), 11)
        with source.open_part(tmp_path / "part") as write:
            for block in source.blocks({2}):
                write(block, [["good", 0.5, None]] * len(block.rows))
        with source.open_part(tmp_path / "empty"):
            pass
    from pyarrow import parquet

    written = parquet.read_table(tmp_path / "part")
    assert written["text"].to_pylist() == groups[0]
    assert written["label"].to_pylist() == ["good"] * 10
    assert written.schema.names == ["text", "label", "probability", "error"]
    assert written.schema.metadata[b"made by"] == b"somebody"
    assert parquet.read_table(tmp_path / "empty").schema.equals(written.schema)


def test_large_rows_are_held_one_at_a_time(
    arrow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "MAX_BATCH_BYTES", 3000)
    path = write_groups(tmp_path / "a.parquet", [[str(number) * 1000 for number in range(9)]])
    with open_parquet_parts(path, OutputSettings("text")) as source:
        assert [len(block.rows) for block in source.blocks(())] == [2, 2, 2, 2, 1]


def test_damaged_parquet(arrow: Any, tmp_path: Path) -> None:
    path = write_groups(tmp_path / "a.parquet", [[str(number) for number in range(1000)]])
    damaged = bytearray(path.read_bytes())
    damaged[20:1000] = bytes(980)
    path.write_bytes(damaged)
    with (
        open_parquet_parts(path, OutputSettings("text")) as source,
        pytest.raises(FileError, match="row group 0 is"),
    ):
        list(source.blocks(()))
    with open_parquet_parts(path, OutputSettings("text")) as source:
        source.file = SimpleNamespace(
            num_row_groups=1,
            metadata=source.file.metadata,
            iter_batches=lambda *_, **__: [arrow.record_batch({"text": ["a", "b"]})],
        )
        with pytest.raises(FileError, match="row group 0 is damaged: it does not have 1,000 rows"):
            list(source.blocks(()))
    path.write_bytes(damaged[:500])
    with (
        pytest.raises(FileError, match="cannot be read as Parquet"),
        open_parquet_parts(path, OutputSettings("text")),
    ):
        pass
