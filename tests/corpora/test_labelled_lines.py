from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora import load_sentences, read_sentences
from lexitree.corpora.labelled_lines import tree_from_labelled_line
from lexitree.errors import EncodingError, FileError, SentenceError
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import Tree

WORDS = st.text(st.characters(exclude_characters=" \t\r\n\f\v", exclude_categories=["Cs"]), min_size=1)


@given(WORDS, st.lists(WORDS, min_size=1))
def test_a_line_is_a_label_and_words(label: str, words: list[str]) -> None:
    assert tree_from_labelled_line(f"{label}\t{' '.join(words)}") == Tree.flat(words, label)


def test_files_are_read_as_flat_trees(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("pos\ta  good\u00a0one film\r\n\nneg\tbad\n", encoding="utf-8")
    trees = list(read_sentences(path))
    assert [tree.words for tree in trees] == [("a", "good\u00a0one", "film"), ("bad",)]
    assert [tree.label for tree in trees] == ["pos", "neg"]
    packed = tmp_path / "a.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_sentences(packed)) == trees


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("no tab here", r":2:12: a line without a tab"),
        ("\twords", r":2:1: no label before the tab"),
        ("pos\t  ", r":2:7: no words after the tab"),
    ],
)
def test_malformed_lines_name_their_place(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"pos\tgood\n{line}\nneg\tbad\n", encoding="utf-8")
    with pytest.raises(SentenceError, match=problem):
        list(read_sentences(path))
    report = ReadReport()
    assert len(list(read_sentences(path, on_error="skip", report=report))) == 2
    assert (report.num_trees, report.num_errors) == (2, 1)


def test_encoding_is_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"pos\tgood\nneg\tna\xefve\n")
    with pytest.raises(EncodingError, match=r"a\.tsv:2"):
        list(read_sentences(path))
    assert list(read_sentences(path, encoding="latin-1"))[1].words == ("naïve",)


def test_reading_is_streaming(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("pos\tgood\n" * 50_000 + "broken\n", encoding="utf-8")
    stream = read_sentences(path)
    assert next(stream).words == ("good",)


def test_load_sentences(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / split).write_text("2\ta b\n10\tc\nbroken\n", encoding="utf-8")
    paths = [tmp_path / split for split in ("train", "dev", "test")]
    corpus = load_sentences(*paths, on_error="skip")
    assert corpus.labels == ("2", "10")
    assert corpus.supervision == "root"
    assert (corpus.num_skipped, len(corpus.skipped)) == (3, 3)
    (tmp_path / "train").write_text("\n", encoding="utf-8")
    with pytest.raises(FileError, match="it is empty"):
        load_sentences(*paths, on_error="skip")
