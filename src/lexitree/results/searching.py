"""Search in trees and labelled documents for the phrases that match a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexitree.arrays import rounded
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Phrase, Sentence
from lexitree.tree_search.node_facts import ModelFacts, NodeFacts, PlacedWords, lower_case
from lexitree.tree_search.pattern import Pattern, parse_pattern
from lexitree.trees.tree import CHAIN_JOINT, NO_LABEL, Tree
from lexitree.views.shown_tree import probability_of, shown_words
from lexitree.views.visible import MAX_SHOWN_CHARACTERS, shorten_text

Searchable = Tree | LabelledTree | Document
"""What can be searched."""


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase that matches a pattern."""

    number: int
    """Which of the trees or documents it is in, counted from 0."""
    sentence_number: int
    """Which sentence of the document, counted from 0; always 0 in a tree."""
    tree: LabelledTree
    """The tree it is in; in a document, its `Sentence`."""
    node: int
    """Its number in pre-order; the whole sentence is 0."""
    category: str
    """The label that the treebank or the parser gave, such as NP; chains are joined by `+`."""

    @property
    def phrase(self) -> Phrase | None:
        """The phrase with its place in the text; None in a tree that is not of a text."""
        return Phrase(self.tree, self.node) if isinstance(self.tree, Sentence) else None

    @property
    def label(self) -> str:
        """The label that the model gave or, without a model, that of the tree."""
        return self.tree.labels[self.node]

    @property
    def probability(self) -> float | None:
        """The probability of the label; None without a model."""
        return probability_of(self.tree, self.node)

    @property
    def head(self) -> str | None:
        """The head word that the model chose; None without a model, or if it has no heads."""
        return self.tree.head(self.node)

    @property
    def span(self) -> tuple[int, int]:
        """The number of its first word in the sentence, and of the one after its last."""
        return int(self.tree.source.starts[self.node]), int(self.tree.source.ends[self.node])

    @property
    def text(self) -> str:
        """The phrase as it stands in the document; in a tree, its words with spaces between them."""
        phrase = self.phrase
        return " ".join(self.tree.words[slice(*self.span)]) if phrase is None else phrase.text

    def shown_text(self) -> str:
        """The text; of a very long one, its beginning and its end: all phrases around it would repeat it."""
        phrase = self.phrase
        if phrase is not None:
            return shorten_text(phrase.sentence.document_text, phrase.start, phrase.end)
        return shorten_text(" ".join(shown_words(self.tree, self.node, MAX_SHOWN_CHARACTERS)))

    def as_dict(self) -> dict[str, Any]:
        """The match as plain values for JSON.

        `start` and `end` count characters of the document or, in a tree, words of the sentence. A very long text is
        shortened.
        """
        phrase, head = self.phrase, self.head
        start, end = self.span if phrase is None else (phrase.start, phrase.end)
        return {
            "number": self.number,
            "sentence": self.sentence_number,
            "node": self.node,
            "start": start,
            "end": end,
            "text": self.shown_text(),
            "label": self.label,
            "category": self.category,
            "probability": rounded(self.probability),
            "head": None if head is None else shorten_text(head),
        }

    def __str__(self) -> str:
        return self.text


def search(pattern: str, trees: Searchable | Iterable[Searchable]) -> Iterator[Match]:
    """Find the phrases that match a pattern.

        for match in lexitree.search("NP << negative & words>=3", lexitree.read_trees("penn.txt")):
            print(match.text)

    The guide describes the patterns. The time for a tree is linear in its size for each part of the pattern.

    Args:
        pattern: The pattern, such as `NP < (negative & p>0.8)`.
        trees: A tree, a labelled tree or a document, or any number of them, which are read one at a time.

    Returns:
        The matches in their order: tree by tree, and in each tree a phrase before its parts.

    Raises:
        PatternError: The pattern is malformed, or asks for what the trees do not have.
        TreeError: A tree is a dependency tree.
    """
    read = parse_pattern(pattern)
    several = [trees] if isinstance(trees, Searchable) else trees
    return (match for number, each in enumerate(several) for match in _matches(read, each, number))


def _matches(pattern: Pattern, searched: Searchable, number: int) -> Iterator[Match]:
    for sentence_number, tree in enumerate(_labelled_trees(searched)):
        facts = _facts(tree)
        for node in pattern.find(facts):
            yield Match(number, sentence_number, tree, node, facts.categories[node])


def _labelled_trees(searched: Searchable) -> Iterable[LabelledTree]:
    if isinstance(searched, Document):
        return searched.sentences
    return [LabelledTree.from_tree(searched) if isinstance(searched, Tree) else searched]


def _facts(tree: LabelledTree) -> NodeFacts:
    has_model = bool(len(tree.node_probabilities)) or tree.head_index is not None
    model = ModelFacts(
        labels=tree.labels,
        label_names=tree.label_set.names,
        probabilities=tree.node_probabilities,
        head_index=None if tree.head_index is None else tree.head_index.astype(np.int32),
    )
    return NodeFacts(tree.source, model if has_model else None, _categories(tree), _placed_words(tree))


def _categories(tree: LabelledTree) -> list[str] | tuple[str, ...]:
    """The labels of the parse for the phrases of a sentence; they have other labels, and other nodes, in its tree."""
    if not isinstance(tree, Sentence):
        return tree.source.labels
    chains: dict[tuple[int, int], str] = {}
    for span, label in zip(tree.parse.spans, tree.parse.labels, strict=True):
        chains[span] = f"{chains[span]}{CHAIN_JOINT}{label}" if span in chains else label
    return [chains.get(span, NO_LABEL) for span in tree.source.spans]


def _placed_words(tree: LabelledTree) -> PlacedWords | None:
    if not isinstance(tree, Sentence):
        return None
    starts = np.array([token.start for token in tree.tokens], dtype=np.int32)
    ends = np.array([token.end for token in tree.tokens], dtype=np.int32)
    return PlacedWords(lower_case(tree.text), starts - tree.start, ends - tree.start)
