"""A corpus with the trees of a parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.tasks.classify.building import load_recipe_corpus
from lexitree.tasks.classify.parsed_corpus import with_parses
from lexitree.tasks.classify.recipe import Recipe
from lexitree.trees.binarize import to_binary
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets, write_trees
from lexitree.trees.tree import Tree


class CannedParser:
    """Answers with trees by their words."""

    def __init__(self, *trees: str) -> None:
        parsed = [tree_from_brackets(tree) for tree in trees]
        self.trees = {tree.words: tree for tree in parsed}

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        return (self.trees[tuple(words)] for words in sentences)


SENTIMENT = ("(3 (2 a) (3 (3 good) (2 film)))", "(1 (1 not) (3 (2 a) (3 good)))")
PARSES = ("(NP (NP (DT a) (JJ good)) (NN film))", "(ADVP (RB not) (NP (DT a) (JJ good)))")


def corpus_of(trees: Sequence[str], **splits: Sequence[str]) -> Corpus:
    parts = {"train": trees, **splits}
    read = {split: tuple(map(tree_from_brackets, texts)) for split, texts in parts.items()}
    return Corpus("test", read, LabelSet(("1", "2", "3")), supervision="all")


def test_labels_come_from_the_same_phrase_here_or_elsewhere() -> None:
    parsed = with_parses(corpus_of(SENTIMENT), CannedParser(*PARSES), parses="replace")
    # "a good" is no phrase of the first sentence, but one of the second.
    assert [tree_to_brackets(tree) for tree in parsed.train] == [
        "(3 (3 (2 a) (3 good)) (2 film))",
        "(1 (1 not) (3 (2 a) (3 good)))",
    ]


def test_a_phrase_that_nobody_labelled_has_no_label() -> None:
    corpus = corpus_of(SENTIMENT[:1], dev=SENTIMENT[:1])
    parsed = with_parses(corpus, CannedParser(*PARSES), parses="replace")
    assert parsed.train[0].labels == ("3", "", "2", "3", "2")
    assert parsed.dev[0].labels == ("3", "", "2", "3", "2")


def test_of_a_unary_chain_the_topmost_label_counts() -> None:
    corpus = corpus_of(["(3 (1 (2 good) (2 film)))"])
    parsed = with_parses(corpus, CannedParser("(NP (JJ good) (NN film))"), parses="replace")
    assert parsed.train[0].labels == ("3", "2", "2")


def test_labels_of_other_splits_do_not_leak() -> None:
    corpus = corpus_of(SENTIMENT[:1], test=SENTIMENT[1:])
    parsed = with_parses(corpus, CannedParser(*PARSES), parses="replace")
    assert parsed.train[0].labels[1] == ""


def test_added_trees_stand_beside_the_own_ones_in_training_only() -> None:
    corpus = corpus_of(SENTIMENT, dev=SENTIMENT)
    parsed = with_parses(corpus, CannedParser(*PARSES), parses="add")
    assert parsed.train[:2] == corpus.train
    assert len(parsed.train) == 4
    assert parsed.dev == corpus.dev
    assert "parser" in parsed.inference


def test_wide_phrases_are_split_and_only_sentences_labels_kept_apart() -> None:
    parser = CannedParser("(NP (DT a) (JJ good) (NN film))")
    split = with_parses(corpus_of(SENTIMENT[:1]), parser, parses="replace").train[0]
    assert split.is_binary
    roots = Corpus(
        "roots", {"train": (tree_from_brackets(SENTIMENT[0]),)}, LabelSet(("3",)), supervision="root"
    )
    kept = with_parses(roots, parser, parses="replace").train[0]
    assert tree_to_brackets(kept) == "(3 (NP (DT a) (JJ good) (NN film)))"


def test_a_model_learns_from_the_shapes_that_it_meets_in_text() -> None:
    parse = "(SQ (VBZ is) (NP it) (ADJP good))"
    corpus = Corpus(
        "asked", {"train": (tree_from_brackets("(3 is it good)"),)}, LabelSet(("3",)), supervision="root"
    )
    learnt = with_parses(corpus, CannedParser(parse), parses="replace").train[0]
    met = to_binary(tree_from_brackets(parse), "head").tree
    assert to_binary(learnt, "head", has_sentence_label=True).tree.arity.tolist() == met.arity.tolist()


def test_the_parser_reads_brackets_and_the_tree_keeps_their_escapes() -> None:
    corpus = corpus_of(["(2 (2 -LRB-) (2 so))"])
    parser = CannedParser("(X (-LRB- -LRB-) (RB so))")
    parser.trees = {("(", "so"): next(iter(parser.trees.values()))}
    assert with_parses(corpus, parser, parses="replace").train[0].words == ("-LRB-", "so")


def test_a_recipe_names_the_parser(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("good\ta good film\nbad\ta good film\n" * 5, encoding="utf-8")
    trees = ["(NP (DT a) (NP (JJ good) (NN film)))"] * 10
    with (tmp_path / "parses.txt").open("w", encoding="utf-8") as stream:
        write_trees(map(tree_from_brackets, trees), stream.write)
    parser = f"brackets:{tmp_path / 'parses.txt'}"
    with pytest.raises(ConfigError, match="parses must be"):
        Recipe(parses="both")
    recipe = Recipe(corpus=str(tmp_path / "train.tsv"), parser=parser)
    assert {len(tree.children[1]) for tree in load_recipe_corpus(recipe).train} == {2}
