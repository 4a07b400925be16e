"""Corpora with the trees of a parser, which are what a model meets when it reads raw text.

A model that was trained on the trees of a treebank alone has never seen a parser's mistakes, nor its ways of building
a phrase. A corpus of sentences without trees has nothing but these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from lexitree.corpora.corpus import Corpus, Supervision
from lexitree.corpora.treebank import read_any
from lexitree.parsers.penn_spans import clean_trees
from lexitree.parsers.protocol import Parser
from lexitree.tasks.parse.data import COMMONPLACE_WORDS, find_data_file, read_named_trees, sentence_key
from lexitree.trees.binarize import Direction, to_binary
from lexitree.trees.brackets import surface_form
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
    asked = corpus.splits if parses == "replace" else {"train": corpus.train}
    parsed = dict(zip(asked, _parse_splits(asked.values(), parser), strict=True))
    if corpus.supervision == "root":
        # Phrase labels stay: the model makes the trees binary, and may look at them to do so.
        labelled = {split: _with_sentence_labels(parsed[split], asked[split]) for split in asked}
    else:
        known = _phrase_labels(corpus.train)
        labelled = {
            split: _with_phrase_labels(
                parsed[split], asked[split], known if split == "train" else {}, direction
            )
            for split in asked
        }
    if parses == "add":
        labelled["train"] = (*corpus.train, *labelled["train"])
        how = "the training split has a parser's trees besides"
    else:
        how = "all trees are a parser's"
    return replace(corpus, splits={**corpus.splits, **labelled}, inference=f"{corpus.inference}; {how}")


def _parse_splits(splits: Iterable[Sequence[Tree]], parser: Parser) -> Iterator[list[Tree]]:
    """The parses of each split, from one call: a parser may be a file of trees, or slow to start."""
    splits = list(splits)
    sentences = ([surface_form(word) for word in tree.words] for tree in chain.from_iterable(splits))
    parses = iter(parser.parse_all(sentences))
    for trees in splits:
        # The last split asks for one more, so that a parser that has too many trees can say so.
        wanted = len(trees) + (trees is splits[-1])
        yield [_over(parse, tree) for parse, tree in zip(islice(parses, wanted), trees, strict=True)]


def _over(parse: Tree, tree: Tree) -> Tree:
    """The parse over the words as the corpus writes them."""
    return Tree(parse.arity, parse.labels, tree.words)


def _with_sentence_labels(parses: Sequence[Tree], trees: Sequence[Tree]) -> tuple[Tree, ...]:
    """The parses below a node with the sentence's label, as a treebank's stand below ROOT: none of theirs is lost."""
    return tuple(
        Tree([1, *parse.arity.tolist()], [tree.label, *parse.labels], parse.words)
        for parse, tree in zip(parses, trees, strict=True)
    )


def _with_phrase_labels(
    parses: Sequence[Tree], trees: Sequence[Tree], known: PhraseLabels, direction: Direction
) -> tuple[Tree, ...]:
    return tuple(
        _label_phrases(to_binary(parse, direction).tree, tree, known)
        for parse, tree in zip(parses, trees, strict=True)
    )


def _label_phrases(parse: Tree, tree: Tree, known: PhraseLabels) -> Tree:
    own: dict[tuple[int, int], str] = {}
    for span, label in zip(_spans(tree), tree.labels, strict=True):
        if label != NO_LABEL:
            # Of a unary chain the topmost label counts, as everywhere.
            own.setdefault(span, label)
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
