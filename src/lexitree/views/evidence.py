"""Find the phrases that matter for the label of a sentence: the side each is on, its weight, and where labels turn.

The labels below the middle of a scale are one side, those above it the other, and the middle is on no side; of labels
without an order, each is a side of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log1p
from typing import NamedTuple

import numpy as np

from lexitree.arrays import NO_INDEX, FloatArray
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.trees.tree import Tree
from lexitree.views.shown_tree import ShownTree

NO_SIDE, NEGATIVE, POSITIVE = 0, 1, 2
"""The sides of a scale; a label without an order has its place from 1 as its side."""

CLEAR_MARGIN = 0.1
"""So much likelier than every label of another side must the label of a phrase be, to count as clear."""
CONTRAST_WORDS = frozenset(
    [
        *("but", "yet", "however", "although", "though", "despite"),
        *("nevertheless", "nonetheless", "whereas", "while", "except"),
    ]
)
LINKING_WORDS = CONTRAST_WORDS | {"and", "or"}
ARTICLES = frozenset({"a", "an", "the"})
MOST_WORDS, MOST_OF_SENTENCE = 12, 0.75
"""Evidence is not widened beyond so many words, nor beyond this share of the sentence."""
MOST_JOINED_WORDS = 6
"""Evidence of one side is joined where all of it fits into a phrase of so many words."""
LEAST_SHARE = 0.2
"""Evidence that weighs less than this share of the heaviest is not highlighted."""
WORDS_PER_HIGHLIGHT, MOST_HIGHLIGHTS = 6, 8
"""Three phrases are highlighted in a short sentence, five in one of 25 words; what is inside of them comes on top."""


def label_sides(labels: LabelSet) -> list[int]:
    """The side of each label."""
    if labels.polarity is None:
        return list(range(1, len(labels) + 1))
    return [NEGATIVE if place < 0.5 else POSITIVE if place > 0.5 else NO_SIDE for place in labels.polarity]


@dataclass(frozen=True)
class Evidence:
    """What the phrases of one sentence say for its label and against it; lists are by node."""

    tree: ShownTree
    own_sides: list[int]
    """The side of each phrase's label."""
    margins: list[float]
    """How much likelier its label is than all labels of other sides; 1 where there are no probabilities."""
    sides: list[int]
    """The side of each phrase whose label is clear, and of the whole sentence; else `NO_SIDE`."""
    weights: list[float]
    """How much each phrase matters, from 0 to 1."""
    pieces: dict[int, int]
    """The phrases that the label, or what speaks against it, comes from: heaviest first, nested or apart; each with
    the phrase inside, or the same, that was widened to it."""

    @cached_property
    def turns(self) -> list[bool]:
        """Whether each phrase has parts on a clear side, and is itself on the side of none of them."""
        parts: list[set[int]] = [set() for _ in self.sides]
        for node, parent in enumerate(self.tree.source.parents.tolist()):
            if parent != NO_INDEX and self.sides[node] != NO_SIDE:
                parts[parent].add(self.sides[node])
        return [bool(below) and own not in below for own, below in zip(self.own_sides, parts, strict=True)]

    def is_reversal(self, node: int) -> bool:
        """Whether a phrase is on a side, and its parts that are on one are all on another."""
        return self.turns[node] and self.sides[node] != NO_SIDE

    def contains(self, outer: int, inner: int) -> bool:
        """Whether a phrase is a proper part of another, in the tree."""
        return outer < inner < self._next_nodes[outer]

    @cached_property
    def _next_nodes(self) -> list[int]:
        """For each node, the first after those below it."""
        sizes = [1] * len(self.sides)
        parents = self.tree.source.parents.tolist()
        for node in range(len(sizes) - 1, 0, -1):
            sizes[parents[node]] += sizes[node]
        return [node + size for node, size in enumerate(sizes)]

    @cached_property
    def outer_pieces(self) -> list[int]:
        """The pieces that are in no other but the whole sentence: the heaviest one for the label, the heaviest one
        against it, and the others, heaviest first."""
        outer: list[int] = []
        end = 0
        for piece in sorted(self.pieces.keys() - {0}):
            if piece >= end:
                outer.append(piece)
                end = self._next_nodes[piece]
        outer.sort(key=lambda piece: -self.weights[piece])
        support = [piece for piece in outer if self.sides[piece] == self.sides[0]][:1]
        against = [piece for piece in outer if self.sides[piece] != self.sides[0]][:1]
        return list(dict.fromkeys([*support, *against, *outer]))

    @cached_property
    def highlights(self) -> list[int]:
        """The heaviest pieces, each with the heaviest one inside; the whole sentence if it turns what is inside."""
        if len(self.sides) == 1:
            return list(self.pieces)
        outer = self.outer_pieces
        least = LEAST_SHARE * max((self.weights[piece] for piece in outer), default=0.0)
        most = min(MOST_HIGHLIGHTS, max(3, 1 + self.tree.source.num_words // WORDS_PER_HIGHLIGHT))
        heavy = [piece for place, piece in enumerate(outer) if not place or self.weights[piece] >= least]
        chosen = [0] if 0 in self.pieces and outer else []
        for piece in heavy[:most]:
            inner = next((other for other in self.pieces if self._turns_in(piece, other)), piece)
            chosen += [each for each in dict.fromkeys((piece, inner)) if self._fits(each, chosen)]
        return chosen

    def _turns_in(self, outer: int, inner: int) -> bool:
        return self.contains(outer, inner) and self.sides[outer] != self.sides[inner]

    def _fits(self, node: int, others: Sequence[int]) -> bool:
        """Whether a phrase crosses none of the others, as it can where trees are not projective."""
        starts, ends = self.tree.source.starts, self.tree.source.ends
        return not any(
            starts[first] < starts[second] < ends[first] < ends[second]
            for other in others
            for first, second in ((node, other), (other, node))
        )


def find_evidence(tree: ShownTree) -> Evidence:
    """Find the phrases that matter, in time linear in the number of nodes."""
    own_sides, margins = _own_sides(tree), _margins(tree)
    linked = [is_linking(word) for word in tree.words]
    words = _count_words(tree.source, linked)
    untelling = [link or word.lower() in ARTICLES for link, word in zip(linked, tree.words, strict=True)]
    sides = [
        side if margin >= CLEAR_MARGIN and num_telling else NO_SIDE
        for side, margin, num_telling in zip(
            own_sides, margins, _count_words(tree.source, untelling), strict=True
        )
    ]
    sides[0] = own_sides[0]
    weights = _weights(tree, sides, margins)
    found = _pieces(tree.source, sides, words)
    pieces = {piece: found[piece] for piece in sorted(found, key=lambda node: (-weights[node], node))}
    return Evidence(tree, own_sides, margins, sides, weights, pieces)


def is_linking(word: str) -> bool:
    """Whether a word only joins others: `and`, `but`, or a punctuation character, repeated or not, but not `:)`."""
    is_punctuation = len(set(word)) == 1 and unicodedata.category(word[0]).startswith("P")
    return is_punctuation or word.lower() in LINKING_WORDS


def _count_words(tree: Tree, left_out: Sequence[bool]) -> list[int]:
    """How many words each phrase has that are not left out."""
    before = [0, *accumulate(not each for each in left_out)]
    return [before[end] - before[start] for start, end in tree.spans]


def _own_sides(tree: ShownTree) -> list[int]:
    if tree.label_set.polarity is None and not len(tree.node_probabilities):
        # Labels that the tree came with, such as those of a parse, do not follow from each other.
        return [NO_SIDE] * tree.source.num_nodes
    sides = dict(zip(tree.label_set.names, label_sides(tree.label_set), strict=True))
    return [sides.get(label, NO_SIDE) for label in tree.labels]


def _margins(tree: ShownTree) -> list[float]:
    """How much likelier each node's label is than all labels of other sides; 1 where there are no probabilities."""
    rows = tree.node_probabilities
    missing = [1.0] * (tree.source.num_nodes - len(rows))
    return [*_row_margins(rows, label_sides(tree.label_set)), *missing]


def _row_margins(rows: FloatArray, sides: Sequence[int]) -> list[float]:
    if not len(rows):
        return []
    columns = [np.flatnonzero(np.array(sides) == side) for side in sorted(set(sides))]
    best = np.stack([rows[:, members].max(1) for members in columns], axis=1).astype(np.float64)
    if best.shape[1] == 1:
        return best[:, 0].tolist()
    best.sort(axis=1)
    return (best[:, -1] - best[:, -2]).tolist()


def _weights(tree: ShownTree, sides: Sequence[int], margins: Sequence[float]) -> list[float]:
    """How clear a phrase's label is, times how far it is from the middle, times how far up its side holds."""
    scores = tree.label_set.scores
    extremes = (
        dict.fromkeys(tree.label_set.names, 1.0)
        if scores is None
        else dict(zip(tree.label_set.names, map(abs, scores), strict=True))
    )
    starts, ends = tree.source.starts.tolist(), tree.source.ends.tolist()
    reaches: list[int] = []
    weights: list[float] = []
    longest = log1p(tree.source.num_words)
    parents: list[int] = tree.source.parents.tolist()
    for node, parent in enumerate(parents):
        holds = parent != NO_INDEX and sides[parent] == sides[node]
        reaches.append(reaches[parent] if holds else ends[node] - starts[node])
        strength = 0.0 if sides[node] == NO_SIDE else margins[node] * extremes[tree.labels[node]]
        weights.append(strength * log1p(reaches[node]) / longest)
    return weights


class _Sources(NamedTuple):
    """The phrases that sides come from: those of which no part has the side, looking through parts on no side."""

    nodes: list[int]
    counts: list[int]
    """How many there are in each phrase."""
    kinds: list[int]
    """The sides of those in each phrase, as bits."""


def _find_sources(parents: Sequence[int], sides: Sequence[int]) -> _Sources:
    found = _Sources([], [0] * len(sides), [0] * len(sides))
    below = [0] * len(sides)
    """The sides of the nearest phrases below that are on one, as bits."""
    for node in range(len(sides) - 1, -1, -1):
        own, parent = 1 << sides[node] if sides[node] != NO_SIDE else 0, parents[node]
        if own & ~below[node]:
            found.nodes.append(node)
            found.counts[node] += 1
            found.kinds[node] |= own
        if parent != NO_INDEX:
            found.counts[parent] += found.counts[node]
            found.kinds[parent] |= found.kinds[node]
            below[parent] |= own or below[node]
    return found


def _pieces(tree: Tree, sides: Sequence[int], words: Sequence[int]) -> dict[int, int]:
    """Each source widened as long as its side holds and nothing else comes in, or little of the same side."""
    parents: list[int] = tree.parents.tolist()
    sources = _find_sources(parents, sides)
    most = int(MOST_OF_SENTENCE * words[0])
    pieces: dict[int, int] = {}
    for source in sources.nodes:
        widest, parent = source, parents[source]
        while parent != NO_INDEX and sides[parent] == sides[source] and words[parent] <= most:
            is_alone = sources.counts[parent] == sources.counts[source] and words[parent] <= MOST_WORDS
            is_joined = sources.kinds[parent] == 1 << sides[source] and words[parent] <= MOST_JOINED_WORDS
            if not (is_alone or is_joined):
                break
            # A comma or an "and" more is not worth a wider phrase.
            widest = parent if words[parent] > words[widest] else widest
            parent = parents[parent]
        pieces[widest] = source
    return pieces
