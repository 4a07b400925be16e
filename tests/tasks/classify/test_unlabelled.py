"""Trees without labels beside those of a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus, Supervision
from lexitree.errors import CorpusNotFoundError
from lexitree.labels import LabelSet
from lexitree.tasks.classify.parsed_corpus import read_unlabelled, with_unlabelled
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.jsonl import write_json_lines

PENN = "(ROOT (S (NP-SBJ (DT The) (JJ old) (NN film)) (VP (VBZ works) (NP (-NONE- *)))))"


def corpus_of(supervision: Supervision = "all", **splits: str) -> Corpus:
    trees = {split: (tree_from_brackets(text),) for split, text in splits.items()}
    return Corpus("test", trees, LabelSet(("0", "1")), supervision=supervision)


def test_penn_trees_are_cleaned_and_named_ones_read(tmp_path: Path) -> None:
    (tmp_path / "bank.txt").write_text(f"{PENN}\nnews-1\t(S (NN Yes))\n")
    trees = read_unlabelled(["bank.txt", "bank.txt"], tmp_path)
    assert [tree_to_brackets(tree) for tree in trees[:2]] == [
        "(S (NP (DT The) (JJ old) (NN film)) (VP (VBZ works)))",
        "(S (NN Yes))",
    ]
    assert len(trees) == 4


def test_a_file_that_is_nowhere(tmp_path: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match=r"lost\.txt is not there"):
        read_unlabelled(["lost.txt"], tmp_path)


def test_dependency_trees_stay_as_they_are(tmp_path: Path) -> None:
    tree = DependencyTree.from_parents(["good", "film"], [1, -1])
    with (tmp_path / "trees.jsonl").open("w") as stream:
        write_json_lines([tree], stream.write)
    (read,) = read_unlabelled([str(tmp_path / "trees.jsonl")])
    corpus = with_unlabelled(Corpus("test", {"train": [tree]}, LabelSet(("0",)), "all"), [read])
    assert corpus.train[1].has_inner_words
    assert set(corpus.train[1].labels) == {""}


def test_where_phrases_are_labelled_trees_are_binary_and_bare() -> None:
    given = tree_from_brackets("(S (NP (DT The) (JJ old) (NN film)) (VP (VBZ works)))")
    train = with_unlabelled(corpus_of(train="(1 (0 a) (1 b))"), [given]).train
    assert tree_to_brackets(train[0]) == "(1 (0 a) (1 b))"
    # Around the head: "old film" before "The".
    assert tree_to_brackets(train[1]) == "(_ (_ (_ The) (_ (_ old) (_ film))) (_ works))"


def test_where_sentences_are_labelled_the_parse_stays_below() -> None:
    given = tree_from_brackets("(S (NP (DT The) (NN film)) (VP (VBZ works)))")
    train = with_unlabelled(corpus_of("root", train="(1 (S a))"), [given]).train
    assert tree_to_brackets(train[1]) == "(_ (S (NP (DT The) (NN film)) (VP (VBZ works))))"


def test_what_is_scored_is_not_taught() -> None:
    corpus = corpus_of(
        train="(1 (0 a) (1 (0 very) (1 (1 good) (0 film))))",
        dev="(1 (0 Not) (1 (0 a) (1 (1 bad) (0 film))))",
        test="(1 (0 Oh) (1 yes))",
    )
    words = ["not a bad film !", "a very good film", "oh yes", "another one of these"]
    given = [tree_from_brackets(f"(S {' '.join(f'(X {word})' for word in text.split())})") for text in words]
    added = with_unlabelled(corpus, given)
    # That of the training split stays, and so does what anybody says.
    assert [" ".join(tree.words) for tree in added.train[1:]] == words[1:]
    assert "3 training trees have no labels but those of a teacher; left out, since" in added.inference
    assert added.dev == corpus.dev
    assert added.test == corpus.test
