"""Prepare trees for a model: binarize them, and number their words and labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from lexitree.arrays import NO_INDEX, FloatArray, IndexArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.corpora.corpus import Supervision, label_index
from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import PieceLayout, SplitSentence
from lexitree.lexicon.vocabulary import UNK, UNK_INDEX
from lexitree.trees.binarize import BinarizedTree, Direction, to_binary, unchanged
from lexitree.trees.tree import Tree

TreeKind = Literal["constituency", "dependency"]
"""What a model reads: constituency trees, with words at the leaves, or dependency trees, with words at all nodes."""


class WordIndex(Protocol):
    """What is asked of a lexicon to prepare trees; `lexitree.models.word_table.Lexicon` is one."""

    def index(self, words: Sequence[str]) -> IndexArray:
        """The row of each word of a sentence."""
        ...

    def split(self, words: Sequence[str]) -> SplitSentence | None:
        """The pieces of a sentence, for a transformer; None for other lexicons."""
        ...


@dataclass(frozen=True, slots=True)
class Example:
    """One tree, prepared once and batched many times."""

    binary: BinarizedTree
    """The tree as the model reads it: binary or, for a model of dependency trees, as it is."""
    word_index: IndexArray
    """The lexicon row of each word."""
    label_index: IndexArray
    """The label of each node of the tree that the model reads; -1 for none."""
    source_label_index: IndexArray
    """The label of each node of the user's tree."""
    pieces: SplitSentence | None = None
    """The words as a transformer reads them, if the model has one."""
    targets: FloatArray | None = None
    """[nodes, scores]: the label probabilities to learn, if any, by node of the tree that the model reads."""

    @property
    def tree(self) -> Tree:
        """The user's tree."""
        return self.binary.source

    @property
    def num_nodes(self) -> int:
        return self.binary.tree.num_nodes

    @property
    def height(self) -> int:
        """The number of levels above the leaves."""
        return int(self.binary.tree.heights[0])


def make_example(
    tree: Tree,
    lexicon: WordIndex,
    *,
    labels: tuple[str, ...] | None,
    direction: Direction,
    supervision: Supervision = "all",
    kind: TreeKind = "constituency",
) -> Example:
    """Prepare one tree.

    Args:
        tree: The user's tree.
        lexicon: Numbers the words.
        labels: The labels in the order of their numbers; None ignores the tree's labels.
        direction: How wide phrases are binarized.
        supervision: Whether all nodes have labels, or only the root.
        kind: What the model reads; dependency trees are not binarized.

    Raises:
        ConfigError: If the tree is of the other kind.
        LabelError: If the tree has an unknown label.
    """
    binary = as_read(tree, direction, supervision, kind)
    numbers, source_numbers = _number_labels(binary, labels, supervision)
    return Example(binary, lexicon.index(tree.words), numbers, source_numbers, lexicon.split(tree.words))


def as_read(tree: Tree, direction: Direction, supervision: Supervision, kind: TreeKind) -> BinarizedTree:
    """The tree as a model reads it: binarized, or unchanged if it is a dependency tree."""
    check_tree_kind(tree, kind)
    if kind == "dependency":
        return unchanged(tree)
    return to_binary(tree, direction, has_sentence_label=supervision == "root")


def check_tree_kind(tree: Tree, kind: TreeKind) -> None:
    """Refuse a tree that the model cannot read.

    Raises:
        ConfigError: If it is of the other kind; the remedy says what to use instead.
    """
    if tree.has_inner_words and kind == "constituency":
        raise ConfigError(
            "this model reads constituency trees, and these are dependency trees",
            remedy="Choose the model deptree, or a corpus of constituency trees such as sst-fine.",
        )
    if not tree.has_inner_words and kind == "dependency":
        raise ConfigError(
            "this model reads dependency trees, and these are constituency trees",
            remedy="Give it dependency trees (sst-dependencies, .toks with .dparents, or .jsonl with parents), "
            "or choose another model.",
        )


def _number_labels(
    binary: BinarizedTree, labels: tuple[str, ...] | None, supervision: Supervision
) -> tuple[IndexArray, IndexArray]:
    """The label numbers by node of the binary tree and by node of the user's tree."""
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
    lexicon: WordIndex,
    *,
    labels: tuple[str, ...] | None,
    direction: Direction,
    supervision: Supervision = "all",
    kind: TreeKind = "constituency",
) -> list[Example]:
    """Prepare several trees; see `make_example`."""
    return [
        make_example(tree, lexicon, labels=labels, direction=direction, supervision=supervision, kind=kind)
        for tree in trees
    ]


def example_to_label(binary: BinarizedTree, lexicon: WordIndex) -> Example:
    """Prepare a tree that is already as the model reads it, for prediction."""
    numbers, source_numbers = _number_labels(binary, None, "all")
    words = binary.tree.words
    return Example(binary, lexicon.index(words), numbers, source_numbers, lexicon.split(words))


def lay_out_examples(examples: Sequence[Example]) -> TreeLayout:
    """Lay examples out for training; either all of them have targets, or none."""
    return _lay_out(
        examples,
        [example.word_index for example in examples],
        label_index=[example.label_index for example in examples],
        targets=_targets(examples),
    )


def _targets(examples: Sequence[Example]) -> list[FloatArray] | None:
    targets = [example.targets for example in examples if example.targets is not None]
    assert len(targets) in (0, len(examples)), "trees with targets are batched among themselves"
    return targets or None


def lay_out_to_label(
    examples: Sequence[Example], *, guesses: bool = False, roots_only: bool = False
) -> TreeLayout:
    """Lay examples out for prediction.

    Args:
        examples: The prepared trees; their labels are ignored.
        guesses: Whether the lexicon guesses vectors for unknown words; the layout then lists these words.
        roots_only: Whether only the labels of the roots will be asked for.
    """
    word_index = [example.word_index for example in examples]
    guess_of: dict[str, int] = {}
    if guesses:
        word_index = [
            _number_guesses(example.binary.tree.words, example.word_index, guess_of) for example in examples
        ]
    layout = _lay_out(examples, word_index, roots_only=roots_only)
    return dataclasses.replace(layout, unknown_words=tuple(guess_of)) if guess_of else layout


def _lay_out(
    examples: Sequence[Example],
    word_index: Sequence[IndexArray],
    label_index: Sequence[IndexArray] | None = None,
    targets: Sequence[FloatArray] | None = None,
    *,
    roots_only: bool = False,
) -> TreeLayout:
    trees = [example.binary.tree for example in examples]
    sentences = [example.pieces for example in examples if example.pieces is not None]
    if not sentences:
        return TreeLayout.from_trees(trees, word_index, label_index, targets)
    layout = TreeLayout.from_trees(trees, label_index=label_index, targets=targets)
    wanted = None
    if roots_only:
        wanted = [np.arange(tree.num_nodes) == 0 for tree in trees]
    elif label_index is not None and targets is None:
        wanted = [numbers != NO_INDEX for numbers in label_index]
    return dataclasses.replace(layout, pieces=PieceLayout.from_trees(trees, sentences, word_index, wanted))


def _number_guesses(words: Sequence[str], word_index: IndexArray, guess_of: dict[str, int]) -> IndexArray:
    """The rows of a sentence's words, with ~k for unknown word k of the batch; adds new words to `guess_of`."""
    unknown = [place for place in np.flatnonzero(word_index == UNK_INDEX).tolist() if words[place] != UNK]
    if not unknown:
        return word_index
    numbers = word_index.copy()
    numbers[unknown] = [~guess_of.setdefault(words[place], len(guess_of)) for place in unknown]
    return numbers
