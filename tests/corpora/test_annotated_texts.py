from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lexitree.corpora.annotated_texts import LabelledSpan, annotated_files, read_annotated
from lexitree.errors import InputError

TEXT = "Nice room."
SPAN: dict[str, Any] = {"start": 5, "end": 9, "label": "positive", "kind": "aspect"}


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
    return path


def test_spans_join_the_row_with_the_same_text(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(f"negative\tOh no.\npositive\t{TEXT}\n", encoding="utf-8")
    spans = write(
        tmp_path / "train.spans.jsonl.gz",
        {"text": TEXT, "spans": [SPAN]},
        {"text": "Fine.", "label": "positive"},
    )
    paths = annotated_files(tmp_path, "train")
    assert paths == [tmp_path / "train.tsv", spans]
    rows = read_annotated(paths)
    assert [(row.text, row.label, len(row.spans)) for row in rows] == [
        ("Oh no.", "negative", 0),
        (TEXT, "positive", 1),
        ("Fine.", "positive", 0),
    ]
    assert rows[1].spans == (LabelledSpan(5, 9, "positive", "aspect"),)
    assert (rows[1].place.line, rows[2].place.line) == (2, 2)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"spans": []}, "there is no text"),
        ({"text": " "}, "there is no text"),
        ({"text": TEXT, "label": 3}, '"label" must be a string, not 3'),
        ({"text": TEXT, "spans": {}}, '"spans" must be a list'),
        ({"text": TEXT, "spans": [3]}, "a span is an object"),
        ({"text": TEXT, "spans": [{**SPAN, "start": True}]}, "a span is an object"),
        ({"text": TEXT, "spans": [{**SPAN, "label": ""}]}, "a span is an object"),
        ({"text": TEXT, "spans": [{**SPAN, "end": 40}]}, "a span from 5 to 40 is not in the text"),
        ({"text": TEXT, "spans": [{**SPAN, "end": 5}]}, "a span from 5 to 5 is not in the text"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, record: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "train.spans.jsonl.gz", {"text": TEXT}, record)
    with pytest.raises(InputError, match=f"train.spans.jsonl.gz:2: {problem}"):
        read_annotated([path])
