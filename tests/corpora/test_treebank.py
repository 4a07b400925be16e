from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.corpora import load_treebank, read_any
from lexitree.errors import BracketError, ConfigError, CorpusNotFoundError, FileError, LabelError
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.jsonl import tree_to_json

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
    with pytest.raises(ConfigError, match="traces and function-tags can be stripped, not heads"):
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
    with pytest.raises(FileError, match="no sentence to learn from: it is empty"):
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
