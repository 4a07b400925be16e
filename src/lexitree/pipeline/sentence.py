"""The tokens, the parse and the prediction of a sentence in, something to ask about any of its phrases out.

A sentence and its phrases are views of the same few arrays: a phrase is made when it is asked for. Labels are those
that people read (`very positive`), where the model has names for its labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lexitree.pipeline.predictor import Prediction
from lexitree.text.tokens import Token
from lexitree.trees.tree import Tree

if TYPE_CHECKING:
    from lexitree.views.explained import ExplainedTree
    from lexitree.views.page import Explanation


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of a sentence, from a single word to the whole."""

    sentence: Sentence
    node: int
    """Its number in pre-order; the whole sentence is 0."""

    @property
    def label(self) -> str:
        """The likeliest label."""
        return self.sentence.label_names[self._likeliest]

    @property
    def probability(self) -> float:
        """The probability of that label."""
        return float(self._row[self._likeliest])

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label."""
        return dict(zip(self.sentence.label_names, self._row.tolist(), strict=True))

    @property
    def head(self) -> Token | None:
        """The word that stands for the phrase; None for a model without heads."""
        heads = self.sentence.prediction.head_index
        return None if heads is None else self.sentence.tokens[int(heads[self.node])]

    @property
    def head_weight(self) -> float | None:
        """The head word's share of the phrase's head vector, from 0 to 1."""
        weights = self.sentence.prediction.head_weight
        return None if weights is None else float(weights[self.node])

    @property
    def head_weights(self) -> tuple[float, ...] | None:
        """The share of each token in the phrase's head vector; they add up to 1. None for a model without heads.

        They are computed when they are asked for; a document that was pickled has left behind what can do that.
        """
        return self.sentence.prediction.head_weights(self.node)

    @property
    def tokens(self) -> tuple[Token, ...]:
        first, last = self.span
        return self.sentence.tokens[first:last]

    @property
    def span(self) -> tuple[int, int]:
        """The number of its first token in the sentence, and of the one after its last."""
        tree = self.sentence.prediction.source
        return int(tree.starts[self.node]), int(tree.ends[self.node])

    @property
    def start(self) -> int:
        """The place of its first character in the document."""
        return self.sentence.tokens[self.span[0]].start

    @property
    def end(self) -> int:
        """The place after its last character."""
        return self.sentence.tokens[self.span[1] - 1].end

    @property
    def text(self) -> str:
        """The phrase exactly as it stands in the document."""
        return self.sentence.document_text[self.start : self.end]

    @property
    def is_word(self) -> bool:
        return not self.sentence.prediction.source.arity[self.node]

    @property
    def depth(self) -> int:
        """Steps up to the whole sentence, which is at 0."""
        return int(self.sentence.prediction.source.depths[self.node])

    @property
    def children(self) -> tuple[Phrase, ...]:
        """Its parts from left to right; none for a word."""
        parts = self.sentence.prediction.source.children[self.node]
        return tuple(Phrase(self.sentence, part) for part in parts)

    @property
    def _row(self) -> npt.NDArray[np.float32]:
        return self.sentence.prediction.probabilities[self.node]

    @property
    def _likeliest(self) -> int:
        return int(self._row.argmax())

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Phrase({self.text!r}, {self.label!r} {self.probability:.2f})"


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence of a document: its tokens, its parse, and what the model says of its phrases."""

    document_text: str
    tokens: tuple[Token, ...]
    tree: Tree
    """The parse as the parser gave it, with Penn labels."""
    prediction: Prediction
    """What the model says of the binary tree made of the parse, by node."""

    @property
    def start(self) -> int:
        """The place of its first character in the document."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The place after its last character."""
        return self.tokens[-1].end

    @property
    def text(self) -> str:
        """The sentence exactly as it stands in the document."""
        return self.document_text[self.start : self.end]

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        """The labels as people read them, in the order of the model's."""
        return shown_labels(self.prediction.label_set, self.prediction.label_names)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """All phrases, single words included, in pre-order: the whole sentence first, a phrase before its parts."""
        return tuple(Phrase(self, node) for node in range(self.prediction.source.num_nodes))

    @property
    def whole(self) -> Phrase:
        """The phrase that is the sentence."""
        return Phrase(self, 0)

    @property
    def label(self) -> str:
        return self.whole.label

    @property
    def probability(self) -> float:
        return self.whole.probability

    @property
    def probabilities(self) -> dict[str, float]:
        return self.whole.probabilities

    def explained(self) -> ExplainedTree:
        """What the views of HTML show of it, among others or alone."""
        return self.prediction.explained([token.text for token in self.tokens])

    def explanation(self) -> Explanation:
        """What the views of HTML show when it stands alone."""
        from lexitree.views.page import explain_trees

        return explain_trees([self.explained()], self.text)

    def _repr_html_(self) -> str:
        from lexitree.views.page import notebook_view

        return notebook_view(self.explanation())

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Sentence({self.text!r}, {self.label!r} {self.probability:.2f})"


def shown_labels(labels: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The labels as people read them; as they are where two would read the same."""
    shown = tuple(names.get(label, label) for label in labels)
    return shown if len(set(shown)) == len(shown) else tuple(labels)
