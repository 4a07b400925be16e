"""The readers and conversions on real treebanks; skipped where LEXITREE_DATA does not lead to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from lexitree.files import read_lines
from lexitree.trees.binarize import binarize, collapse_unary, expand_unary, to_binary, unbinarize
from lexitree.trees.brackets import (
    read_bracket_lines,
    read_trees,
    strip_function_tags,
    strip_traces,
    tree_to_brackets,
)
from lexitree.trees.head_rules import head_words
from lexitree.trees.jsonl import tree_from_json, tree_to_json
from lexitree.trees.statistics import tree_statistics
from lexitree.trees.tree import Tree

DATA = Path(os.environ.get("LEXITREE_DATA") or "nowhere")
pytestmark = pytest.mark.skipif(
    not (DATA / "sst").is_dir(), reason="LEXITREE_DATA does not lead to the corpora"
)

TREEBANKS = (
    *("gum.train", "gum.dev", "gum.test", "gum.test2", "questionbank", "wsj.sample"),
    *("mctb.dialogue", "mctb.forum", "mctb.law", "mctb.review"),
)


def treebank(name: str) -> Iterator[Tree]:
    """The trees of a file; before each of NLTK's sample stands the name of its file and a tab."""
    path = DATA / "treebanks" / f"{name}.txt"
    lines = ((number, line.rpartition("\t")[2]) for number, line in read_lines(path))
    return read_bracket_lines(lines, str(path))


@pytest.mark.parametrize(
    ("split", "num_trees", "num_nodes"),
    [("train", 8544, 318_582), ("dev", 1101, 41_447), ("test", 2210, 82_600)],
)
def test_sst_counts_and_rewriting(split: str, num_trees: int, num_nodes: int) -> None:
    path = DATA / "sst" / f"{split}.txt"
    forest = list(read_trees(path))
    found = tree_statistics(forest)
    assert (found.num_trees, found.num_nodes) == (num_trees, num_nodes)
    assert found.binary_share == 1
    assert all(tree.is_binary for tree in forest)
    assert set(found.label_counts) == set("01234")
    assert "".join(tree_to_brackets(tree) + "\n" for tree in forest).encode() == path.read_bytes()


@pytest.mark.parametrize("name", [name for name in TREEBANKS if name != "wsj.sample"])
def test_treebanks_are_rewritten_byte_by_byte(name: str) -> None:
    written = "".join(tree_to_brackets(tree) + "\n" for tree in treebank(name))
    assert written.encode() == (DATA / "treebanks" / f"{name}.txt").read_bytes()


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 20])
@pytest.mark.parametrize("name", TREEBANKS)
def test_conversions_are_exact(name: str, step: int) -> None:
    num_trees = 0
    for whole in islice(treebank(name), 0, None, step):
        tree = strip_traces(whole)
        assert tree is not None
        assert "-NONE-" not in tree.labels
        heads = head_words(tree)
        for direction in ("left", "right", "head"):
            binary = binarize(tree, direction)
            assert unbinarize(binary) == tree
            kept = [node for node, label in enumerate(binary.labels) if label[0] != "@"]
            assert (head_words(binary)[kept] == heads).all()
        assert expand_unary(collapse_unary(tree)) == tree
        assert tree_from_json(tree_to_json(whole)) == whole
        assert to_binary(tree).tree.is_binary
        assert strip_function_tags(strip_function_tags(tree)) == strip_function_tags(tree)
        num_trees += 1
    assert num_trees >= 1000 // step


@pytest.mark.parametrize("split", ["dev", "test"])
def test_heads_of_sst_are_seldom_punctuation(split: str) -> None:
    forest = list(read_trees(DATA / "sst" / f"{split}.tags"))
    words = [tree.words[head_words(tree)[0]] for tree in forest]
    assert sum(word in {".", ",", "--", "...", ":", "-LRB-", "``"} for word in words) <= 0.01 * len(words)
    assert {"is", "'s", "has", "makes"} <= set(words)


@pytest.mark.parametrize(("split", "num_trees"), [("dev", 1053), ("test", 2130)])
def test_splitting_around_heads_gives_the_trees_of_sst(split: str, num_trees: int) -> None:
    pairs = zip(*(read_trees(DATA / "sst" / f"{split}{suffix}") for suffix in (".tags", ".txt")), strict=True)
    same = [penn for penn, own in pairs if penn.arity.tolist() == own.arity.tolist()]
    assert len(same) == num_trees
    for penn in same:
        assert to_binary(unbinarize(penn), "head").tree.arity.tolist() == penn.arity.tolist()
