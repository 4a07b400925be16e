from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora.treebank import (
    _tree_from_labelled_line,
    load_sentences,
    load_treebank,
    read_any,
    read_sentences,
)
from lexitree.errors import (
    BracketError,
    ConfigError,
    CorpusNotFoundError,
    EncodingError,
    FileError,
    LabelError,
    SentenceError,
)
from lexitree.trees.brackets import ReadReport, tree_from_brackets
from lexitree.trees.jsonl import tree_to_json
from lexitree.trees.tree import Tree

TREES = ["(pos (neg bad) (pos luck))", "(neg (neg bad) (neg film))"]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_folder_of_brackets(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        write(tmp_path / f"{split}.txt", TREES)
    corpus = load_treebank(tmp_path)
    assert corpus.name == tmp_path.name
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert corpus.labels == ("neg", "pos")
    assert corpus.inference == "labels on all nodes (phrases carry them as sentences do), 2 labels"


def test_formats_go_by_the_name(tmp_path: Path) -> None:
    trees = [tree_from_brackets(text) for text in TREES]
    lines = write(tmp_path / "train.jsonl", [json.dumps(tree_to_json(tree)) for tree in trees])
    assert list(read_any(lines)) == trees
    assert list(read_any(write(tmp_path / "a.mrg", TREES))) == trees
    flat = list(read_any(write(tmp_path / "a.tsv", ["pos\tgood film"])))
    assert flat[0].labels == ("pos", "", "")
    corpus = load_treebank(lines, dev=tmp_path / "a.mrg", test=tmp_path / "a.tsv")
    assert [len(trees) for trees in corpus.splits.values()] == [2, 2, 1]


def test_stripping(tmp_path: Path) -> None:
    penn = [
        "(S-ADV (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home))))",
        "(S (-NONE- *))",
        "(NP (NN film) (NN end))",
    ]
    path = write(tmp_path / "penn.txt", penn)
    assert len(load_treebank(path, hold_out_dev=False).train) == 3
    stripped = load_treebank(path, hold_out_dev=False, strip=["traces", "function-tags"])
    assert [tree.labels for tree in stripped.train] == [("S", "VP", "VB", "NP", "NN"), ("NP", "NN", "NN")]
    with pytest.raises(ConfigError, match="cannot strip heads; choose from traces and function-tags"):
        load_treebank(path, strip=["heads"])  # type: ignore[list-item]


def test_malformed_trees_stop_or_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", [*TREES, "(pos (neg", *TREES])
    with pytest.raises(BracketError, match=r"a\.txt:3"):
        load_treebank(path)
    corpus = load_treebank(path, on_error="skip", hold_out_dev=False)
    assert (len(corpus.train), corpus.num_skipped) == (4, 1)
    assert corpus.skipped[0].place.line == 3


def test_files_without_trees_are_refused(tmp_path: Path) -> None:
    train = write(tmp_path / "a.txt", TREES)
    with pytest.raises(FileError, match="contains no sentences: it is empty"):
        load_treebank(train, test=write(tmp_path / "b.txt", []))
    with pytest.raises(FileError, match="all 1 are malformed"):
        load_treebank(write(tmp_path / "c.txt", ["(pos"]), on_error="skip")
    with pytest.raises(FileError, match="cannot be read"):
        load_treebank(tmp_path / "missing.txt")
    with pytest.raises(ConfigError, match="at least one file"):
        load_treebank()


def test_folders_must_be_clear(tmp_path: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match=r"has no file train\.txt"):
        load_treebank(tmp_path)
    write(tmp_path / "train.txt", TREES)
    write(tmp_path / "train.tsv", ["pos\tgood"])
    with pytest.raises(ConfigError, match=r"both train\.txt and train\.tsv"):
        load_treebank(tmp_path)


def test_unseen_labels_of_a_test_file(tmp_path: Path) -> None:
    train = write(tmp_path / "train.txt", TREES)
    with pytest.raises(LabelError, match="meh"):
        load_treebank(train, test=write(tmp_path / "test.txt", ["(meh (pos so) (pos so))"]))


def test_real_penn_trees(real_data: Path) -> None:
    corpus = load_treebank(real_data / "treebanks" / "questionbank.txt", strip=["traces", "function-tags"])
    assert corpus.supervision == "all"
    assert {"SBARQ", "NP", "WP"} <= set(corpus.labels)
    assert (len(corpus.train), len(corpus.dev)) == (3_600, 400)


WORDS = st.text(st.characters(exclude_characters=" \t\r\n\f\v", exclude_categories=["Cs"]), min_size=1)


@given(WORDS, st.lists(WORDS, min_size=1))
def test_a_line_is_a_label_and_words(label: str, words: list[str]) -> None:
    assert _tree_from_labelled_line(f"{label}\t{' '.join(words)}") == Tree.flat(words, label)


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
        ("no tab here", r":2:12: line has no tab"),
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
