"""The labelled sentences of a text in, a document to ask about the whole or any part of it out.

Places (`start`, `end`) count characters of the document's text, so `document.text[phrase.start:phrase.end]` is always
`phrase.text`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lexitree.pipeline.sentence import Phrase, Sentence
from lexitree.text.tokens import Token

if TYPE_CHECKING:
    from lexitree.views.page import Explanation


@dataclass(frozen=True, eq=False)
class Document:
    """A text and its labelled sentences; none for a text without words."""

    text: str
    sentences: tuple[Sentence, ...]

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label for the whole text: the mean of its sentences', each counting its tokens.

        A text of one sentence has that sentence's probabilities; an empty text has none.
        """
        if not self.sentences:
            return {}
        rows = np.stack([sentence.prediction.probabilities[0] for sentence in self.sentences]).astype(float)
        lengths = np.array([len(sentence.tokens) for sentence in self.sentences], dtype=float)
        means: list[float] = (lengths @ rows / lengths.sum()).tolist()
        return dict(zip(self.sentences[0].label_names, means, strict=True))

    @property
    def label(self) -> str | None:
        """The likeliest label of the whole text; None for an empty text."""
        return max(self.probabilities, key=self.probabilities.__getitem__, default=None)

    @property
    def probability(self) -> float | None:
        """The probability of that label; None for an empty text."""
        return max(self.probabilities.values(), default=None)

    @property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(token for sentence in self.sentences for token in sentence.tokens)

    @property
    def phrases(self) -> Iterator[Phrase]:
        """The phrases of all sentences, one sentence after the other."""
        return (phrase for sentence in self.sentences for phrase in sentence.phrases)

    def as_dict(self, *, head_weights: bool = False) -> dict[str, Any]:
        """The document for JSON; `docs/guide/text.md` describes every key.

        With `head_weights`, each phrase has those of all its words; without, that of its head word only.
        """
        from lexitree.pipeline.records import document_record

        return document_record(self, head_weights=head_weights)

    def to_json(self, *, indent: int | None = None, head_weights: bool = False) -> str:
        """The document as JSON, on one line unless `indent` is given."""
        from lexitree.pipeline.records import to_json

        return to_json(self.as_dict(head_weights=head_weights), indent=indent)

    def rows(self) -> list[dict[str, Any]]:
        """One flat row a phrase, for tables and data frames."""
        from lexitree.pipeline.records import phrase_rows

        return phrase_rows(self)

    def brackets(self) -> list[str]:
        """Each sentence as a tree in brackets, with the model's own labels."""
        from lexitree.pipeline.records import written_tree

        return [written_tree(sentence.prediction.tree) for sentence in self.sentences]

    def draw(self) -> Iterator[str]:
        """The trees of all sentences as lines of text, with labels, probabilities and head words."""
        for sentence in self.sentences:
            yield from sentence.prediction.draw(sentence.prediction.label_names)
            yield ""

    def svg(self) -> str:
        """The trees of all sentences as one SVG picture."""
        from lexitree.views.svg import draw_svg

        if not self.sentences:
            return draw_svg([], ())
        first = self.sentences[0].prediction
        pictures = [sentence.prediction.picture() for sentence in self.sentences]
        return draw_svg(pictures, first.label_set, first.label_names)

    def html(self) -> str:
        """One page that needs nothing else: how the labels came about, phrase by phrase."""
        from lexitree.views.page import explanation_page

        return explanation_page(self.explanation())

    def explanation(self) -> Explanation:
        """What the views of HTML show."""
        from lexitree.views.page import explain_trees

        explanation = explain_trees([sentence.explained() for sentence in self.sentences], self.text)
        shares = dict(zip(explanation.label_set, self.probabilities.values(), strict=True))
        return replace(explanation, probabilities=shares)

    def _repr_html_(self) -> str:
        from lexitree.views.page import notebook_view

        return notebook_view(self.explanation())

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Document({len(self.sentences)} sentences, {self.label!r}: {self.text[:60]!r})"
