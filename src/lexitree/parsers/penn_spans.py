"""Penn trees in, labelled spans out and exactly back; and the spans of their one derivation, which a chart scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lexitree.arrays import NodeArray
from lexitree.errors import LabelError, TreeError
from lexitree.trees.penn import strip_function_tags, strip_traces
from lexitree.trees.tree import CHAIN_JOINT, Tree, refuse_inner_words

ROOT_LABELS = frozenset({"", "ROOT", "S1", "TOP"})
"""What treebanks put above a sentence; it says nothing, so a parser neither learns nor writes it."""

NO_PHRASE = 0
"""The number of the label of a span that is no phrase: a bare word, or the first parts of a wider phrase."""


class Span(NamedTuple):
    """A phrase over `words[start:end]`; a unary chain is one phrase with a joined label (`S+VP`)."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class SpanTree:
    """A tree as a parser sees it: words, their tags, and phrases in pre-order."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...]


class Derivation(NamedTuple):
    """Every span of a tree whose wide phrases are split from the left, one entry each."""

    starts: NodeArray
    widths: NodeArray
    labels: NodeArray
    """The number of the phrase's label, or NO_PHRASE."""


def clean_trees(trees: Iterable[Tree]) -> Iterator[Tree]:
    """Trees without traces, function tags and the label above the sentence; those without a word vanish."""
    for tree in trees:
        kept = strip_traces(tree)
        if kept is not None:
            yield without_root(strip_function_tags(kept))


def without_root(tree: Tree) -> Tree:
    """The tree below ROOT, TOP or S1. Over several parts it stays: what they form has no other name."""
    depth = 0
    while tree.labels[depth] in ROOT_LABELS and tree.arity[depth] == 1:
        depth += 1
    return Tree(tree.arity[depth:], tree.labels[depth:], tree.words) if depth else tree


def spans_from_tree(tree: Tree) -> SpanTree:
    """The phrases of a tree, each unary chain as one of them; the inverse of `tree_from_spans`."""
    refuse_inner_words(tree, "parsed")
    arity: list[int] = tree.arity.tolist()
    starts, ends = tree.starts.tolist(), tree.ends.tolist()
    tags: list[str] = []
    spans: list[Span] = []
    chain: list[str] = []
    for node, label in enumerate(tree.labels):
        if not arity[node]:
            tags.append(label)
            continue
        if CHAIN_JOINT in label:
            raise TreeError(f"the label {label!r} holds {CHAIN_JOINT!r}, which joins the labels of a chain")
        chain.append(label)
        if arity[node] > 1 or not arity[node + 1]:
            spans.append(Span(starts[node], ends[node], CHAIN_JOINT.join(chain)))
            chain.clear()
    return SpanTree(tree.words, tuple(tags), tuple(spans))


def tree_from_spans(tree: SpanTree) -> Tree:
    """The Penn tree of spans: chains are taken apart, and every word gets its leaf."""
    nodes: list[tuple[int, int]] = []
    labels: list[str] = []
    waiting = iter(tree.spans)
    span = next(waiting, None)
    for word, tag in enumerate(tree.tags):
        while span is not None and span.start == word:
            chain = span.label.split(CHAIN_JOINT)
            nodes.extend([(span.start, span.end)] * len(chain))
            labels.extend(chain)
            span = next(waiting, None)
        nodes.append((word, word + 1))
        labels.append(tag)
    return Tree.from_spans(tree.words, nodes, labels)


def derive(tree: Tree, label_numbers: Mapping[str, int]) -> Derivation:
    """The spans of the one derivation of a tree.

    The first parts of a wide phrase are joined first: `(NP the big old house)` holds `the big` and `the big old`,
    which are no phrases. Since such a span may only stand on the left, every tree has one derivation.
    """
    spans = spans_from_tree(tree).spans
    found = [(span.start, span.end - span.start, _number(span.label, label_numbers)) for span in spans]
    covered = {span.start for span in spans if span.end == span.start + 1}
    found.extend((word, 1, NO_PHRASE) for word in range(tree.num_words) if word not in covered)
    found.extend(_first_parts(tree))
    starts, widths, labels = np.array(found, dtype=np.int32).T
    return Derivation(starts, widths, labels)


def _first_parts(tree: Tree) -> Iterator[tuple[int, int, int]]:
    """The spans over the first two parts, the first three, ... of every phrase that has more of them."""
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
