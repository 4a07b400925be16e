"""What a labelled text says about a part of it, such as a product or a person that it names.

The phrases around a span are asked from the smallest outwards, as far as its clause goes, or to where a word such as
`but` turns to something else. Each phrase decides as much of the answer as it leans to one side of the scale, out of
what the smaller ones have left open; the last one decides the rest. Where labels have no neutral middle, every phrase
leans, however little it says, so the last one decides alone.

The rule was chosen among others on restaurant reviews that praise one thing and blame another; see
paper/benchmarks/spans.py, which measures them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from lexitree.arrays import NO_INDEX, DoubleArray, rounded
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.results.sentence import Phrase, Sentence
from lexitree.views.evidence import CONTRAST_WORDS, NEGATIVE, NO_SIDE, POSITIVE, label_sides

CLAUSES = frozenset({"S", "SBAR", "SBARQ", "SINV", "SQ", "FRAG", "PRN", "RRC"})
"""Penn labels of clauses, and of what stands for one."""


@dataclass(frozen=True, slots=True)
class WeightedPhrase:
    """A phrase and its share in an answer."""

    phrase: Phrase
    weight: float


@dataclass(frozen=True, eq=False)
class SpanAnswer:
    """What a text says about a span of its characters."""

    text: str
    start: int
    end: int
    label_set: LabelSet
    phrases: tuple[WeightedPhrase, ...]
    """The phrases that it comes from, the smallest first; in a span over several sentences, one after the other."""

    @cached_property
    def _row(self) -> DoubleArray:
        rows = [each.phrase.sentence.node_probabilities[each.phrase.node] for each in self.phrases]
        return np.array([each.weight for each in self.phrases]) @ np.stack(rows).astype(float)

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label."""
        return dict(zip(self.label_set.names, self._row.tolist(), strict=True))

    @property
    def label(self) -> str:
        """The likeliest label."""
        return self.label_set.names[int(self._row.argmax())]

    @property
    def probability(self) -> float:
        """The probability of that label."""
        return float(self._row.max())

    @property
    def score(self) -> float | None:
        """Where it stands on the scale of the labels, from -1 to 1; None for labels without an order."""
        return self.label_set.mean_score(self._row.tolist())

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain values for JSON."""
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "label": self.label,
            "probability": rounded(self.probability),
            "score": rounded(self.score),
            "probabilities": dict(zip(self.label_set.names, rounded(self._row), strict=True)),
        }

    def __repr__(self) -> str:
        return f"SpanAnswer({self.text!r}, {self.label!r} {self.probability:.2f})"


def ask_about(text: str, sentences: Sequence[Sentence], start: int, end: int) -> SpanAnswer:
    """What a text says about a span of its characters; see `Document.about`."""
    found = [(sentence, words) for sentence in sentences if (words := _words_in(sentence, start, end))]
    if not found or not 0 <= start < end <= len(text):
        raise ConfigError(
            f"there is no word from character {start} to {end} of the text",
            remedy="Give the position of a first character and the one after the last, as phrases have them.",
        )
    num_words = sum(map(len, (words for _, words in found)))
    phrases = [
        WeightedPhrase(Phrase(sentence, node), weight * len(words) / num_words)
        for sentence, words in found
        for node, weight in _weigh_phrases(sentence, words)
    ]
    return SpanAnswer(text[start:end], start, end, found[0][0].label_set, tuple(phrases))


def _words_in(sentence: Sentence, start: int, end: int) -> range:
    """The words of a sentence that a span touches."""
    touched = [
        place for place, token in enumerate(sentence.tokens) if token.start < end and start < token.end
    ]
    return range(touched[0], touched[-1] + 1) if touched else range(0)


def _weigh_phrases(sentence: Sentence, words: range) -> Iterator[tuple[int, float]]:
    nodes = phrases_around(sentence, words)
    left = 1.0
    for node, leaning in zip(nodes[:-1], _leanings(sentence, nodes[:-1]), strict=True):
        yield node, left * leaning
        left *= 1 - leaning
    yield nodes[-1], left


def phrases_around(sentence: Sentence, words: range) -> list[int]:
    """The phrases that contain some words, from the smallest to the clause, or to where the text turns."""
    spans, parents = sentence.source.spans, cast(list[int], sentence.source.parents.tolist())
    clauses = _clause_spans(sentence)
    turns = [place for place, word in enumerate(sentence.words) if word.lower() in CONTRAST_WORDS]
    node = _smallest_around(sentence, words)
    found = [node]
    while spans[node] not in clauses and (node := parents[node]) != NO_INDEX:
        inside, around = spans[found[-1]], spans[node]
        if _holds(around, turns) and not _holds(inside, turns):
            break
        found.append(node)
    return found


def _smallest_around(sentence: Sentence, words: range) -> int:
    """In pre-order, the last of the phrases that contain the words is the smallest."""
    tree = sentence.source
    around = (tree.starts <= words.start) & (tree.ends >= words.stop)
    return int(np.flatnonzero(around)[-1])


def _clause_spans(sentence: Sentence) -> set[tuple[int, int]]:
    parse = sentence.parse
    return {
        span
        for span, label in zip(parse.spans, parse.labels, strict=True)
        if any(part.partition("-")[0] in CLAUSES for part in label.split("+"))
    }


def _holds(span: tuple[int, int], places: Sequence[int]) -> bool:
    return any(span[0] <= place < span[1] for place in places)


def _leanings(sentence: Sentence, nodes: Sequence[int]) -> list[float]:
    """How far each phrase leans to one side, from 0 to 1; 0 for labels without a neutral middle."""
    sides = np.array(label_sides(sentence.label_set))
    if sentence.label_set.polarity is None or NO_SIDE not in sides:
        return [0.0] * len(nodes)
    rows = sentence.node_probabilities[list(nodes)].astype(float)
    return np.abs(rows[:, sides == POSITIVE].sum(1) - rows[:, sides == NEGATIVE].sum(1)).tolist()
