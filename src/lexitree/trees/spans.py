"""A tree as a parser sees it: words, tags, and phrases as spans of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lexitree.trees.tree import CHAIN_JOINT, Tree


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


def tree_from_spans(tree: SpanTree) -> Tree:
    """Build the Penn tree of spans; unary chains are expanded and every word becomes a leaf."""
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
