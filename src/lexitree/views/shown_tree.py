"""What drawings, pictures and pages read of a labelled tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lexitree.arrays import NO_INDEX, FloatArray, IndexArray
from lexitree.labels import LabelSet, order_labels
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.visible import shorten_text, visible

SHOWN_NO_LABEL = "no label"


class ShownTree(Protocol):
    """A tree with labels, probabilities and head words; `lexitree.results.LabelledTree` is one."""

    @property
    def source(self) -> Tree: ...
    @property
    def words(self) -> Sequence[str]: ...
    @property
    def label_set(self) -> LabelSet: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def node_probabilities(self) -> FloatArray: ...
    @property
    def head_index(self) -> IndexArray | None: ...
    @property
    def head_weight(self) -> FloatArray | None: ...


def own_label_set(labels: Iterable[str]) -> LabelSet:
    """The labels that stand in trees, for their colours."""
    found = order_labels(labels)
    if all(label.isdecimal() for label in found):
        # A tree has only some of the labels of its treebank: numbers are taken to be on a scale that reaches 4.
        found = order_labels((*found, "0", "4"))
    return LabelSet(found)


@dataclass(frozen=True, eq=False)
class PlainTree:
    """A tree that nobody has labelled, to be shown with the labels that it has, or with none."""

    source: Tree
    head_index: None = None
    head_weight: None = None

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(map(surface_form, self.source.words))

    @property
    def labels(self) -> tuple[str, ...]:
        return self.source.labels

    @property
    def label_set(self) -> LabelSet:
        return own_label_set(self.labels)

    @property
    def node_probabilities(self) -> FloatArray:
        return np.zeros((0, len(self.label_set)), dtype=np.float32)


def node_words(tree: ShownTree) -> list[str]:
    """The word that stands at each node; "" at a phrase, which has none of its own."""
    words = [""] * tree.source.num_nodes
    for node, word in zip(tree.source.leaves.tolist(), tree.words, strict=True):
        words[node] = word
    return words


def shows_labels(tree: ShownTree) -> bool:
    """Whether labels are all that there is to show: no model has said anything of the phrases."""
    return tree.head_index is None and not len(tree.node_probabilities)


def is_word(tree: ShownTree, node: int) -> bool:
    return not tree.source.arity[node]


def span_of(tree: ShownTree, node: int) -> tuple[int, int]:
    return int(tree.source.starts[node]), int(tree.source.ends[node])


def shown_label(label: str) -> str:
    """The name of a label as a page shows it."""
    return visible(label) if label != NO_LABEL else SHOWN_NO_LABEL


def probability_of(tree: ShownTree, node: int) -> float | None:
    """The probability of a node's label; None where it was not asked for."""
    return float(tree.node_probabilities[node].max()) if node < len(tree.node_probabilities) else None


def shown_words(tree: ShownTree, node: int, most_words: int) -> list[str]:
    """`the best … of the year`: the words of a phrase; of a long one, the first and the last."""
    start, end = span_of(tree, node)
    if end - start <= most_words:
        words = [*tree.words[start:end]]
    else:
        num_last = most_words // 2
        words = [*tree.words[start : start + most_words - num_last], "…", *tree.words[end - num_last : end]]
    return [shorten_text(word) for word in words]


def head_of(tree: ShownTree, node: int) -> str | None:
    """The head word of a phrase; None for a single word and for a model without heads."""
    if tree.head_index is None or is_word(tree, node):
        return None
    return shorten_text(tree.words[int(tree.head_index[node])])


def head_path(tree: ShownTree) -> list[bool]:
    """For each node, whether the head of the whole sentence comes from there, all the way up."""
    if tree.head_index is None:
        return [False] * tree.source.num_nodes
    heads: list[int] = tree.head_index.tolist()
    parents: list[int] = tree.source.parents.tolist()
    on_path: list[bool] = []
    # Parents come first, so one pass is enough.
    for head, parent in zip(heads, parents, strict=True):
        on_path.append(head == heads[0] and (parent == NO_INDEX or on_path[parent]))
    return on_path
