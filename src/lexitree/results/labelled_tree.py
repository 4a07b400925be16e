"""A tree with a label, a probability and a head word on every phrase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from lexitree.arrays import DIGITS, FloatArray, IndexArray, rounded
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet, order_labels
from lexitree.lazy import cached_property
from lexitree.trees.brackets import surface_form, tree_to_brackets
from lexitree.trees.jsonl import tree_to_json
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.outline import draw_tree
from lexitree.views.svg import draw_svg
from lexitree.views.visible import shorten_text

MOST_DRAWN_WORDS = 200
"""Notebooks draw no picture of a longer sentence by themselves."""
_SHOWN_CHARACTERS = 60
"""How much of a text its `repr` shows."""


def short_text(text: str) -> str:
    """The beginning of a text, for a `repr`."""
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


class WordWeigher(Protocol):
    """Computes head weights of one tree when they are asked for; see `models.head_shares`."""

    def word_weights(self, node: int) -> tuple[float, ...]: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledTree:
    """A tree with labels, and with the probabilities and head words that a model gives its phrases.

    Arrays are by node of the tree as it was given, in pre-order: the whole sentence is node 0. Labels are the names
    that people read; `label_id` and `label_ids` are the labels as they stand in treebanks.
    """

    source: Tree
    """The tree as it was given."""
    label_set: LabelSet
    node_probabilities: FloatArray
    """[nodes, labels]; a single row where only the sentence was asked for, none in a tree with labels of its own."""
    head_index: IndexArray | None = None
    """[nodes]: the number of the word that is each phrase's head; None for a model without heads."""
    head_weight: FloatArray | None = None
    """[nodes]: the head word's share of the phrase's head vector, from 0 to 1."""
    weigher: WordWeigher | None = field(default=None, repr=False)
    """What computes the weights of all words; None in a result that came from another process."""

    @classmethod
    def from_tree(
        cls,
        tree: Tree,
        head_index: npt.ArrayLike | None = None,
        label_set: LabelSet | None = None,
    ) -> Self:
        """A tree that has its labels already, such as a parse, to be shown with its head words.

        Args:
            tree: The tree.
            head_index: The number of each node's head word.
            label_set: The labels, for their colours; by default those of the tree.
        """
        label_set = label_set or LabelSet(order_labels(tree.labels))
        return cls(
            source=tree,
            label_set=label_set,
            node_probabilities=np.zeros((0, len(label_set)), dtype=np.float32),
            head_index=None if head_index is None else np.asarray(head_index, dtype=np.int64),
        )

    @property
    def label(self) -> str:
        """The likeliest label of the sentence."""
        rows = self.node_probabilities
        # Not by way of `labels`, which would look up all nodes.
        return self.label_set.names[int(rows[0].argmax())] if len(rows) else self.labels[0]

    @property
    def label_id(self) -> str:
        """The id of that label, as it stands in treebanks."""
        return self.label_ids[0]

    @property
    def probability(self) -> float:
        """The probability of that label."""
        return float(self.node_probabilities[0].max())

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label for the sentence."""
        return dict(zip(self.label_set.names, self.node_probabilities[0].tolist(), strict=True))

    @property
    def score(self) -> float | None:
        """Where the sentence stands on the scale of its labels, from -1 to 1; see `Document.score`."""
        if not len(self.node_probabilities):
            return None
        # Not by way of `node_scores`, which would compute all nodes'.
        return self.label_set.mean_score(self.node_probabilities[0].tolist())

    @property
    def node_scores(self) -> tuple[float, ...]:
        """The score of every node that has probabilities; none for labels without an order."""
        return self._node_scores

    @cached_property
    def _node_scores(self) -> tuple[float, ...]:
        scores = self.label_set.scores
        if scores is None:
            return ()
        # As `LabelSet.mean_score` does it, for all nodes at once.
        return tuple((self.node_probabilities.astype(float).round(DIGITS) * scores).sum(1).tolist())

    @property
    def labels(self) -> tuple[str, ...]:
        """The likeliest label of every node; "" for nodes that were not asked for."""
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        names = dict(zip(self.label_set.ids, self.label_set.names, strict=True))
        return tuple(names.get(label, label) for label in self.label_ids)

    @cached_property
    def label_ids(self) -> tuple[str, ...]:
        """The ids of the labels of every node."""
        if not len(self.node_probabilities):
            return self.source.labels
        likeliest: list[int] = self.node_probabilities.argmax(1).tolist()
        found = [self.label_set.ids[index] for index in likeliest]
        return tuple(found + [NO_LABEL] * (self.source.num_nodes - len(found)))

    @cached_property
    def tree(self) -> Tree:
        """The tree with the ids of its labels, as treebanks have them."""
        return self.source.with_labels(self.label_ids)

    @property
    def words(self) -> tuple[str, ...]:
        """The words as people read them."""
        return self._words

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple(map(surface_form, self.source.words))

    @property
    def text(self) -> str:
        """The words with spaces between them."""
        return " ".join(self.words)

    def head(self, node: int = 0) -> str | None:
        """The head word of a phrase, one of `words`; None for a model without heads."""
        return None if self.head_index is None else self.words[int(self.head_index[node])]

    @property
    def can_weigh(self) -> bool:
        """Whether `head_weights` can be asked for."""
        return self.weigher is not None

    def head_weights(self, node: int = 0) -> tuple[float, ...] | None:
        """The share of each word of a phrase in its head vector; they add up to 1.

        They are computed when asked for, by the model as it is then.

        Args:
            node: The number of the phrase in pre-order.

        Returns:
            One number per word of the phrase; None for a model without heads.

        Raises:
            ConfigError: If the result came from another process, without its model.
        """
        if self.head_index is None:
            return None
        if self.weigher is None:
            raise ConfigError(
                "this result was sent from another process, without the model that computes head weights",
                remedy="Ask for them before it is sent, or label the tree again.",
            )
        return self.weigher.word_weights(node)

    def as_dict(self, *, head_weights: bool = False) -> dict[str, Any]:
        """The result as plain values for JSON, a tree that `tree_from_json` reads.

        Args:
            head_weights: Whether to give the weights of all words of each phrase: of a deep tree, quadratically many.
        """
        values = tree_to_json(self.source.with_labels(self.labels))
        scores = rounded(list(self.node_scores))
        phrases = cast(list[dict[str, Any]], values["phrases"])
        # There are fewer rows than phrases where only the sentence was asked for.
        for phrase, row in zip(phrases, rounded(self.node_probabilities), strict=False):
            phrase["probabilities"] = row
        for phrase, score in zip(phrases, scores, strict=False):
            phrase["score"] = score
        if self.head_index is not None and self.head_weight is not None:
            for node, (phrase, weight) in enumerate(zip(phrases, rounded(self.head_weight), strict=True)):
                head = int(self.head_index[node])
                phrase["head"] = shorten_text(self.words[head])
                phrase["head_index"] = head
                phrase["head_weight"] = weight
                if head_weights:
                    phrase["head_weights"] = rounded(self.head_weights(node))
        labels = self.label_set
        return {"label": self.label, "labels": list(labels.names), "label_ids": list(labels.ids), **values}

    def brackets(self) -> str:
        """The tree in brackets, with the ids of its labels, as treebanks have them."""
        return tree_to_brackets(self.tree)

    def draw(self) -> Iterator[str]:
        """The tree as lines of text, with labels, probabilities and head words."""
        return draw_tree(self)

    def svg(self) -> str:
        """The tree as an SVG picture: colours for labels, head words, probabilities on hovering."""
        return draw_svg([self])

    def html(self) -> str:
        """A page that needs nothing else and shows why the sentence has its label."""
        from lexitree.views.page import explanation_page

        return explanation_page([self])

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from lexitree.views.page import notebook_view

        return notebook_view([self])

    def _repr_svg_(self) -> str | None:
        """How a program that shows no HTML shows it; a long sentence is left to `repr`."""
        return self.svg() if self.source.num_words <= MOST_DRAWN_WORDS else None

    def _verdict(self) -> str:
        """`'positive' 0.98`, without a number for a tree that has its labels already."""
        probability = f" {self.probability:.2f}" if len(self.node_probabilities) else ""
        return f"{self.label!r}{probability}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({short_text(self.text)!r}, {self._verdict()})"
