"""Forests the plain way: number the subtrees of binary trees one by one, from behind."""

from __future__ import annotations

from collections.abc import Sequence

from lexitree.trees.tree import Tree
from lexitree_paper.rerank.forest import Forest, KnownPairs


def share_subtrees(trees: Sequence[Tree]) -> Forest:
    """The distinct subtrees of binary trees over the same words."""
    known: KnownPairs = {}
    nodes: list[int] = []
    for tree in trees:
        nodes += _number_nodes(tree.arity.tolist(), tree.num_words, known)
    return Forest.of(trees[0].num_words, known, nodes, len(trees))


def _number_nodes(arity: list[int], num_words: int, known: KnownPairs) -> list[int]:
    """From behind, both children of a phrase are met before it, the left one last."""
    numbers: list[int] = []
    waiting: list[int] = []
    word = num_words
    for num_children in reversed(arity):
        if num_children:
            number = known.setdefault((waiting.pop(), waiting.pop()), num_words + len(known))
        else:
            word -= 1
            number = word
        waiting.append(number)
        numbers.append(number)
    return numbers[::-1]
