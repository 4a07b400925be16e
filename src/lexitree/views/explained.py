"""A labelled tree with its probabilities and heads in, what a view shows of each phrase out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lexitree.arrays import NO_INDEX
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.visible import visible

SHOWN_NO_LABEL = "no label"
MOST_WEIGHED_WORDS = 500
"""The longest phrase of which the weights of all words are shown."""


@dataclass(frozen=True)
class ExplainedTree:
    """A sentence as a model reads it, with what it says of each phrase; nodes are numbered in pre-order."""

    tree: Tree
    """The labels of its nodes are those that the model gave."""
    words: Sequence[str]
    """The words as a reader knows them."""
    label_set: Sequence[str]
    """The labels in the order of the columns of `probabilities`."""
    probabilities: Sequence[Sequence[float]]
    """By node and label; one row only where the sentence alone was asked for."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The labels as people read them, where that differs."""
    head_index: Sequence[int] | None = None
    """The head word of each node, or None for a model without heads."""
    head_weight: Sequence[float] | None = None
    """The head word's share of each node's head vector, from 0 to 1."""
    head_weights: Callable[[int], Sequence[float] | None] | None = None
    """Gives the shares of all words of a node; asked only where they are shown."""

    @property
    def num_nodes(self) -> int:
        return self.tree.num_nodes

    @cached_property
    def shown_words(self) -> tuple[str, ...]:
        """The words with everything spelled out that a page must not act upon."""
        return tuple(map(visible, self.words))

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        return self.tree.spans

    @cached_property
    def depths(self) -> list[int]:
        return self.tree.depths.tolist()

    @cached_property
    def word_nodes(self) -> list[int]:
        """The node of each word, in the order of the sentence."""
        if isinstance(self.tree, DependencyTree):
            return np.argsort(self.tree.word_of).tolist()
        return self.tree.leaves.tolist()

    def is_word(self, node: int) -> bool:
        return not self.tree.arity[node]

    def label(self, node: int) -> str:
        return self.tree.labels[node]

    def name(self, node: int) -> str:
        """The label of a phrase as people read it."""
        return self.label_name(self.label(node))

    def label_name(self, label: str) -> str:
        return visible(self.names.get(label, label)) if label != NO_LABEL else SHOWN_NO_LABEL

    def probability(self, node: int) -> float | None:
        """The probability of the phrase's label; None where it was not asked for."""
        return max(self.probabilities[node]) if node < len(self.probabilities) else None

    def text(self, node: int, most_words: int = 40) -> str:
        """The words of a phrase; of a long one the first and the last."""
        start, end = self.spans[node]
        return shorten(self.shown_words[start:end], most_words)

    def head(self, node: int) -> str | None:
        """The head word of a phrase; None for a word and for a model without heads."""
        if self.head_index is None or self.is_word(node):
            return None
        return self.shown_words[self.head_index[node]]

    def weight(self, node: int) -> float | None:
        """The head word's share of the phrase's head vector."""
        return None if self.head_weight is None or self.is_word(node) else self.head_weight[node]

    def word_weights(self, node: int) -> Mapping[int, float]:
        """The shares of a phrase's words, by place in the sentence; that of the head only, where no more is known.

        Of a very long phrase, too: asking for all phrases of a long sentence takes as long as they are together.
        """
        if self.head_index is None or self.head_weight is None or self.is_word(node):
            return {}
        start, end = self.spans[node]
        ask = self.head_weights if end - start <= MOST_WEIGHED_WORDS else None
        weights = ask(node) if ask is not None else None
        if weights is None:
            return {self.head_index[node]: self.head_weight[node]}
        return dict(enumerate(weights, start))

    def steps(self) -> list[int]:
        """The phrases in the order in which they come about: parts before the whole, from left to right."""
        phrases = [node for node in range(self.num_nodes) if not self.is_word(node)]
        return sorted(
            phrases, key=lambda node: (self.spans[node][1], -self.spans[node][0], -self.depths[node])
        )

    def is_turning_point(self, node: int) -> bool:
        """Whether a phrase has a label that none of its parts has: here the meaning changes."""
        parts = {self.label(part) for part in self.tree.children[node]}
        return bool(parts) and NO_LABEL not in parts and self.label(node) not in parts

    def leads_to_head(self, node: int) -> bool:
        """Whether the head of the whole sentence comes from here, all the way up."""
        return self._on_head_path[node]

    @cached_property
    def _on_head_path(self) -> list[bool]:
        if self.head_index is None:
            return [False] * self.num_nodes
        on_path: list[bool] = []
        # Parents come first, so one pass is enough.
        parents: list[int] = self.tree.parents.tolist()
        for head, parent in zip(self.head_index, parents, strict=True):
            on_path.append(head == self.head_index[0] and (parent == NO_INDEX or on_path[parent]))
        return on_path


def shorten(words: Sequence[str], most_words: int) -> str:
    """`the best … of the year`: the first and the last words of a long phrase."""
    if len(words) <= most_words:
        return " ".join(words)
    num_last = most_words // 2
    return " ".join([*words[: most_words - num_last], "…", *words[len(words) - num_last :]])
