"""Finds the phrase that a span of words stands for: the words themselves, or what is said about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from lexitree.trees.tree import Tree

CoverRule = Literal["phrase", "statement", "sentence", "none"]
"""The smallest phrase that covers a span; the smallest that also says something about it; the sentence; or none."""
COVER_RULES: tuple[CoverRule, ...] = get_args(CoverRule)

_SAYING_TAGS = ("JJ", "RB", "VB", "UH")
"""How the tags of words begin that say something about others: adjectives, adverbs, verbs and interjections."""


def covering_node(tree: Tree, start: int, end: int) -> int:
    """The smallest phrase that covers the words from `start` to before `end`; of a unary chain, the topmost."""
    covers = np.flatnonzero((tree.starts <= start) & (tree.ends >= end))
    widths = tree.ends[covers] - tree.starts[covers]
    return int(covers[np.argmin(widths)])


def find_cover(tree: Tree, start: int, end: int, rule: CoverRule, tags: Sequence[str]) -> int | None:
    """The node that a span stands for.

    Args:
        tree: A tree.
        start: The first word of the span.
        end: The word after its last.
        rule: `phrase` is the smallest phrase that covers the span, as for words that express an opinion. `statement`
            is the smallest one that covers an adjective, adverb, verb or interjection besides, as for words that an
            opinion is about. `sentence` is the whole, and `none` is no node.
        tags: The Penn tag of each word.

    Returns:
        The node, or None.
    """
    if rule == "none":
        return None
    if rule == "sentence":
        return 0
    node = covering_node(tree, start, end)
    if rule == "statement":
        says = [tag.startswith(_SAYING_TAGS) and not start <= place < end for place, tag in enumerate(tags)]
        while node and not any(says[tree.starts[node] : tree.ends[node]]):
            node = int(tree.parents[node])
    return node
