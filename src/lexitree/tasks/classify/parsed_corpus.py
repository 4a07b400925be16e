"""Adds a parser's trees, or trees without labels, to a corpus.

A model that reads raw text gets its trees from a parser. If it was trained on treebank trees alone, it has never seen
a parser's mistakes or conventions. A corpus of sentences without trees has only the parser's.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
"""The endings of files whose trees are not written in brackets."""


def read_unlabelled(paths: Iterable[str], data: str | Path | None = None) -> list[Tree]:
    """Read the trees of files, given by path or below the data folder; traces, function tags and ROOT are removed."""
    return [tree for path in paths for tree in _read(find_data_file(path, data))]


def _read(path: Path) -> Iterator[Tree]:
    if str(path).removesuffix(".gz").endswith(NO_BRACKETS):
        return read_any(path)
    return clean_trees(read_named_trees(path))


def with_unlabelled(corpus: Corpus, trees: Iterable[Tree], *, direction: Direction = "head") -> Corpus:
    """Add trees without task labels to the training split of a corpus.

    Sentences that also occur in another split are skipped, unless they have at most 3 words and could occur anywhere.
    If all phrases are labelled for the task, the trees are binarized here and lose their own labels. If only
    sentences are, the trees keep their phrase labels and the model binarizes them.
    """
    scored = scored_sentences(held_out_trees(corpus))
    given = list(trees)
    kept = [tree for tree in given if not is_scored(tree, scored)]
    added = [without_labels(tree, corpus.supervision, direction) for tree in kept]
    how = f"{len(added):,} training trees have no labels but those of a teacher"
    if len(kept) < len(given):
        how += f"; left out, since their sentences are scored: {len(given) - len(kept):,}"
    splits = {**corpus.splits, "train": (*corpus.train, *added)}
    return replace(corpus, splits=splits, inference=f"{corpus.inference}; {how}")


def held_out_trees(corpus: Corpus) -> Iterator[Tree]:
    """All trees that a model is scored on, those of further corpora included."""
    for split, trees in corpus.splits.items():
        if split != "train":
            yield from trees
    for further in corpus.further:
        yield from further.dev.trees


def scored_sentences(trees: Iterable[Tree]) -> set[str]:
    """The sentences of trees that a model is scored on; those of at most 3 words could occur anywhere."""
    return {sentence_key(tree) for tree in trees if tree.num_words > COMMONPLACE_WORDS}


def is_scored(tree: Tree, scored: Container[str]) -> bool:
    """Whether a sentence is among those of `scored_sentences`, and must not be trained on."""
    return tree.num_words > COMMONPLACE_WORDS and sentence_key(tree) in scored


def without_labels(tree: Tree, supervision: Supervision, direction: Direction) -> Tree:
    """A parse without task labels, in the form in which the training split has it."""
    if tree.has_inner_words:
        return tree.with_labels([NO_LABEL] * tree.num_nodes)
    if supervision == "root":
        return put_below(NO_LABEL, tree)
    binary = to_binary(tree, direction).tree
    return binary.with_labels([NO_LABEL] * binary.num_nodes)


Parses = Literal["replace", "add"]
"""Use the parser's trees in place of the corpus's own, or add them to the training split."""

MAX_PHRASE_WORDS = 12
"""Longer phrases hardly ever occur twice, and would take much memory."""

PhraseLabels = Mapping[tuple[str, ...], str]


def with_parses(corpus: Corpus, parser: Parser, *, parses: Parses, direction: Direction = "head") -> Corpus:
    """Parse the sentences of a corpus and use, or add, the parser's trees.

    If all phrases are labelled for the task, the parser's trees are binarized and their phrases take the label of the
    same words in the sentence's own tree or, in the training split, anywhere else in that split. Other phrases have
    no label.
    """
    asked = corpus.splits if parses == "replace" else {"train": corpus.train}
    parsed = dict(zip(asked, _parse_splits(asked.values(), parser), strict=True))
    known: PhraseLabels = _phrase_labels(corpus.train) if corpus.supervision == "all" else {}

    def label(parse: Tree, tree: Tree, split: str) -> Tree:
        if corpus.supervision == "root":
            return put_below(tree.label, parse)
        return _label_phrases(to_binary(parse, direction).tree, tree, known if split == "train" else {})

    labelled = {
        split: tuple(label(parse, tree, split) for parse, tree in zip(parsed[split], trees, strict=True))
        for split, trees in asked.items()
    }
    if parses == "add":
        labelled["train"] = (*corpus.train, *labelled["train"])
        how = "the training split has a parser's trees besides"
    else:
        how = "all trees are a parser's"
    return replace(corpus, splits={**corpus.splits, **labelled}, inference=f"{corpus.inference}; {how}")


def _parse_splits(splits: Iterable[Sequence[Tree]], parser: Parser) -> Iterator[list[Tree]]:
    """Parse all splits in one call, because a parser may be a file of trees, or slow to start."""
    splits = list(splits)
    sentences = ([surface_form(word) for word in tree.words] for tree in chain.from_iterable(splits))
    parses = iter(parser.parse_all(sentences))
    for trees in splits:
        # The last split asks for one more, so that a parser that has too many trees can say so.
        wanted = len(trees) + (trees is splits[-1])
        pairs = zip(islice(parses, wanted), trees, strict=True)
        # With the words as the corpus spells them.
        yield [Tree(parse.arity, parse.labels, tree.words) for parse, tree in pairs]


def put_below(label: str, parse: Tree) -> Tree:
    """Put a parse below a node with the sentence's label, so that the model can still read the phrase labels."""
    return Tree([1, *parse.arity.tolist()], [label, *parse.labels], parse.words)


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
    """The label of every phrase by its words; the first one, if it has several."""
    labels: dict[tuple[str, ...], str] = {}
    for tree in trees:
        for (start, end), label in zip(_spans(tree), tree.labels, strict=True):
            if label != NO_LABEL and end - start <= MAX_PHRASE_WORDS:
                labels.setdefault(tuple(tree.words[start:end]), label)
    return labels


def _spans(tree: Tree) -> list[tuple[int, int]]:
    return list(zip(tree.starts.tolist(), tree.ends.tolist(), strict=True))
