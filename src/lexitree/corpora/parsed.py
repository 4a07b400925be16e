"""A corpus and a parser in, the corpus with the parser's trees out: what a model meets when it reads raw text.

A model that was trained on the trees of a treebank alone has never seen a parser's mistakes, nor its ways of building
a phrase. A corpus of sentences without trees has nothing but these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from lexitree.corpora.assemble import with_root_label
from lexitree.corpora.corpus import Corpus, Supervision
from lexitree.parsing.parser import Parser
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import NO_LABEL, Tree

Parses = Literal["replace", "add"]
"""The parser's trees instead of the corpus's own, or beside those of the training split."""

MAX_PHRASE_WORDS = 12
"""Longer phrases hardly ever occur twice, and the words of all phrases of a long sentence would be too many."""

PhraseLabels = Mapping[tuple[str, ...], str]


def with_parses(corpus: Corpus, parser: Parser, *, parses: Parses, direction: Direction = "head") -> Corpus:
    """The corpus with trees of a parser, which read the same words.

    Where every phrase has a label, a phrase of the parser's tree has the one that the same phrase has in the
    sentence's own tree or, in the training split, elsewhere in it; other phrases have none. Such trees are made
    binary in the given direction.
    """
    known = _phrase_labels(corpus.train) if corpus.supervision == "all" else {}
    train = _parsed(corpus.train, parser, corpus.supervision, known, direction)
    if parses == "add":
        splits = {**corpus.splits, "train": (*corpus.train, *train)}
        how = "the training split has a parser's trees besides"
    else:
        others = {
            split: _parsed(trees, parser, corpus.supervision, {}, direction)
            for split, trees in corpus.splits.items()
            if split != "train"
        }
        splits = {**corpus.splits, "train": train, **others}
        how = "all trees are a parser's"
    return replace(corpus, splits=splits, inference=f"{corpus.inference}; {how}")


def _parsed(
    trees: Sequence[Tree],
    parser: Parser,
    supervision: Supervision,
    known: PhraseLabels,
    direction: Direction,
) -> tuple[Tree, ...]:
    sentences = ([surface_form(word) for word in tree.words] for tree in trees)
    parses = parser.parse_all(sentences)
    if supervision == "root":
        # Their phrase labels stay: the model makes the trees binary, and may look at them to do so.
        return tuple(
            _over(with_root_label(parse, tree.label), tree) for parse, tree in zip(parses, trees, strict=True)
        )
    return tuple(
        _with_phrase_labels(_over(to_binary(parse, direction).tree, tree), tree, known)
        for parse, tree in zip(parses, trees, strict=True)
    )


def _over(parse: Tree, tree: Tree) -> Tree:
    """The parse over the words as the corpus writes them."""
    return Tree(parse.arity, parse.labels, tree.words)


def _with_phrase_labels(parse: Tree, tree: Tree, known: PhraseLabels) -> Tree:
    own = {span: label for span, label in zip(_spans(tree), tree.labels, strict=True) if label != NO_LABEL}
    labels = [
        own.get((start, end)) or known.get(tuple(tree.words[start:end]), NO_LABEL)
        for start, end in _spans(parse)
    ]
    return parse.with_labels(labels)


def _phrase_labels(trees: Iterable[Tree]) -> PhraseLabels:
    """The label of every phrase by its words; of one that has several, the first."""
    labels: dict[tuple[str, ...], str] = {}
    for tree in trees:
        for (start, end), label in zip(_spans(tree), tree.labels, strict=True):
            if label != NO_LABEL and end - start <= MAX_PHRASE_WORDS:
                labels.setdefault(tuple(tree.words[start:end]), label)
    return labels


def _spans(tree: Tree) -> list[tuple[int, int]]:
    return list(zip(tree.starts.tolist(), tree.ends.tolist(), strict=True))
