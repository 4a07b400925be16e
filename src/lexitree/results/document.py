"""A labelled text, to be asked about as a whole or sentence by sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lexitree.arrays import DoubleArray, FloatArray, IndexArray, rounded_number
from lexitree.errors import import_extra
from lexitree.files import escape_line_ends, to_json
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.results.json_writing import write_sentence
from lexitree.results.labelled_tree import short_text
from lexitree.results.sentence import Phrase, Sentence
from lexitree.results.span_answer import SpanAnswer, ask_about
from lexitree.text.tokens import Token
from lexitree.views.svg import draw_svg

if TYPE_CHECKING:
    import pandas

ROW_COLUMNS = (
    "sentence",
    "phrase",
    "depth",
    "start",
    "end",
    "text",
    "label",
    "probability",
    "score",
    "head",
    "head_weight",
)
"""What is said of a phrase in a row of a table."""


_LEAST_WEIGHT = 1e-9
"""Of a sentence that takes no side, so that a text of such sentences has a mean."""


def sentence_weights(
    table: DoubleArray, lengths: Sequence[int] | IndexArray, label_set: LabelSet
) -> DoubleArray:
    """How much sentences count in the probabilities of their text.

    Of labels on a scale, a sentence weighs as much as it takes a side: the probability of all labels but the one in
    the middle. Facts between praise and blame do not water them down. Of labels without an order, a sentence weighs
    as many words as it has.

    Args:
        table: [sentences, labels]: the probabilities of each sentence.
        lengths: Their numbers of words.
        label_set: The labels.
    """
    if label_set.scores is None:
        return np.array(lengths, dtype=float)
    return table[:, np.array(label_set.scores) != 0].sum(axis=1) + _LEAST_WEIGHT


def mean_probabilities(
    rows: Sequence[FloatArray | DoubleArray], lengths: Sequence[int], label_set: LabelSet
) -> DoubleArray:
    """The label probabilities of a text: the mean over its sentences by `sentence_weights`."""
    table = np.stack(rows).astype(float)
    weights = sentence_weights(table, lengths, label_set)
    return weights @ table / weights.sum()


@dataclass(frozen=True, eq=False)
class Document:
    """A text and its labelled sentences; none for a text without words."""

    text: str
    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...] = ()
    """What was cut to keep the text within limits (`Limits(beyond="cut")`), and why the labels may mean nothing: the
    model does not know most of the words, or the text is in another language."""

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label for the whole text: a mean over its sentences (`sentence_weights`).

        A text of one sentence has that sentence's probabilities; an empty text has none.
        """
        if not self.sentences:
            return {}
        if len(self.sentences) == 1:
            return self.sentences[0].probabilities
        means = mean_probabilities(
            [sentence.node_probabilities[0] for sentence in self.sentences],
            [len(sentence.tokens) for sentence in self.sentences],
            self.sentences[0].label_set,
        )
        return dict(zip(self.sentences[0].label_set.names, means.tolist(), strict=True))

    @property
    def label(self) -> str | None:
        """The likeliest label of the whole text; None for an empty text."""
        return max(self.probabilities, key=self.probabilities.__getitem__, default=None)

    @property
    def probability(self) -> float | None:
        """The probability of that label; None for an empty text."""
        return max(self.probabilities.values(), default=None)

    @property
    def score(self) -> float | None:
        """Where the text stands on the scale of its labels, from -1 to 1: the mean of the labels, by probability.

        None for an empty text, and for labels without an order.
        """
        if len(self.sentences) == 1:
            return self.sentences[0].score
        return self.sentences[0].label_set.mean_score(self.probabilities.values()) if self.sentences else None

    @property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(token for sentence in self.sentences for token in sentence.tokens)

    @property
    def phrases(self) -> Iterator[Phrase]:
        """The phrases of all sentences, one sentence after the other."""
        return (phrase for sentence in self.sentences for phrase in sentence.phrases)

    def find(
        self,
        label: str | Collection[str] | None = None,
        *,
        minimal: bool = True,
        min_probability: float = 0.0,
    ) -> list[Phrase]:
        """Find phrases of all sentences by their labels; see `Sentence.find`.

        document.find("negative")                          # the smallest negative phrases
        document.find(["negative", "very negative"])       # of either label
        document.find("negative", min_probability=0.9)     # only those the model is sure of
        """
        return [
            phrase
            for sentence in self.sentences
            for phrase in sentence.find(label, minimal=minimal, min_probability=min_probability)
        ]

    def about(self, start: int, end: int) -> SpanAnswer:
        """What the text says about a part of it, such as something that is reviewed.

            document = pipe("The food was great, but the service was slow.")
            document.about(4, 8).label                         # food: positive
            document.about(28, 35).score                       # service: below 0

        The phrases around the span decide, from the smallest outwards, as far as its clause goes or to a word such as
        `but`; see `lexitree.results.span_answer`.

        Args:
            start: The position of its first character.
            end: The position after its last one.

        Returns:
            The label, its probabilities, the score, and the phrases that they come from.

        Raises:
            ConfigError: There is no word at this place.
        """
        return ask_about(self.text, self.sentences, start, end)

    def as_dict(self, *, head_weights: bool = False) -> dict[str, Any]:
        """The document as plain values for JSON; `docs/guide/text.md` describes every key.

        Args:
            head_weights: Whether to give the weights of all words of each phrase, and not the head's only.
        """
        return {
            **self.summary(),
            "sentences": [sentence.as_dict(head_weights=head_weights) for sentence in self.sentences],
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def summary(self) -> dict[str, Any]:
        """What is said of the text as a whole, as plain values for JSON."""
        return {
            "text": self.text,
            "label": self.label,
            "probability": rounded_number(self.probability),
            "probabilities": {name: rounded_number(share) for name, share in self.probabilities.items()},
            "score": rounded_number(self.score),
        }

    def to_json(self, *, indent: int | None = None, head_weights: bool = False) -> str:
        """The document as JSON, on one line unless `indent` is given."""
        if indent is None and not head_weights:
            # The same, in a third of the time.
            sentences = ", ".join(map(write_sentence, self.sentences))
            notes = f', "notes": {to_json(list(self.notes))}' if self.notes else ""
            return escape_line_ends(f'{to_json(self.summary())[:-1]}, "sentences": [{sentences}]{notes}}}')
        return to_json(self.as_dict(head_weights=head_weights), indent=indent)

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per phrase, for tables and data frames; all rows have the keys `ROW_COLUMNS`."""
        return [
            {
                "sentence": number,
                "phrase": node,
                "depth": int(sentence.source.depths[node]),
                **{name: phrase.get(name) for name in ROW_COLUMNS[3:]},
            }
            for number, sentence in enumerate(self.sentences)
            for node, phrase in enumerate(sentence.as_dict().get("phrases", ()))
        ]

    def to_dataframe(self) -> pandas.DataFrame:
        """One row per phrase, as a pandas data frame; see `rows` and, for many documents, `lexitree.to_dataframe`.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return make_dataframe(self.rows(), ROW_COLUMNS)

    def brackets(self) -> list[str]:
        """Each sentence as a tree in brackets, with the ids of its labels."""
        return [sentence.brackets() for sentence in self.sentences]

    def draw(self) -> Iterator[str]:
        """The trees of all sentences as lines of text, with labels, probabilities and head words, after any notes."""
        for note in self.notes:
            yield f"note: {note}"
        for sentence in self.sentences:
            yield from sentence.draw()
            yield ""

    def search(self, pattern: str) -> list[Phrase]:
        """The phrases that match a pattern, such as `negative & !<< negative`; see `lexitree.search`."""
        from lexitree.results.searching import search

        return [Phrase(self.sentences[found.sentence_number], found.node) for found in search(pattern, self)]

    def svg(self) -> str:
        """The trees of all sentences as one SVG picture."""
        return draw_svg(self.sentences)

    def explanation(self, *, model: str | None = None) -> dict[str, Any]:
        """Why the text has its label, as plain values for JSON: what `html` and the server's page show.

        `docs/guide/explanation.md` describes every key.

        Args:
            model: The name of the model, to be shown with it.
        """
        from lexitree.views.explanation import explain_trees

        return explain_trees(
            self.sentences,
            text=self.text,
            probabilities=self.probabilities,
            model=model,
            notes=self.notes,
        )

    def html(self) -> str:
        """A page that needs nothing else and shows why the text has its label."""
        from lexitree.views.page import explanation_page

        return explanation_page(
            self.sentences, text=self.text, probabilities=self.probabilities, notes=self.notes
        )

    def _repr_html_(self) -> str:
        from lexitree.views.page import notebook_view

        return notebook_view(self.sentences, text=self.text, probabilities=self.probabilities)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        num = len(self.sentences)
        sentences = f"{num} sentence{'' if num == 1 else 's'}"
        share = "" if self.probability is None else f", {self.label!r} {self.probability:.2f}"
        return f"Document({short_text(self.text)!r}, {sentences}{share})"


def make_dataframe(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    """A pandas data frame of rows, with all columns also if there are no rows.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    frames = import_extra("pandas", extra="pandas", purpose="to_dataframe")
    return frames.DataFrame(list(rows), columns=list(columns))


def to_dataframe(documents: Iterable[Document]) -> pandas.DataFrame:
    """The phrases of many documents as one pandas data frame.

        frame = lexitree.to_dataframe(pipe(reviews["comment"]))

    For polars, use the rows: `polars.DataFrame(document.rows())`.

    Args:
        documents: The documents.

    Returns:
        One row per phrase: the columns of `Document.rows`, after `document`, the number of the document from 0.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    rows = ({"document": number, **row} for number, each in enumerate(documents) for row in each.rows())
    return make_dataframe(rows, ("document", *ROW_COLUMNS))
