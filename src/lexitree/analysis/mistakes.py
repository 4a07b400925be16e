"""Where systems are right and wrong: by class, by kind of sentence, and sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lexitree.arrays import BoolArray
from lexitree.errors import ConfigError
from lexitree.evaluation.answers import SystemAnswers, check_comparable
from lexitree.views.visible import shown_word

NEGATIONS = frozenset({"not", "no", "n't", "none"})
"""The words that the paper counts as negation."""
LONG_SENTENCE = 30
"""A sentence of more words than this is long."""
NUM_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the sentences and how well each system does on it."""

    title: str
    num_sentences: int
    accuracies: dict[str, float | None]
    """The root accuracy of each system by its name; None where there is no such sentence."""
    deviations: dict[str, float | None] = field(default_factory=dict[str, float | None])
    """Its sample standard deviation over the seeds; 0 for one."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def accuracy_by_class(systems: Sequence[SystemAnswers]) -> list[Slice]:
    """Root accuracy on the sentences of each gold label."""
    check_comparable(systems)
    return [take_slice(title, systems, chosen) for title, chosen in class_masks(systems[0]).items()]


def accuracy_on_hard_sentences(systems: Sequence[SystemAnswers]) -> list[Slice]:
    """Root accuracy on sentences with and without a negation word, and on long and shorter ones."""
    check_comparable(systems)
    return [take_slice(title, systems, chosen) for title, chosen in kind_masks(systems[0]).items()]


def class_masks(system: SystemAnswers) -> dict[str, BoolArray]:
    """For each gold label, by its name, which sentences have it."""
    return {name: system.gold == number for number, name in enumerate(system.label_set.names)}


def kind_masks(system: SystemAnswers) -> dict[str, BoolArray]:
    """Which sentences have a negation word and which are long, and the rest of each."""
    negated, long = has_negation(system), system.lengths > LONG_SENTENCE
    return {
        "with negation": negated,
        "without negation": ~negated,
        f"over {LONG_SENTENCE} words": long,
        f"up to {LONG_SENTENCE} words": ~long,
    }


def take_slice(title: str, systems: Sequence[SystemAnswers], chosen: BoolArray) -> Slice:
    """How well systems do on the chosen sentences."""
    found = bool(chosen.any())
    spreads = {system.name: system.spread_on(chosen) if found else (None, None) for system in systems}
    return Slice(
        title=title,
        num_sentences=int(chosen.sum()),
        accuracies={name: mean for name, (mean, _) in spreads.items()},
        deviations={name: deviation for name, (_, deviation) in spreads.items()},
    )


def has_negation(system: SystemAnswers) -> BoolArray:
    """Whether each sentence has one of the words not, no, n't and none, in upper or lower case."""
    return np.array([any(word.lower() in NEGATIONS for word in words) for words in system.sentences])


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many sentences both systems get right, only one of them, or neither.

    With several seeds these are means over all pairs of a seed of the one and a seed of the other.
    """

    first: str
    second: str
    both: float
    only_first: float
    only_second: float
    neither: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def agreement(first: SystemAnswers, second: SystemAnswers) -> Agreement:
    """Count who is right where."""
    check_comparable([first, second])
    one, other = first.scores, second.scores
    return Agreement(
        first=first.name,
        second=second.name,
        both=float(one @ other),
        only_first=float(one @ (1 - other)),
        only_second=float((1 - one) @ other),
        neither=float((1 - one) @ (1 - other)),
    )


@dataclass(frozen=True, slots=True)
class WonExample:
    """A sentence that one system gets right and the other wrong."""

    number: int
    """Which of the sentences it is, counted from 1."""
    words: tuple[str, ...]
    gold: str
    winner: str
    confidence: float
    """The winner's probability of the right label."""
    loser: str
    wrong: str
    """The loser's label ..."""
    wrong_confidence: float
    """... and its probability."""

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "words": list(self.words)}

    def text(self) -> str:
        """The example for people, on two lines."""
        sentence = " ".join(map(shown_word, self.words))
        right = f"{self.winner}: {self.gold} ({self.confidence:.2f})"
        wrong = f"{self.loser}: {self.wrong} ({self.wrong_confidence:.2f})"
        return f"{self.number}. {sentence}\n   {right}; {wrong}"


def won_examples(
    winner: SystemAnswers, loser: SystemAnswers, *, limit: int | None = NUM_EXAMPLES
) -> list[WonExample]:
    """The sentences that the first gets right and the second wrong, those it is surest of first.

    Several seeds of a system speak with one voice: their mean probabilities.
    """
    check_comparable([winner, loser])
    if limit is not None and limit < 0:
        raise ConfigError("the number of examples cannot be negative")
    return list(_won(winner, loser))[:limit]


def _won(winner: SystemAnswers, loser: SystemAnswers) -> Iterator[WonExample]:
    right, wrong = winner.mean_probabilities, loser.mean_probabilities
    said = wrong.argmax(1)
    won = np.flatnonzero((right.argmax(1) == winner.gold) & (said != winner.gold))
    confidence = right[won, winner.gold[won]]
    # A stable sort, so that equally sure ones stay in the order of the corpus.
    for place in np.argsort(-confidence, kind="stable").tolist():
        sentence = int(won[place])
        yield WonExample(
            number=sentence + 1,
            words=winner.sentences[sentence],
            gold=winner.label_set.names[int(winner.gold[sentence])],
            winner=winner.name,
            confidence=float(confidence[place]),
            loser=loser.name,
            wrong=loser.label_set.names[int(said[sentence])],
            wrong_confidence=float(wrong[sentence, said[sentence]]),
        )
