"""Sentences of any length in, pieces that fit a chart out, and the trees of the pieces joined again."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lexitree.trees.tree import Tree

JOINED_LABEL = "S"
"""The label over the trees of the pieces of a sentence."""

_ENDS = (
    frozenset(".?!…"),
    frozenset({";", ":", "--", "-", "–", "—"}),
    frozenset({",", ")", "-RRB-", "''", '"'}),
)
"""After which words a sentence had best be cut, the best first."""


class Candidate(NamedTuple):
    """A tree and the logarithm of its probability among all trees over the same words."""

    tree: Tree
    log_probability: float


def cut_sentence(words: Sequence[str], max_words: int) -> list[Sequence[str]]:
    """The sentence in pieces of at most `max_words` words, cut after punctuation where there is some.

    The cut falls into the second half of what fits, so that the pieces are few.
    """
    pieces: list[Sequence[str]] = []
    first = 0
    while len(words) - first > max_words:
        end = _find_cut(words, first + (max_words + 1) // 2, first + max_words)
        pieces.append(words[first:end])
        first = end
    return [*pieces, words[first:]]


def _find_cut(words: Sequence[str], earliest: int, latest: int) -> int:
    """Where a piece ends: after the last of the best marks, else where no more words fit."""
    for marks in _ENDS:
        for end in range(latest, earliest, -1):
            if words[end - 1] in marks:
                return end
    return latest


def join_trees(trees: Sequence[Tree]) -> Tree:
    """One tree over the trees of all pieces; a single one stays as it is."""
    if len(trees) == 1:
        return trees[0]
    arity = np.concatenate([np.array([len(trees)]), *(tree.arity for tree in trees)])
    labels = [JOINED_LABEL, *(label for tree in trees for label in tree.labels)]
    return Tree(arity, labels, [word for tree in trees for word in tree.words])


def join_candidates(pieces: Sequence[Sequence[Candidate]], k: int) -> list[Candidate]:
    """The k best ways to choose a tree for each piece; pieces do not know each other, so their chances multiply."""
    if len(pieces) == 1:
        return list(pieces[0])
    ways: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for candidates in pieces:
        longer = (
            (chance + candidate.log_probability, (*ranks, rank))
            for chance, ranks in ways
            for rank, candidate in enumerate(candidates)
        )
        ways = heapq.nlargest(k, longer, key=lambda way: way[0])
    return [
        Candidate(
            join_trees([candidates[rank].tree for candidates, rank in zip(pieces, ranks, strict=True)]),
            chance,
        )
        for chance, ranks in ways
    ]
