"""Share equal subtrees between trees over the same words, so that each is computed once.

A parser's candidates for one sentence have most of their subtrees in common. A bottom-up state depends on its subtree
alone, so eight candidates cost less than two trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.batch.tree_layout import TreeLayout

KnownPairs = dict[tuple[int, int], int]
"""The number of each phrase, by the numbers of its two parts."""


@dataclass(frozen=True, slots=True)
class Forest:
    """The distinct subtrees of several binary trees over the same words, whatever their labels.

    Nodes are numbered children first: the words are 0 to n - 1, the first distinct phrase is n. The trees (a (b c))
    and ((a b) c) have the phrases 3 = (b c), 4 = (a 3), 5 = (a b), 6 = (5 c).
    """

    num_words: int
    children: IndexArray  # [phrases, 2]
    heights: IndexArray  # [phrases]
    spans: IndexArray  # [phrases, 2]
    """The first word of each phrase, and the word after its last."""
    nodes: IndexArray  # [nodes of all trees]
    """The node of the forest for every node of every tree, tree by tree in pre-order."""
    num_trees: int

    @classmethod
    def of(cls, num_words: int, known: KnownPairs, nodes: Sequence[int], num_trees: int) -> Forest:
        """A forest of numbered phrases, children first.

        Args:
            num_words: The number of words.
            known: The phrases, in the order of their numbers.
            nodes: The numbers of all nodes of all trees, tree by tree in pre-order.
            num_trees: The number of trees.
        """
        heights = [0] * num_words
        spans = [(word, word + 1) for word in range(num_words)]
        for left, right in known:
            heights.append(1 + max(heights[left], heights[right]))
            spans.append((spans[left][0], spans[right][1]))
        return cls(
            num_words,
            np.array(list(known), dtype=np.int64).reshape(-1, 2),
            np.array(heights[num_words:], dtype=np.int64),
            np.array(spans[num_words:], dtype=np.int64).reshape(-1, 2),
            np.array(nodes, dtype=np.int64),
            num_trees,
        )

    @property
    def num_nodes(self) -> int:
        return self.num_words + len(self.children)


def lay_out_forests(forests: Sequence[Forest], word_index: Sequence[npt.NDArray[np.integer]]) -> TreeLayout:
    """Lay forests out side by side, for bottom-up passes.

    The layout has no down order: seen from above, trees have nothing in common. `preorder_index` gives the node for
    each node of each tree, so `split` gives every tree its own values.

    Args:
        forests: One forest per sentence.
        word_index: Lexicon rows by word, one array per forest.
    """
    heights = _join([forest.heights for forest in forests])
    order = np.argsort(heights, kind="stable")
    numbering = _Numbering.of(forests, order)
    num_words, num_nodes = numbering.num_words, numbering.num_words + len(order)
    children = numbering.renumber([forest.children for forest in forests])[order]
    spans = numbering.shift_words([forest.spans for forest in forests])[order]
    nodes = numbering.renumber([forest.nodes for forest in forests])
    tree_sizes = [2 * forest.num_words - 1 for forest in forests for _ in range(forest.num_trees)]
    level_sizes = np.bincount(heights, minlength=1)
    level_sizes[0] = num_words
    words, nothing = np.arange(num_words), np.zeros(0, dtype=np.int64)
    return TreeLayout(
        level_sizes=tuple(level_sizes.tolist()),
        depth_sizes=(),
        tree_sizes=tuple(tree_sizes),
        is_binary=True,
        word_index=_join(word_index),
        # Rerankers' head words do not depend on it.
        leaf_kind=np.zeros(num_words, dtype=np.int64),
        inner_word_index=nothing,
        label_index=np.full(num_nodes, NO_INDEX),
        children_index=children.reshape(-1),
        children_offset=2 * np.arange(len(order) + 1),
        root_index=nodes[np.cumsum(tree_sizes, dtype=np.int64) - tree_sizes],
        span_start=np.concatenate([words, spans[:, 0]]),
        span_end=np.concatenate([words + 1, spans[:, 1]]),
        down_order=nothing,
        up_to_down=nothing,
        down_parent_index=nothing,
        preorder_index=nodes,
        level_offset=np.cumsum(level_sizes),
        depth_offset=nothing,
        counts=np.array([num_words, len(tree_sizes), len(level_sizes) - 1, 0]),
        has_shared_nodes=True,
    )


@dataclass(frozen=True, slots=True)
class _Numbering:
    """The positions of the nodes of several forests in a layout: all words, then all phrases by height."""

    forests: Sequence[Forest]
    first_words: list[int]
    first_phrases: list[int]
    num_words: int
    place: IndexArray
    """The place of each phrase, numbered through all forests, among the phrases of the layout."""

    @classmethod
    def of(cls, forests: Sequence[Forest], order: IndexArray) -> _Numbering:
        first_words = list(accumulate((forest.num_words for forest in forests), initial=0))
        first_phrases = list(accumulate((len(forest.children) for forest in forests), initial=0))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(forests, first_words[:-1], first_phrases[:-1], first_words[-1], place)

    def renumber(self, numbers: Sequence[IndexArray]) -> IndexArray:
        """The nodes of the layout for nodes of each forest."""
        firsts = zip(numbers, self.forests, self.first_words, self.first_phrases, strict=True)
        # A phrase keeps a number beyond all words until all forests are together.
        moved = _join(
            [
                np.where(
                    part < forest.num_words, part + word, part - forest.num_words + phrase + self.num_words
                )
                for part, forest, word, phrase in firsts
            ]
        )
        is_phrase = moved >= self.num_words
        moved[is_phrase] = self.num_words + self.place[moved[is_phrase] - self.num_words]
        return moved

    def shift_words(self, numbers: Sequence[IndexArray]) -> IndexArray:
        """The words of the layout for words of each forest."""
        return _join([part + word for part, word in zip(numbers, self.first_words, strict=True)])


def _join(arrays: Sequence[npt.NDArray[np.integer]]) -> IndexArray:
    return np.concatenate(arrays).astype(np.int64, copy=False)
