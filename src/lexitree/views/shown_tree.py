"""What drawings, pictures and pages read of a labelled tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lexitree.arrays import NO_INDEX, FloatArray, IndexArray
from lexitree.labels import LabelSet, order_labels
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.visible import shorten_text, visible

SHOWN_NO_LABEL = "no label"
MOST_WEIGHED_WORDS = 500
"""The longest phrase of which the weights of all words are shown."""


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
    @property
    def can_weigh(self) -> bool: ...
    def head_weights(self, node: int = 0) -> Sequence[float] | None: ...


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
    can_weigh: bool = False

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

    def head_weights(self, node: int = 0) -> None: ...


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


def phrase_text(tree: ShownTree, node: int, most_words: int = 40) -> str:
    """The words of a phrase; of a long one, the first and the last."""
    return visible(" ".join(shown_words(tree, node, most_words)))


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


def head_share(tree: ShownTree, node: int) -> float | None:
    """The head word's share of the phrase's head vector."""
    return None if tree.head_weight is None or is_word(tree, node) else float(tree.head_weight[node])


def word_weights(tree: ShownTree, node: int) -> Mapping[int, float]:
    """The shares of a phrase's words in its head vector, by position in the sentence.

    Of a very long phrase, and of a tree without its model, only the head word's share is given.
    """
    if tree.head_index is None or tree.head_weight is None or is_word(tree, node):
        return {}
    start, end = span_of(tree, node)
    weights = tree.head_weights(node) if tree.can_weigh and end - start <= MOST_WEIGHED_WORDS else None
    if weights is None:
        return {int(tree.head_index[node]): float(tree.head_weight[node])}
    return dict(enumerate(weights, start))


def composition_order(tree: ShownTree) -> list[int]:
    """The phrases in the order in which they are put together: parts before the whole, from left to right."""
    starts, ends, depths = (
        array.tolist() for array in (tree.source.starts, tree.source.ends, tree.source.depths)
    )
    phrases = [node for node, arity in enumerate(tree.source.arity.tolist()) if arity]
    return sorted(phrases, key=lambda node: (ends[node], -starts[node], -depths[node]))


def is_turning_point(tree: ShownTree, node: int) -> bool:
    """Whether a phrase has a label that none of its parts has: here the meaning changes."""
    parts = {tree.labels[part] for part in tree.source.children[node]}
    return bool(parts) and NO_LABEL not in parts and tree.labels[node] not in parts


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
