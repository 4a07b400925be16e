"""Trees as users have them in, binary trees with the numbers of their words and labels out, ready to be batched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lexitree.batch import NO_INDEX, TreeBatch
from lexitree.corpora.corpus import label_index
from lexitree.lexicon.table import Lexicon
from lexitree.trees.binarize import BinarizedTree, Direction, to_binary
from lexitree.trees.tree import Tree

IndexArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Example:
    """One tree, prepared once and batched many times."""

    binary: BinarizedTree
    word_index: IndexArray
    """The lexicon's number of each word."""
    label_index: IndexArray
    """The number of each label, by node of the binary tree; -1 for none."""
    source_label_index: IndexArray
    """The same by node of the tree as the user has it."""

    @property
    def tree(self) -> Tree:
        """The tree as the user has it."""
        return self.binary.source

    @property
    def num_nodes(self) -> int:
        return self.binary.tree.num_nodes


def make_example(
    tree: Tree, lexicon: Lexicon, *, labels: tuple[str, ...] | None, direction: Direction
) -> Example:
    """Binarize and number one tree; with `labels=None` the labels it carries are of no concern."""
    binary = to_binary(tree, direction)
    if labels is None:
        numbers = np.full(binary.tree.num_nodes, NO_INDEX)
        source_numbers = np.full(tree.num_nodes, NO_INDEX)
    else:
        numbers = label_index(binary.tree, labels)
        source_numbers = numbers if binary.tree is tree else label_index(tree, labels)
    return Example(binary, lexicon.index(binary.tree.words), numbers, source_numbers)


def make_examples(
    trees: Iterable[Tree], lexicon: Lexicon, *, labels: tuple[str, ...] | None, direction: Direction
) -> list[Example]:
    """Binarize and number trees."""
    return [make_example(tree, lexicon, labels=labels, direction=direction) for tree in trees]


def batch_examples(examples: Sequence[Example]) -> TreeBatch:
    """Lay examples out side by side."""
    return TreeBatch.from_trees(
        [example.binary.tree for example in examples],
        word_index=[example.word_index for example in examples],
        label_index=[example.label_index for example in examples],
    )


def source_nodes(examples: Sequence[Example]) -> IndexArray:
    """For every node of the users' trees, one after the other, its place among all binary nodes in pre-order."""
    sizes = np.array([example.num_nodes for example in examples], dtype=np.int64)
    shifts = np.cumsum(sizes) - sizes
    parts = [example.binary.node_of + shift for example, shift in zip(examples, shifts.tolist(), strict=True)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
