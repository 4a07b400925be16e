"""Lay many trees out side by side as flat NumPy arrays, so that all of them can be computed level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, DoubleArray, FloatArray, IndexArray
from lexitree.errors import TreeError
from lexitree.lexicon.pieces import PieceLayout
from lexitree.text.word_kinds import word_kinds
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.flat_trees import FlatTrees, stable_order
from lexitree.trees.tree import Tree

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """Many trees, of any arity, as flat arrays in two orders.

    `from_trees` builds a layout and `split` takes it apart again. `lexitree.ops.tree_batch.TreeBatch` holds the same
    arrays as tensors on a device.

    **Up order** is the order of all node arrays outside the recurrences: nodes sorted by height (leaves first),
    then by tree, then in pre-order. So leaf k of the layout is node k, and one level of the bottom-up pass is one
    slice. Two trees, (a b) and (c (d e)), whose roots are the nodes 5 and 7:

        height     0  0  0  0  0  1      1      2
        node       0  1  2  3  4  5      6      7
                   a  b  c  d  e  (a b)  (d e)  (c (d e))
        level_sizes = (5, 2, 1)
        children_index = [0 1 | 3 4 | 2 6], from children_offset = [0 2 4 6]

    **Down order** is private to the top-down pass: nodes sorted by depth, siblings side by side. The level below
    depth d then holds exactly the children of the inner nodes at d, again as one slice:

        depth      0      0          1  1  1  1      2  2
        place      0      1          2  3  4  5      6  7
        down_order 5      7          0  1  2  6      3  4
        depth_sizes = (2, 4, 2); down_parent_index = [0 0 1 1 5 5], for the places from 2 on
    """

    level_sizes: tuple[int, ...]
    """Number of nodes at each height, starting with the leaves."""
    depth_sizes: tuple[int, ...]
    """Number of nodes at each depth, starting with the roots."""
    tree_sizes: tuple[int, ...]
    """Number of nodes of each tree."""
    is_binary: bool
    """Whether every inner node has two children."""

    word_index: IndexArray  # [leaves]
    """The lexicon row of each leaf; ~k, which is negative, stands for `unknown_words[k]`."""
    leaf_kind: IndexArray  # [leaves]
    """The `WordKind` of each leaf's word, for models whose head words depend on it."""
    inner_word_index: IndexArray  # [inner words]
    """The lexicon row of each inner node of dependency trees; empty for constituency trees."""
    label_index: IndexArray  # [nodes]
    """The gold label of each node, -1 for none."""
    children_index: IndexArray  # [edges]
    """The children of the inner nodes, grouped by parent, from left to right."""
    children_offset: IndexArray  # [inner nodes + 1]
    """Where the children of each inner node start in `children_index`."""
    root_index: IndexArray  # [trees]
    """The root of each tree."""
    span_start: IndexArray  # [nodes]
    """The first leaf below each node ..."""
    span_end: IndexArray  # [nodes]
    """... and the leaf after its last."""
    down_order: IndexArray  # [nodes]
    """The node at each place of the down order."""
    up_to_down: IndexArray  # [nodes]
    """The place of each node in the down order."""
    down_parent_index: IndexArray  # [nodes - trees]
    """The place of the parent, for each place of the down order after the roots."""
    preorder_index: IndexArray  # [nodes of all trees]
    """The node for each (tree, node of the tree), tree after tree."""
    level_offset: IndexArray  # [levels]
    """Where each level above the leaves starts in the up order; a device walks the levels by it."""
    depth_offset: IndexArray  # [depths]
    """Where each level below the roots starts in the down order."""
    counts: IndexArray  # [4]
    """Number of leaves, of trees, of levels above the leaves and of levels below the roots."""

    targets: DoubleArray | None = None  # [nodes, scores]
    """The probability that each label should have at each node, when learning from probabilities."""
    has_shared_nodes: bool = False
    """Whether trees have nodes in common, so that a node may have several parents; see `forest`."""
    unknown_words: tuple[str, ...] = ()
    """Words without a lexicon row, for which the lexicon guesses vectors."""
    pieces: PieceLayout | None = None
    """The input of a transformer; `word_index` then numbers the words of the batch."""

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        word_index: Sequence[npt.NDArray[np.integer]] | None = None,
        label_index: Sequence[npt.NDArray[np.integer]] | None = None,
        targets: Sequence[FloatArray] | None = None,
    ) -> TreeLayout:
        """Lay trees out side by side.

        Args:
            trees: Constituency trees or dependency trees, not both.
            word_index: Lexicon rows by word, one array per tree. Without them, words are numbered through the batch.
            label_index: Label numbers by node in pre-order, one array per tree.
            targets: Label probabilities by node in pre-order, one array per tree.

        Raises:
            TreeError: If constituency trees and dependency trees are mixed.
        """
        sizes = np.array([tree.num_nodes for tree in trees], dtype=np.int64)
        num_words = np.array([tree.num_words for tree in trees], dtype=np.int64)
        heights = _concatenate([tree.heights for tree in trees])
        depths = _concatenate([tree.depths for tree in trees])
        arity = _concatenate([tree.arity for tree in trees])
        first_nodes = np.cumsum(sizes) - sizes
        first_words = np.cumsum(num_words) - num_words
        node_shift, word_shift = np.repeat(first_nodes, sizes), np.repeat(first_words, sizes)
        parents = _concatenate([tree.parents for tree in trees]) + node_shift

        up_order = np.argsort(heights, kind="stable")
        up = _inverse(up_order)
        down = np.argsort(depths, kind="stable")
        place = _inverse(down)
        # Siblings are in left-to-right order already, and sorting by parent is stable.
        edges = np.flatnonzero(depths)
        by_parent = edges[np.argsort(up[parents[edges]], kind="stable")]
        num_leaves = int(np.count_nonzero(arity == 0))
        inner_arity = arity[up_order][num_leaves:]
        starts = _concatenate([tree.starts for tree in trees]) + word_shift
        ends = _concatenate([tree.ends for tree in trees]) + word_shift
        labels = np.full(len(arity), NO_INDEX) if label_index is None else _concatenate(label_index)
        words = np.arange(int(num_words.sum())) if word_index is None else _concatenate(word_index)
        if any(tree.has_inner_words for tree in trees):
            words = words[_own_words(trees) + word_shift][up_order]
        # Without any tree there is still one level, of no leaves.
        level_sizes, depth_sizes = np.bincount(heights, minlength=1), np.bincount(depths, minlength=1)
        return cls(
            level_sizes=tuple(level_sizes.tolist()),
            depth_sizes=tuple(depth_sizes.tolist()),
            tree_sizes=tuple(sizes.tolist()),
            is_binary=bool((inner_arity == 2).all()),
            word_index=words[:num_leaves],
            leaf_kind=_leaf_kinds(trees, num_leaves),
            inner_word_index=words[num_leaves:],
            label_index=labels[up_order],
            children_index=up[by_parent],
            children_offset=np.append(0, np.cumsum(inner_arity)),
            root_index=up[first_nodes],
            span_start=starts[up_order],
            span_end=ends[up_order],
            down_order=up[down],
            up_to_down=place[up_order],
            down_parent_index=place[parents[down[len(trees) :]]],
            preorder_index=up,
            level_offset=np.cumsum(level_sizes),
            depth_offset=np.cumsum(depth_sizes),
            counts=np.array([num_leaves, len(trees), len(level_sizes) - 1, len(depth_sizes) - 1]),
            targets=np.concatenate(targets, dtype=np.float64)[up_order] if targets else None,
        )

    @classmethod
    def from_flat(
        cls,
        trees: FlatTrees,
        word_index: IndexArray,
        leaf_kind: IndexArray,
        unknown_words: tuple[str, ...] = (),
        pieces: PieceLayout | None = None,
    ) -> TreeLayout:
        """Lay out binary trees that are flat arrays already; without labels, for prediction.

        Args:
            trees: The trees.
            word_index: The lexicon row of each word; ~k for unknown word k.
            leaf_kind: The `WordKind` of each word.
            unknown_words: Words without a lexicon row, for which the lexicon guesses vectors.
            pieces: What a transformer reads of the sentences.
        """
        num_leaves, num_nodes = len(word_index), len(trees.starts)
        up_order, down = stable_order(trees.heights), stable_order(trees.depths)
        up, place = _inverse(up_order), _inverse(down)
        # In pre-order, the left part comes right after its phrase, and the right part after the left part's nodes.
        left = up_order[num_leaves:] + 1
        level_sizes, depth_sizes = np.bincount(trees.heights), np.bincount(trees.depths)
        return cls(
            level_sizes=tuple(level_sizes.tolist()),
            depth_sizes=tuple(depth_sizes.tolist()),
            tree_sizes=tuple(trees.sizes.tolist()),
            is_binary=True,
            word_index=word_index,
            leaf_kind=leaf_kind,
            inner_word_index=np.zeros(0, dtype=np.int64),
            label_index=np.full(num_nodes, NO_INDEX),
            children_index=up[np.stack([left, trees.next_node[left]], 1).reshape(-1)],
            children_offset=np.arange(0, 2 * len(left) + 1, 2),
            root_index=up[trees.first_node[:-1]],
            span_start=trees.starts[up_order],
            span_end=trees.ends[up_order],
            down_order=up[down],
            up_to_down=place[up_order],
            # Both parts of each phrase, in the order of the phrases.
            down_parent_index=np.repeat(np.flatnonzero(~trees.is_leaf[down]), 2),
            preorder_index=up,
            level_offset=np.cumsum(level_sizes),
            depth_offset=np.cumsum(depth_sizes),
            counts=np.array([num_leaves, trees.num_trees, len(level_sizes) - 1, len(depth_sizes) - 1]),
            unknown_words=unknown_words,
            pieces=pieces,
        )

    @property
    def num_trees(self) -> int:
        return len(self.tree_sizes)

    @property
    def num_nodes(self) -> int:
        return len(self.label_index)

    @property
    def num_leaves(self) -> int:
        return len(self.word_index)

    def split(self, values: npt.NDArray[Number]) -> list[npt.NDArray[Number]]:
        """Split node values, `[nodes, ...]` in up order, into one array per tree in its own pre-order."""
        return (
            np.split(values[self.preorder_index], np.cumsum(self.tree_sizes)[:-1]) if self.tree_sizes else []
        )


def _leaf_kinds(trees: Sequence[Tree], num_leaves: int) -> IndexArray:
    if any(tree.has_inner_words for tree in trees):
        # No model of dependency trees has heads.
        return np.zeros(num_leaves, dtype=np.int64)
    return np.array(word_kinds(chain.from_iterable(tree.words for tree in trees)), dtype=np.int64)


def _own_words(trees: Sequence[Tree]) -> IndexArray:
    """The position in its sentence of each node's word."""
    dependencies = [tree for tree in trees if isinstance(tree, DependencyTree)]
    if len(dependencies) < len(trees):
        raise TreeError("a batch holds dependency trees or constituency trees, not both")
    return _concatenate([tree.word_of for tree in dependencies])


def _concatenate(arrays: Sequence[npt.NDArray[np.integer]]) -> IndexArray:
    return np.concatenate(arrays).astype(np.int64, copy=False) if arrays else np.zeros(0, dtype=np.int64)


def _inverse(permutation: IndexArray) -> IndexArray:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse
