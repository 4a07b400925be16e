"""Interrupted output files: complete records are counted and kept, a partial one is dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import FileError
from lexitree.pipeline import resuming
from lexitree.pipeline.resuming import (
    WholeRecords,
    cut_to_whole_records,
    find_whole_records,
    read_last_record,
)
from lexitree.pipeline.tables import csv_line

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
MUST_BE_QUOTED = st.text(st.sampled_from(["\n", "\r", '"', ",", "a"]), max_size=6)
"""Random characters are hardly ever those that make a cell hard to read."""
CELLS = st.lists(ANY_TEXT | MUST_BE_QUOTED, min_size=1, max_size=3)


@given(st.lists(CELLS, max_size=5), st.integers(min_value=0), st.sampled_from([1, 3, 1 << 20]))
def test_any_file_of_csv_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], cut: int, chunk: int
) -> None:
    records = [csv_line(cells).encode() for cells in rows]
    whole = b"".join(records)
    cut = cut % (len(whole) + 1)
    path = tmp_path_factory.mktemp("torn") / "out.csv"
    path.write_bytes(whole[:cut])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resuming, "CHUNK_BYTES", chunk)
        found = find_whole_records(path, quoted=True)
    ends = [len(b"".join(records[:number])) for number in range(len(records) + 1)]
    assert found.num_records == max(number for number, end in enumerate(ends) if end <= cut)
    assert found.end == ends[found.num_records]
    if found.num_records:
        assert read_last_record(path, found) == records[found.num_records - 1].decode().removesuffix("\n")
    cut_to_whole_records(path, found)
    assert path.read_bytes() == b"".join(records[: found.num_records])


def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert find_whole_records(path, quoted=False) == WholeRecords()
    path.write_bytes(b'{"a": "\\""}\n{"b": 1}\n{"c')
    found = find_whole_records(path, quoted=False)
    assert found == WholeRecords(2, 21, 12)
    assert read_last_record(path, found) == '{"b": 1}'
    cut_to_whole_records(path, found)
    cut_to_whole_records(path, found)
    assert path.read_bytes() == b'{"a": "\\""}\n{"b": 1}\n'


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        find_whole_records(tmp_path, quoted=False)
