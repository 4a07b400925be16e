"""Trees as users have them in, binary trees with the numbers of their words and labels out, ready to be batched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lexitree.batch import NO_INDEX, TreeBatch
from lexitree.corpora.corpus import Supervision, label_index
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

    @property
    def height(self) -> int:
        """How many levels the model has to walk."""
        return int(self.binary.tree.heights[0])


def make_example(
    tree: Tree,
    lexicon: Lexicon,
    *,
    labels: tuple[str, ...] | None,
    direction: Direction,
    supervision: Supervision = "all",
) -> Example:
    """Binarize and number one tree; with `labels=None` the labels it carries are of no concern."""
    binary = to_binary(tree, direction)
    numbers, source_numbers = _number_labels(binary, labels, supervision)
    return Example(binary, lexicon.index(tree.words), numbers, source_numbers)


def _number_labels(
    binary: BinarizedTree, labels: tuple[str, ...] | None, supervision: Supervision
) -> tuple[IndexArray, IndexArray]:
    """The labels' numbers by node of the binary tree and by node of its source."""
    tree, source = binary.tree, binary.source
    numbers = np.full(tree.num_nodes, NO_INDEX)
    if labels is None:
        return numbers, np.full(source.num_nodes, NO_INDEX)
    source_numbers = label_index(source, labels, supervision)
    if supervision == "all":
        return (source_numbers if tree is source else label_index(tree, labels)), source_numbers
    numbers[0] = source_numbers[0]
    return numbers, source_numbers


def make_examples(
    trees: Iterable[Tree],
    lexicon: Lexicon,
    *,
    labels: tuple[str, ...] | None,
    direction: Direction,
    supervision: Supervision = "all",
) -> list[Example]:
    """Binarize and number trees."""
    return [
        make_example(tree, lexicon, labels=labels, direction=direction, supervision=supervision)
        for tree in trees
    ]


def batch_examples(examples: Sequence[Example]) -> TreeBatch:
    """Lay examples out side by side."""
    return TreeBatch.from_trees(
        [example.binary.tree for example in examples],
        word_index=[example.word_index for example in examples],
        label_index=[example.label_index for example in examples],
    )
