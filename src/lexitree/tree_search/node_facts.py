"""What a pattern can ask about the nodes of one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexitree.arrays import BoolArray, FloatArray, NodeArray
from lexitree.lazy import cached_property
from lexitree.trees.brackets import surface_form
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree, refuse_inner_words


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelFacts:
    """What a model says of the nodes."""

    labels: Sequence[str]
    """The name of each node's label."""
    label_names: Sequence[str]
    probabilities: FloatArray
    """[nodes, labels]; fewer rows, or none, where nodes were not asked for."""
    head_index: NodeArray | None
    """The number of each node's head word; None for a model without heads."""


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """The nodes of one tree with their words and labels; what follows from these is computed when asked for.

    Args:
        tree: The tree.
        model: What a model says of its nodes, if there is one.
        categories: The label of each node as a treebank or a parser gives it, chains joined by `+`; by default the
            tree's own labels.
        placed_words: The text, and where each word starts and ends in it; by default, words are separated by spaces.

    Raises:
        TreeError: It is a dependency tree.
    """

    tree: Tree
    model: ModelFacts | None = None
    categories: Sequence[str] = ()
    placed_words: PlacedWords | None = None

    def __post_init__(self) -> None:
        refuse_inner_words(self.tree, "searched")
        if not self.categories:
            object.__setattr__(self, "categories", self.tree.labels)

    @cached_property
    def words(self) -> PlacedWords:
        """The words as people read them."""
        return self.placed_words or PlacedWords.separated(list(map(surface_form, self.tree.words)))

    @cached_property
    def head_index(self) -> NodeArray | None:
        """The number of each node's head word: the model's choice or, without a model, that of Collins' rules."""
        return head_words(self.tree) if self.model is None else self.model.head_index

    def probabilities(self, label: str | None = None) -> FloatArray:
        """The probability of each node's own label, or of one label; NaN where there is none.

        Raises:
            ValueError: There is no such label.
        """
        found = np.full(self.tree.num_nodes, np.nan, dtype=np.float32)
        if self.model is not None and len(self.model.probabilities):
            rows = self.model.probabilities
            column = rows.max(1) if label is None else rows[:, list(self.model.label_names).index(label)]
            found[: len(rows)] = column
        return found


@dataclass(frozen=True, eq=False)
class PlacedWords:
    """The words of a sentence and their places in its text, in lower case."""

    text: str
    starts: NodeArray
    ends: NodeArray

    @classmethod
    def separated(cls, words: Sequence[str]) -> PlacedWords:
        """Words with single spaces between them."""
        ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int32) - 1
        starts = ends - np.array([len(word) for word in words], dtype=np.int32)
        return cls(lower_case(" ".join(words)), starts, ends)

    @cached_property
    def words(self) -> list[str]:
        return [
            self.text[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        ]

    def phrases_with(self, wanted: str, tree: Tree) -> BoolArray:
        """Which phrases contain a text."""
        found = self._occurrences(wanted)
        # Of all occurrences that start inside of a phrase, the first ends first.
        first = np.append(found, len(self.text) + 1)[np.searchsorted(found, self.starts[tree.starts])]
        return first + len(wanted) <= self.ends[tree.ends - 1]

    def phrases_that_are(self, wanted: str, tree: Tree) -> BoolArray:
        """Which phrases are exactly a text."""
        is_start = np.zeros(len(self.text) + 1, dtype=np.bool_)
        is_start[self._occurrences(wanted)] = True
        starts, ends = self.starts[tree.starts], self.ends[tree.ends - 1]
        return is_start[starts] & (ends - starts == len(wanted))

    def _occurrences(self, wanted: str) -> NodeArray:
        """Where a text starts, overlapping occurrences included."""
        found: list[int] = []
        place = self.text.find(wanted)
        while place >= 0:
            found.append(place)
            place = self.text.find(wanted, place + 1)
        return np.array(found, dtype=np.int32)


def lower_case(text: str) -> str:
    """Lower case, character by character, so that places in the text stay the same."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)
