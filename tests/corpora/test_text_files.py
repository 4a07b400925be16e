"""Tables of texts with labels: their columns are found, and what is wrong is named with file and row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lexitree.corpora.text_files import is_text_table, read_texts
from lexitree.corpora.text_tables import LabelledTexts, TableSettings, texts_from_columns
from lexitree.errors import EncodingError, FileError, InputError, LexitreeError, TableError

ROWS = [("Good film.", "pos"), ('It is "so" bad, really.', "neg")]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def pairs(texts: LabelledTexts) -> list[tuple[str, str]]:
    return [(row.text, row.label) for row in texts.rows]


@pytest.mark.parametrize(
    ("name", "content", "settings"),
    [
        ("t.csv", 'text,label\nGood film.,pos\n"It is ""so"" bad, really.",neg\n', {}),
        ("t.csv", 'id;Comment;KIND\n1;Good film.;pos\n2;"It is ""so"" bad, really.";neg\n', {}),
        (
            "t.csv",
            'pos|Good film.\nneg|"It is ""so"" bad, really."\n',
            {"header": False, "text": "2", "label": "1"},
        ),
        ("t.tsv", 'pos\tGood film.\nneg\tIt is "so" bad, really.\n', {}),
        ("t.tsv.gz", gzip.compress(b'pos\tGood film.\n\nneg\tIt is "so" bad, really.\n', mtime=0), {}),
        ("t.tsv", 'label\ttext\npos\tGood film.\nneg\t"It is ""so"" bad, really."\n', {}),
        (
            "t.csv",
            'what,a\nGood film.,pos\n"It is ""so"" bad, really.",neg\n',
            {"text": "what", "label": "a"},
        ),
        ("t.csv", 'what,a\nGood film.,pos\n"It is ""so"" bad, really.",neg\n', {"label": "a"}),
        ("t.csv", 'a,what,label\n1,Good film.,pos\n2,"It is ""so"" bad, really.",neg\n', {"text": "what"}),
        ("t.txt", 'text;label\nGood film.;pos\n"It is ""so"" bad, really.";neg\n', {"delimiter": ";"}),
        ("t.jsonl", "".join(json.dumps({"text": a, "label": b}) + "\n" for a, b in ROWS), {}),
    ],
)
def test_every_kind_of_table_gives_the_same_rows(
    tmp_path: Path, name: str, content: str | bytes, settings: dict[str, Any]
) -> None:
    path = write(tmp_path, name, content)
    chosen = TableSettings(**settings)
    assert is_text_table(path, chosen)
    texts = read_texts(path, chosen)
    assert pairs(texts) == ROWS
    assert texts.digest == texts_from_columns(*zip(*ROWS, strict=True)).digest


@pytest.mark.slow
def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet, table

    path = tmp_path / "t.parquet"
    parquet.write_table(table({"text": [a for a, _ in ROWS], "label": [0, 1], "n": [1.0, 2.0]}), path)
    assert is_text_table(path)
    assert pairs(read_texts(path)) == [(ROWS[0][0], "0"), (ROWS[1][0], "1")]
    parquet.write_table(table({"text": ["a", None], "label": [0, 1]}), path)
    with pytest.raises(TableError, match=r"t\.parquet:2: the text is missing"):
        read_texts(path)
    with pytest.raises(FileError, match="as Parquet"):
        read_texts(write(tmp_path, "u.parquet", "text,label\n"))


def test_quotes_in_lines_of_label_and_text_mean_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "t.tsv", 'pos\t"Good film\nneg\tBad" one\n')
    assert pairs(read_texts(path)) == [('"Good film', "pos"), ('Bad" one', "neg")]


def test_trees_are_no_table(tmp_path: Path) -> None:
    assert not is_text_table(write(tmp_path, "t.jsonl", '{"words": ["a"], "phrases": []}\n'))
    assert not is_text_table(write(tmp_path, "u.jsonl", ""))
    assert not is_text_table(write(tmp_path, "v.jsonl", "(a b)\n"))
    assert not is_text_table(tmp_path / "t.txt")


@pytest.mark.parametrize(
    ("name", "content", "settings", "problem"),
    [
        ("t.csv", 'text,label\na,x\n"b,y\n', {}, "t.csv:3: this is not CSV"),
        ("t.csv", 'text,label\na,x\n"b"c,y\n', {}, "t.csv:3: this is not CSV"),
        ("t.csv", "text,label\na,x\nb\0c,y\n", {}, "t.csv:3: the row holds a NUL"),
        ("t.csv", "text,label\na,x\n", {"text": "comment"}, "t.csv:1: there is no column 'comment'"),
        ("t.csv", "text,text,label\na,b,x\n", {}, "t.csv:1: the column 'text' occurs twice"),
        ("t.csv", "one,two,three\na,b,x\n", {}, "t.csv:1: which column holds the texts and labels?"),
        ("t.csv", "text,label\na,x\nb,\n", {}, "t.csv:3: the label is empty"),
        ("t.csv", "text,label\na,x\n  ,y\n", {}, "t.csv:3: the text is empty"),
        ("t.csv", "text,label\na,x\nb,y,z\n", {}, "t.csv:3: 3 cells"),
        ("t.csv", "text,label\n", {}, "contains no texts"),
        ("t.csv", "", {}, "t.csv:1: which column"),
        ("t.csv", "one,text,three\na,b,x\n", {}, "t.csv:1: which column holds the labels?"),
        ("t.tsv", "x\ta\nb\n", {}, "t.tsv:2:2: line has no tab"),
        ("t.tsv", "x\ta\n\tb\n", {}, "t.tsv:2: the label is empty"),
        ("t.jsonl", '{"text": "a", "label": "x"}\n{"text": "a"}\n', {}, "t.jsonl:2: there is no key 'label'"),
        ("t.jsonl", '{"text": 3, "label": "x"}\n', {}, "t.jsonl:1: 'text' is not a text"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(
    tmp_path: Path, name: str, content: str, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(LexitreeError) as caught:
        read_texts(write(tmp_path, name, content), TableSettings(**settings))
    assert problem in caught.value.message
    assert isinstance(caught.value, InputError | FileError)


def test_mixed_encodings_name_the_row(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", b"text,label\ncaf\xc3\xa9,x\ncaf\xe9,y\n")
    with pytest.raises(EncodingError, match=r"t\.csv:3: the byte 0xe9 is not utf-8"):
        read_texts(path)


def test_unnamed_columns_are_listed(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        read_texts(write(tmp_path, "t.csv", "one,text,three\na,b,x\n"))
    assert "'one', 'text', 'three'" in caught.value.remedy


def test_malformed_rows_can_be_skipped(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "text,label\na,x\nb,\nc,y,z\nd,y\n")
    texts = read_texts(path, on_error="skip")
    assert (pairs(texts), texts.num_skipped) == ([("a", "x"), ("d", "y")], 2)
