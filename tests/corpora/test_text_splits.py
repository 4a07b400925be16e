"""The parts of a table: stratified, reproducible, written down, and refused once the table has changed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora.text_splits import SPLITS_FILE, SplitRecord, draw_splits
from lexitree.corpora.text_tables import texts_from_columns
from lexitree.errors import FileError, LabelError


@given(
    st.lists(st.sampled_from("abc"), min_size=12, max_size=200),
    st.floats(0.05, 0.4),
    st.floats(0.05, 0.4),
    st.integers(0, 9),
)
def test_parts_hold_every_row_once_in_proportion(
    labels: list[str], dev: float, test: float, seed: int
) -> None:
    parts = draw_splits(labels, dev=dev, test=test, seed=seed)
    assert sorted(row for rows in parts.values() for row in rows) == [*range(len(labels))]
    assert {labels[row] for row in parts["train"]} == set(labels)
    counts = Counter(labels)
    for part, share in (("dev", dev), ("test", test)):
        found = Counter(labels[row] for row in parts[part])
        for label, count in counts.items():
            assert found[label] <= share * count + 1
            # Rare labels are kept for training first.
            if count * (1 - dev - test) >= 3:
                assert found[label] >= share * count - 1
    assert parts == draw_splits(labels, dev=dev, test=test, seed=seed)


def test_the_seed_decides_and_nothing_need_be_held_out() -> None:
    labels = ["a", "b"] * 50
    assert draw_splits(labels, dev=0.1, test=0, seed=1) != draw_splits(labels, dev=0.1, test=0, seed=2)
    assert draw_splits(labels, dev=0, test=0, seed=1) == {"train": tuple(range(100))}


def test_too_few_rows() -> None:
    with pytest.raises(LabelError, match="3 rows with 2 labels are too few to hold out a part for test"):
        draw_splits(["a", "b", "a"], dev=0.1, test=0.1, seed=1)


def test_a_record_is_read_again_and_refuses_another_table(tmp_path: Path) -> None:
    texts = texts_from_columns([f"text {number}" for number in range(20)], ["a", "b"] * 10)
    record = SplitRecord.draw(texts, dev=0.2, test=0.0, seed=3)
    assert SplitRecord.read(tmp_path) is None
    record.write(tmp_path)
    again = SplitRecord.read(tmp_path)
    assert again == record
    assert again is not None
    assert again.part_of(texts, "dev") == list(record.rows["dev"])
    with pytest.raises(FileError, match="has no test part"):
        again.part_of(texts, "test")
    changed = texts_from_columns([f"text {number}" for number in range(20)], ["b", "a"] * 10)
    with pytest.raises(FileError, match="has changed since"):
        again.part_of(changed, "dev")


@pytest.mark.parametrize(
    "edit",
    [{"format": 2}, {"rows": {"train": [0]}}, {"num_rows": "many"}, {"rows": 3}, {"rows": {"train": ["a"]}}],
)
def test_a_damaged_record_is_refused(tmp_path: Path, edit: dict[str, object]) -> None:
    texts = texts_from_columns([str(number) for number in range(20)], ["a", "b"] * 10)
    SplitRecord.draw(texts, dev=0.2, test=0.2, seed=3).write(tmp_path)
    path = tmp_path / SPLITS_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **edit}))
    with pytest.raises(FileError, match=r"splits\.json: is damaged"):
        SplitRecord.read(tmp_path)
    path.write_text("{")
    with pytest.raises(FileError, match="is damaged"):
        SplitRecord.read(tmp_path)
