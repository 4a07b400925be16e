"""Targets that read files: trees, treebanks, encodings, word vectors and label sets."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lexitree.corpora.tables import csv_line
from lexitree.corpora.text_files import is_text_table, read_texts
from lexitree.corpora.text_splits import SplitRecord
from lexitree.corpora.treebank import load_treebank, read_any
from lexitree.errors import TreeError
from lexitree.files import read_lines, to_json
from lexitree.lexicon.vector_files import build_table, read_vectors, with_length
from lexitree.models.model_config import ModelConfig
from lexitree.trees.binarize import to_binary
from lexitree.trees.brackets import (
    strip_function_tags,
    strip_traces,
    tree_from_brackets,
    tree_to_brackets,
)
from lexitree.trees.jsonl import tree_from_json, tree_to_json
from lexitree.trees.tree import Tree
from lexitree.views.colors import label_looks
from tests.fuzz.driver import examples, target, write_case
from tests.fuzz.mutations import Case, pieces, zip_bytes
from tests.lexicon.vector_files import GLOVE, text_bytes, word2vec_bytes
from tests.strategies import dependency_trees, trees
from tests.tiny import tiny_trees

PENN = """(S
  (NP-SBJ-1 (DT The) (NN film))
  (VP (VBZ is) (ADJP (RB n't) (JJ 1\\/2)) (-NONE- *T*-1)) (. .))
( (S (NP (PRP It)) (VP (VBZ works))) )
"""


def sst_lines() -> str:
    return "".join(tree_to_brackets(tree) + "\n" for tree in tiny_trees(3))


def bracket_files() -> list[Case]:
    drawn = [tree_to_brackets(tree) + "\n" for tree in examples(trees(5))]
    return [{"trees.txt": text.encode()} for text in (PENN, sst_lines(), *drawn)]


def json_tree_files() -> list[Case]:
    drawn = examples(trees(4)) + examples(dependency_trees(4))
    return [{"trees.jsonl": json.dumps(tree_to_json(tree)).encode() + b"\n"} for tree in drawn]


def dependency_files() -> list[Case]:
    drawn = examples(dependency_trees(4))
    return [
        {
            "d.toks": "".join(" ".join(tree.words) + "\n" for tree in part).encode(),
            "d.dparents": "".join(
                " ".join(str(up + 1) for up in tree.word_parents) + "\n" for tree in part
            ).encode(),
        }
        for part in (drawn[:2], drawn[2:4], drawn[4:8])
    ]


@target("brackets", bracket_files, 100)
@target("tree JSON", json_tree_files, 100)
@target("dependencies", dependency_files, 100)
def check_trees(case: Case, folder: Path) -> None:
    path = write_case(case, folder) / next(iter(case))
    for tree in islice(read_any(path, on_error="skip"), 2):
        check_tree(tree)
    for _ in read_any(path):
        pass


def check_tree(tree: Tree) -> None:
    """What is written is read again, and what is made of a tree is a tree."""
    assert tree_from_json(json.loads(json.dumps(tree_to_json(tree)))) == tree
    if tree.has_inner_words:
        return
    assert to_binary(tree, "right").tree.words == tree.words
    strip_traces(strip_function_tags(tree))
    # Brackets cannot hold white space in words, and neither `_` nor brackets in labels.
    with suppress(TreeError):
        written = tree_to_brackets(tree)
        assert tree_to_brackets(tree_from_brackets(written)) == written


def treebank_folders() -> list[Case]:
    lines = sst_lines().encode()
    json_lines = b"".join(json.dumps(tree_to_json(tree)).encode() + b"\n" for tree in tiny_trees(3))
    sentences = "0\ta dull film\n1\tfine , and\u00a0good\n0\tpoor cast\n".encode()
    return [
        {"train.txt": lines * 2, "dev.txt": lines},
        {"train.jsonl": json_lines * 2, "test.jsonl": json_lines},
        {"train.tsv": sentences * 3, "dev.tsv": sentences},
        {"train.txt.gz": gzip.compress(lines * 3, mtime=0)},
        {"train.mrg": PENN.encode() * 3},
    ]


@target("treebanks", treebank_folders, 40)
def check_treebank(case: Case, folder: Path) -> None:
    write_case(case, folder)
    load_treebank(folder, on_error="skip", strip=("traces", "function-tags"))
    load_treebank(folder)


def text_tables() -> list[Case]:
    rows = [("It's a dull film.", "0"), ('Fine, and "good"!', "1"), ("Poor\u00a0cast; really", "0")] * 2
    cells = "".join(f"{csv_line([text, label])}" for text, label in rows)
    return [
        {"t.csv": f"text,label\n{cells}".encode()},
        {"t.csv": f"comment;kind;id\n{cells}".replace(",", ";").encode()},
        {"t.tsv": "".join(f"{label}\t{text}\n" for text, label in rows).encode()},
        {"t.jsonl": "".join(to_json({"text": text, "label": label}) + "\n" for text, label in rows).encode()},
    ]


@target("tables of texts", text_tables, 100)
def check_text_table(case: Case, folder: Path) -> None:
    path = write_case(case, folder) / next(iter(case))
    if is_text_table(path):
        for on_error in ("skip", "raise"):
            texts = read_texts(path, on_error=on_error)
            SplitRecord.draw(texts, dev=0.2, test=0.2, seed=1).write(folder)
            record = SplitRecord.read(folder)
            assert record is not None
            assert record.part_of(texts, "dev")


ENCODINGS = (
    *pieces(
        "utf-8 utf-8-sig utf-16 utf-16-le utf-32 utf-7 latin-1 cp1252 shift_jis iso2022_jp idna punycode"
    ),
    *pieces("unicode_escape raw_unicode_escape undefined hz rot13 base64 "),
)


def encoded_files() -> list[Case]:
    text = f"\ufeff{PENN}a\u2028b\x85 caf\u00e9\r\n"
    return [
        {"file.txt": text.encode("utf-16" if "16" in name else "utf-8"), "=encoding": name.encode()}
        for name in ENCODINGS
    ]


@target("encodings", encoded_files, 100)
def check_encoding(case: Case, folder: Path) -> None:
    path = write_case(case, folder) / "file.txt"
    assert not any("\n" in line for _, line in read_lines(path, case["=encoding"].decode()))


def npz_bytes(**arrays: npt.ArrayLike) -> bytes:
    members: list[tuple[str, bytes]] = []
    for name, array in arrays.items():
        np.save(stream := io.BytesIO(), array)
        members.append((f"{name}.npy", stream.getvalue()))
    return zip_bytes(members)


def vector_files() -> list[Case]:
    words, numbers = ["the", "film", "é"], np.arange(9, dtype=np.float32).reshape(3, 3)
    binary, halves = word2vec_bytes(words, numbers), np.asfortranarray(numbers.astype(np.float16))
    return [
        {"v.txt": GLOVE},
        {"v.txt": text_bytes(words, numbers, header=True)},
        {"v.bin": binary},
        {"v.txt.gz": gzip.compress(GLOVE, mtime=0)},
        {"v.bin.gz": gzip.compress(binary, mtime=0)},
        {"v.zip": zip_bytes([("v.txt", GLOVE)])},
        {"v.zip": zip_bytes([("v.300d.txt", GLOVE), ("v.3d.txt", GLOVE)])},
        {"v.npz": npz_bytes(words=words, vectors=numbers)},
        {"v.npz": npz_bytes(words=[word.encode() for word in words], vectors=halves)},
        {"v.npz": npz_bytes(words=np.array(words, dtype=object), vectors=numbers)},
    ]


@target("vectors", vector_files, 100)
def check_vectors(case: Case, folder: Path) -> None:
    path = write_case(case, folder) / next(iter(case))
    read_vectors(path, {"film"}, on_error="skip", dim=3 if path.suffix == ".zip" else None)
    vectors = with_length(read_vectors(path), 1.0)
    assert np.isfinite(vectors.vectors).all()
    if len(vectors):
        vocabulary, table = build_table(vectors)
        assert len(table) == vocabulary.num_rows


def label_sets() -> list[Case]:
    settings = [
        {"labels": ["0", "1"], "label_names": {"0": "negative", "1": "positive"}},
        {"labels": ["0", "1"], "finer_labels": {"-": "0", "o": "", "+": "1", "++": "1"}},
        {"labels": [str(number) for number in range(5)], "label_names": {"3": "a", "4": "a"}},
        {"labels": ["NP", "VP", "٣", "001"]},
    ]
    return [{"labels.json": json.dumps(each).encode()} for each in settings]


@target("labels", label_sets, 100)
def check_labels(case: Case, folder: Path) -> None:
    try:
        settings = json.loads(case["labels.json"])
    except (ValueError, RecursionError):
        return
    labels = ModelConfig.from_dict(settings).label_set
    assert len(labels.names) == len(labels.ids) == len(labels.score_groups)
    assert labels.polarity is None or all(0 <= place <= 1 for place in labels.polarity)
    labels.describe_finer()
    assert "</style" not in label_looks(labels).css(".a", label_looks(labels).light)
    assert all(labels.describe(label) for label in (*labels.ids, *labels.trained_ids) if label)
