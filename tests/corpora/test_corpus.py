from __future__ import annotations

import time

import numpy as np
import pytest

from lexitree.corpora.corpus import Corpus, Supervision, label_index
from lexitree.errors import LabelError
from lexitree.labels import LabelSet
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree

TREE = tree_from_brackets("(3 (_ a) (4 (2 good) (2 film)))")
LABELS = ("0", "1", "2", "3", "4")


def test_label_index_numbers_labels_and_marks_missing_ones() -> None:
    index = label_index(TREE, LABELS)
    assert index.dtype == np.int64
    assert index.tolist() == [3, -1, 4, 2, 2]


def test_label_index_names_the_unknown_label_and_the_sentence() -> None:
    with pytest.raises(LabelError, match=r"'4' is not one of 0, 2, 3; sentence: a good film"):
        label_index(TREE, ("0", "2", "3"))


def test_label_index_is_fast() -> None:
    tree = Tree.flat(["w"] * 300_000, "1").with_labels(["1"] * 300_001)
    label_index(TREE, LABELS)
    start = time.process_time()
    index = label_index(tree, LABELS)
    assert time.process_time() - start < 1.0
    assert index.sum() == 300_001


def test_absent_splits_are_empty_and_counts_follow_the_label_set() -> None:
    corpus = Corpus("one", {"train": (TREE,)}, LabelSet(LABELS), "all")
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (1, 0, 0)
    counts = corpus.counts("train")
    assert (counts.num_trees, counts.num_words, counts.num_nodes, counts.num_labelled) == (1, 3, 5, 4)
    assert list(counts.node_labels.items()) == [("0", 0), ("1", 0), ("2", 2), ("3", 1), ("4", 1)]
    assert counts.root_labels["3"] == 1
    assert corpus.counts("test").num_nodes == 0


FINER = {"0": "bad", "1": "bad", "2": "", "3": "good", "4": "good"}


def finer_corpus(*train: str, supervision: Supervision = "all") -> Corpus:
    splits = {
        "train": tuple(map(tree_from_brackets, train)),
        "dev": (tree_from_brackets("(good (_ a) (good film))"),),
    }
    return Corpus("finer", splits, LabelSet(("bad", "good"), finer=FINER), supervision)


def test_finer_labels_are_those_of_the_training_split() -> None:
    corpus = finer_corpus("(3 (_ a) (4 (2 good) (2 film)))", "(2 (1 so) (3 so))")
    counts = corpus.counts("train")
    assert counts.num_labelled == 7
    assert list(counts.node_labels.items()) == [("0", 0), ("1", 1), ("2", 3), ("3", 2), ("4", 1)]
    assert list(counts.root_labels.items()) == [("0", 0), ("1", 0), ("2", 1), ("3", 1), ("4", 0)]
    assert list(corpus.counts("dev").node_labels.items()) == [("bad", 0), ("good", 2)]


def test_models_are_scored_on_answers() -> None:
    corpus = finer_corpus("(3 (_ a) (4 (2 good) (0 film)))", "(2 (1 so) (3 so))", "(_ (1 so) (3 so))")
    assert [tree.labels for tree in corpus.scored_trees("train")] == [
        ("good", "", "good", "", "bad"),
        ("", "bad", "good"),
    ]
    assert corpus.scored_trees("dev") is corpus.dev
    assert corpus.scored_trees("test") == ()
    plain = Corpus("one", {"train": (TREE,)}, LabelSet(LABELS), "all")
    assert plain.scored_trees("train") is plain.train


def test_a_parse_below_the_root_is_left_as_it_is() -> None:
    corpus = finer_corpus("(4 (NP a) (2 film))", supervision="root")
    assert [tree.labels for tree in corpus.scored_trees("train")] == [("good", "NP", "2")]


def test_a_label_that_counts_for_nothing_known_is_named() -> None:
    with pytest.raises(LabelError, match="the finer label '5' has no answer; sentence: a film"):
        finer_corpus("(4 (3 a) (5 film))").scored_trees("train")
