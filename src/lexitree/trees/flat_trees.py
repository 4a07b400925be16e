"""Many binary trees as flat arrays, and how they are made of a parser's phrases without a loop over nodes.

The steps are those of `binarize.to_binary`, which does them for one tree and is easier to read: unary chains are
collapsed, the head child of each phrase is found, and wide phrases are split around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import BoolArray, IndexArray
from lexitree.lazy import cached_property
from lexitree.trees.binarize import Direction
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.tree import NO_LABEL, Tree

NO_NAME = 0
"""The number of the name that unlabelled nodes have."""


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """Binary trees, one after the other, each in pre-order; words are numbered through all of them.

    A tree over n words has 2n - 1 nodes, and so has each of its phrases: the left part of an inner node is the node
    after it, and the right part comes after the left part's nodes.
    """

    names: tuple[str, ...]
    """The labels by their numbers."""
    num_words: IndexArray  # [trees]
    starts: IndexArray  # [nodes]
    """The first word of each phrase."""
    ends: IndexArray  # [nodes]
    """The word after its last."""
    label_index: IndexArray  # [nodes]
    """The number of each node's label."""

    @property
    def num_trees(self) -> int:
        return len(self.num_words)

    @property
    def sizes(self) -> IndexArray:  # [trees]
        """The number of nodes of each tree."""
        return 2 * self.num_words - 1

    @cached_property
    def first_node(self) -> IndexArray:  # [trees + 1]
        """Where each tree begins, and where the last one ends."""
        return np.append(0, np.cumsum(self.sizes))

    @cached_property
    def first_word(self) -> IndexArray:  # [trees + 1]
        """Where the words of each tree begin, and where the last one's end."""
        return np.append(0, np.cumsum(self.num_words))

    @cached_property
    def is_leaf(self) -> BoolArray:  # [nodes]
        return self.ends - self.starts == 1

    @cached_property
    def next_node(self) -> IndexArray:  # [nodes]
        """The node after all nodes of each phrase."""
        return np.arange(len(self.starts)) + 2 * (self.ends - self.starts) - 1

    @cached_property
    def depths(self) -> IndexArray:  # [nodes]
        """The number of edges to the root."""
        return depths_in_order(self.next_node)

    @cached_property
    def heights(self) -> IndexArray:  # [nodes]
        """The number of edges to the deepest word below."""
        deepest = np.append(self.depths[self.is_leaf], 0)
        borders = np.stack([self.starts, self.ends], 1).reshape(-1)
        return np.maximum.reduceat(deepest, borders)[::2] - self.depths

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> FlatTrees:
        """Pack binary trees."""
        numbers = {NO_LABEL: NO_NAME}
        labels = [numbers.setdefault(label, len(numbers)) for tree in trees for label in tree.labels]
        num_words = np.array([tree.num_words for tree in trees], dtype=np.int64)
        first = np.repeat(np.cumsum(num_words) - num_words, 2 * num_words - 1)
        nothing = np.zeros(0, dtype=np.int64)
        starts = np.concatenate([nothing, *(tree.starts for tree in trees)]) + first
        ends = np.concatenate([nothing, *(tree.ends for tree in trees)]) + first
        return cls(tuple(numbers), num_words, starts, ends, np.array(labels, dtype=np.int64))

    def take(self, trees: IndexArray) -> FlatTrees:
        """Some of the trees, in the given order."""
        num_words = self.num_words[trees]
        nodes = ranges(self.first_node[trees], self.sizes[trees])
        first_word = np.cumsum(num_words) - num_words
        shift = np.repeat(first_word - self.first_word[trees], 2 * num_words - 1)
        return FlatTrees(
            self.names,
            num_words,
            self.starts[nodes] + shift,
            self.ends[nodes] + shift,
            self.label_index[nodes],
        )

    def spans(self) -> list[TreeSpans]:
        """The phrases of each tree, with its words counted from 0."""
        shift = np.repeat(self.first_word[:-1], self.sizes)
        borders = self.first_node[1:-1]
        starts, ends = np.split(self.starts - shift, borders), np.split(self.ends - shift, borders)
        return [TreeSpans(*each) for each in zip(starts, ends, strict=True)]

    def tree(self, number: int, words: Sequence[str]) -> Tree:
        """One of the trees, over its words."""
        nodes = slice(self.first_node[number], self.first_node[number + 1])
        arity = np.where(self.is_leaf[nodes], 0, 2)
        labels: list[int] = self.label_index[nodes].tolist()
        return Tree(arity, [self.names[label] for label in labels], words)


class TreeSpans(NamedTuple):
    """The phrases of a tree in pre-order."""

    starts: IndexArray
    ends: IndexArray


def ranges(starts: IndexArray, lengths: IndexArray) -> IndexArray:
    """`starts[0], starts[0] + 1, ...`, as many as `lengths[0]`, then those from `starts[1]`, and so on."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)


def depths_in_order(next_node: IndexArray) -> IndexArray:
    """The depth of each node of trees in pre-order: of the nodes before it, those that have not ended contain it."""
    num_nodes = len(next_node)
    num_ended = np.cumsum(np.bincount(next_node, minlength=num_nodes + 1)[:num_nodes])
    return np.arange(num_nodes) - num_ended


def stable_order(values: npt.NDArray[np.integer]) -> IndexArray:
    """The order of small numbers, equal ones as they come."""
    # NumPy sorts 16-bit numbers by their digits, ten times as fast.
    is_small = not len(values) or int(values.max()) <= np.iinfo(np.int16).max
    return np.argsort(values.astype(np.int16) if is_small else values, kind="stable")


def binarize_parses(parses: FlatParses, direction: Direction) -> FlatTrees:
    """The binary trees that a model reads; see `to_binary`, which makes one.

    Args:
        parses: The parses, with plain labels (`ParseLabels.are_plain`).
        direction: Which child of a wide phrase becomes the innermost.
    """
    collapsed = _Collapsed.of(parses)
    edges = _Edges.of(collapsed, parses.num_sentences)
    return _split_wide(collapsed, edges, _heads(parses, collapsed, edges, direction), parses)


class _Collapsed(NamedTuple):
    """Trees of any arity in pre-order, without unary chains: all phrases of several words, and all words."""

    starts: IndexArray
    ends: IndexArray
    label_index: IndexArray
    """The number of each node's name."""
    phrase: IndexArray
    """The number of each node's phrase label, which tells its head rule; 0 at words."""
    next_node: IndexArray

    @classmethod
    def of(cls, parses: FlatParses) -> _Collapsed:
        labels, num_words = parses.labels, len(parses.tags)
        is_wide = parses.phrase_end - parses.phrase_start > 1
        starts, ends, phrase = (
            each[is_wide] for each in (parses.phrase_start, parses.phrase_end, parses.phrase_label)
        )
        # In pre-order, a word comes after the phrases that begin with it or before it.
        num_before = np.append(0, np.cumsum(np.bincount(starts, minlength=num_words)))
        word_places = np.arange(num_words) + num_before[1:]
        phrase_places = np.arange(len(starts)) + starts
        names = labels.tag_names[parses.tags]
        # A word that is a phrase by itself has the phrase's label.
        lone = ~is_wide
        names[parses.phrase_start[lone]] = labels.phrase_names[parses.phrase_label[lone]]
        num_nodes = num_words + len(starts)
        all_starts, all_ends, all_names, all_phrases = (np.zeros(num_nodes, dtype=np.int64) for _ in range(4))
        all_starts[word_places] = np.arange(num_words)
        all_ends[word_places] = np.arange(1, num_words + 1)
        all_names[word_places] = names
        all_starts[phrase_places] = starts
        all_ends[phrase_places] = ends
        all_names[phrase_places] = labels.phrase_names[phrase]
        all_phrases[phrase_places] = phrase
        return cls(all_starts, all_ends, all_names, all_phrases, all_ends + num_before[all_ends])


class _Edges(NamedTuple):
    """The children of all phrases, phrase by phrase and from left to right; the phrases are sorted by depth."""

    child: IndexArray
    phrase: IndexArray  # [phrases]
    """The node of each phrase."""
    first: IndexArray  # [phrases]
    """Where the children of each phrase begin."""
    owner: IndexArray
    """For each child, the number of its phrase."""
    slots: IndexArray
    """The position of each child in its phrase, counted from 0."""
    width: IndexArray  # [phrases]
    """The number of children of each phrase."""

    @classmethod
    def of(cls, trees: _Collapsed, num_trees: int) -> _Edges:
        is_inner = trees.ends - trees.starts > 1
        order = stable_order(depths_in_order(trees.next_node))
        phrase, child = order[is_inner[order]], order[num_trees:]
        # In pre-order, the first child comes right after its phrase.
        is_first = is_inner[child - 1]
        first = np.flatnonzero(is_first)
        owner = np.cumsum(is_first) - 1
        width = np.diff(np.append(first, len(child)))
        return cls(child, phrase, first, owner, np.arange(len(child)) - first[owner], width)


def _heads(
    parses: FlatParses, trees: _Collapsed, edges: _Edges, direction: Direction
) -> IndexArray:  # [phrases]
    """Which child of each phrase becomes the innermost, counted from 0."""
    if direction == "left":
        return np.zeros_like(edges.width)
    if direction == "right":
        return edges.width - 1
    names = trees.label_index[edges.child]
    return parses.labels.heads.find(trees.phrase[edges.phrase], names, edges.first, edges.owner, edges.slots)


def _split_wide(trees: _Collapsed, edges: _Edges, heads: IndexArray, parses: FlatParses) -> FlatTrees:
    """Insert the intermediate nodes: the outer ones split off the children left of the head, the inner the others."""
    num_nodes = len(trees.starts)
    num_inserted, head = _num_inserted(edges, heads), heads[edges.owner]
    before = np.zeros(num_nodes, dtype=np.int64)
    before[edges.child] = num_inserted
    split_of = np.arange(num_nodes) + np.cumsum(before)
    starts, ends, label_index = (
        np.zeros(2 * len(parses.tags) - parses.num_sentences, dtype=np.int64) for _ in range(3)
    )
    starts[split_of], ends[split_of], label_index[split_of] = trees.starts, trees.ends, trees.label_index
    # The nodes inserted before a child all start with it. Counted from the outermost, each ends one child earlier;
    # the outermost ends with the phrase, unless the phrase itself does, because nothing was split off on its left.
    edge = np.repeat(np.arange(len(edges.child)), num_inserted)
    number = np.arange(len(edge)) - np.repeat(np.cumsum(num_inserted) - num_inserted, num_inserted)
    last_slot = edges.width[edges.owner[edge]] - 1 - number - (head[edge] == 0)
    last_child = edges.child[edges.first[edges.owner[edge]] + last_slot]
    places = split_of[edges.child[edge]] - num_inserted[edge] + number
    starts[places], ends[places] = trees.starts[edges.child[edge]], trees.ends[last_child]
    return FlatTrees(parses.labels.names, parses.num_words, starts, ends, label_index)


def _num_inserted(edges: _Edges, heads: IndexArray) -> IndexArray:  # [children]
    """How many intermediate nodes start at each child; see `binarize`, which explains it."""
    width, head, slots = edges.width[edges.owner], heads[edges.owner], edges.slots
    num_right = width - 1 - head
    at_head = np.where(head > 0, num_right, num_right - 1)
    inserted = np.where(slots == head, at_head, (slots > 0) & (slots < head))
    return np.where(width > 2, inserted, 0)
