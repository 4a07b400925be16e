"""Trees prepared for a model: the same shape in training, evaluation and prediction, labels where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from lexitree.batch.tree_examples import make_example
from lexitree.corpora.named import load_corpus
from lexitree.errors import LabelError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.trees.binarize import to_binary
from lexitree.trees.brackets import tree_from_brackets

LEXICON = WordTable.random(Vocabulary(["a", "b"]), 2)
PARSE = tree_from_brackets(
    "(LOC (SBARQ (WHNP (WDT which) (NN city)) (SQ (VBZ is) (NP it) (ADJP big)) (. ?)))"
)


def test_root_supervision_numbers_the_root_only() -> None:
    example = make_example(PARSE, LEXICON, labels=("HUM", "LOC"), direction="right", supervision="root")
    assert example.label_index.tolist() == [1] + [-1] * (example.num_nodes - 1)
    assert example.source_label_index.tolist() == [1] + [-1] * (PARSE.num_nodes - 1)
    with pytest.raises(LabelError, match="SBARQ"):
        make_example(PARSE, LEXICON, labels=("HUM", "LOC"), direction="right")


def test_an_unlabelled_root_over_a_parse_stays_unlabelled() -> None:
    tree = tree_from_brackets("(_ (S (NP a) (VP b)))")
    example = make_example(tree, LEXICON, labels=("HUM",), direction="right", supervision="root")
    assert set(example.label_index.tolist()) == {-1}


def test_head_outward_shapes_do_not_depend_on_the_label_at_the_root() -> None:
    """In the corpus the root says LOC, in a parse to be labelled it says ROOT: the model must read the same tree."""
    for label in ("ROOT", "S", "", "HUM"):
        other = PARSE.with_labels([label, *PARSE.labels[1:]])
        assert np.array_equal(to_binary(other, "head").tree.arity, to_binary(PARSE, "head").tree.arity)


def test_head_outward_binarization_sees_the_phrase_labels_of_a_corpus() -> None:
    trees = load_corpus("mini-questions").train
    shapes = {
        direction: [to_binary(tree, direction).tree.arity.tolist() for tree in trees]
        for direction in ("left", "right", "head")
    }
    assert shapes["head"] != shapes["left"]
    assert shapes["head"] != shapes["right"]


def test_a_chain_carries_its_topmost_label() -> None:
    tree = tree_from_brackets("(3 (2 (_ good)))")
    example = make_example(tree, LEXICON, labels=("2", "3"), direction="right")
    assert example.label_index.tolist() == [1]
    assert example.source_label_index.tolist() == [1, 0, -1]
