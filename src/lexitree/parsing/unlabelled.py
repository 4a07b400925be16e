"""A corpus and files of trees in, the corpus with these as training trees that only a teacher will label out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from lexitree.corpora.corpus import Corpus, Supervision
from lexitree.corpora.treebank import read_any
from lexitree.parsing.penn_spans import clean_trees
from lexitree.parsing.treebanks import COMMONPLACE_WORDS, find_data_file, read_named_trees, sentence_key
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.tree import NO_LABEL, Tree

NO_BRACKETS = (".jsonl", ".toks")
"""How the files end that hold trees in another form."""


def read_unlabelled(paths: Iterable[str], data: str | Path | None = None) -> list[Tree]:
    """The trees of files, found by their paths or below a data folder; without traces, function tags and ROOT."""
    return [tree for path in paths for tree in _read(find_data_file(path, data))]


def _read(path: Path) -> Iterator[Tree]:
    if str(path).removesuffix(".gz").endswith(NO_BRACKETS):
        return read_any(path)
    return clean_trees(read_named_trees(path))


def with_unlabelled(corpus: Corpus, trees: Iterable[Tree], *, direction: Direction = "head") -> Corpus:
    """The corpus with trees that have no label besides those of its training split.

    Sentences of its other splits are left out, but for those of up to 3 words, which anybody says. Where phrases have
    labels of the task, trees are made binary in the given direction by those that they have here; where sentences
    alone have one, the model will do so, and labels below the root stay.
    """
    scored = {
        sentence_key(tree)
        for tree in chain.from_iterable(trees for split, trees in corpus.splits.items() if split != "train")
        if tree.num_words > COMMONPLACE_WORDS
    }
    given = list(trees)
    kept = [tree for tree in given if sentence_key(tree) not in scored]
    added = [_without_labels(tree, corpus.supervision, direction) for tree in kept]
    how = f"{len(added):,} training trees have no labels but those of a teacher"
    if len(kept) < len(given):
        how += f"; left out, since their sentences are scored: {len(given) - len(kept):,}"
    splits = {**corpus.splits, "train": (*corpus.train, *added)}
    return replace(corpus, splits=splits, inference=f"{corpus.inference}; {how}")


def _without_labels(tree: Tree, supervision: Supervision, direction: Direction) -> Tree:
    if tree.has_inner_words:
        return tree.with_labels([NO_LABEL] * tree.num_nodes)
    if supervision == "root":
        # As with a parser's trees: the sentence stands above the parse.
        return Tree([1, *tree.arity.tolist()], [NO_LABEL, *tree.labels], tree.words)
    binary = to_binary(tree, direction).tree
    return binary.with_labels([NO_LABEL] * binary.num_nodes)
