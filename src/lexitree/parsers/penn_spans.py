"""Converts Penn trees to labelled spans and back, and finds the derivation that a chart scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from lexitree.arrays import NodeArray
from lexitree.corpora.treebank import STRIPS, strip_trees
from lexitree.errors import LabelError
from lexitree.trees.flat_parses import SentenceParse
from lexitree.trees.tree import NO_LABEL, Tree

ROOT_LABELS = frozenset({NO_LABEL, "ROOT", "S1", "TOP", "VROOT"})
"""Labels that treebanks and parsers put above a sentence; the built-in parser neither learns nor writes them."""

NO_PHRASE = 0
"""The label number of a span that is not a phrase: a bare word, or the first parts of a wider phrase."""


class Derivation(NamedTuple):
    """Every span of a tree after its wide phrases are split from the left."""

    starts: NodeArray
    widths: NodeArray
    labels: NodeArray
    """Label numbers of the phrases, or NO_PHRASE."""


def clean_trees(trees: Iterable[Tree]) -> Iterator[Tree]:
    """Strip traces, function tags and the root label; trees without words are dropped."""
    return map(without_root, strip_trees(trees, STRIPS))


def without_root(tree: Tree) -> Tree:
    """Remove brackets such as `(ROOT ...)` and `(TOP ...)` around a sentence; one over several parts stays."""
    depth = 0
    while tree.labels[depth] in ROOT_LABELS and tree.arity[depth] == 1:
        depth += 1
    return Tree(tree.arity[depth:], tree.labels[depth:], tree.words) if depth else tree


def derive(tree: Tree, label_numbers: Mapping[str, int]) -> Derivation:
    """Return the spans of a tree's only derivation.

    The first parts of a wide phrase are joined first: `(NP the big old house)` contains `the big` and `the big old`,
    which are not phrases. Such a span may only be a left part, so every tree has exactly one derivation.

    Raises:
        LabelError: A phrase has a label without a number.
        TreeError: It is a dependency tree, or a label holds the joint of unary chains.
    """
    parse = SentenceParse.of(tree)
    labels = parse.labels.phrases
    phrases: list[list[int]] = parse.phrases.tolist()
    found = [(start, end - start, _number(labels[label], label_numbers)) for start, end, label in phrases]
    covered = {start for start, end, _ in phrases if end == start + 1}
    found.extend((word, 1, NO_PHRASE) for word in range(tree.num_words) if word not in covered)
    found.extend(_first_parts(tree))
    return Derivation(*np.array(found, dtype=np.int32).T)


def _first_parts(tree: Tree) -> Iterator[tuple[int, int, int]]:
    """Yield the spans over the first two, three, ... parts of every phrase with more parts than that."""
    starts, ends = tree.starts.tolist(), tree.ends.tolist()
    for node in np.flatnonzero(tree.arity > 2).tolist():
        for child in tree.children[node][1:-1]:
            yield starts[node], ends[child] - starts[node], NO_PHRASE


def _number(label: str, label_numbers: Mapping[str, int]) -> int:
    try:
        return label_numbers[label]
    except KeyError as error:
        raise LabelError(
            f"the parser does not know the phrase label {label!r}",
            remedy="Train it on trees that have the label.",
        ) from error
