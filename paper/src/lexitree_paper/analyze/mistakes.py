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
_LONG_SENTENCE = 30
"""A sentence of more words than this is long."""
NUM_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the sentences, and the accuracy of each system on them."""

    title: str
    num_sentences: int
    accuracies: dict[str, float | None]
    """Root accuracy of each system; None if there are no such sentences."""
    deviations: dict[str, float | None] = field(default_factory=dict[str, float | None])
    """Sample standard deviation over seeds; 0 for one seed."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def accuracy_by_class(systems: Sequence[SystemAnswers]) -> list[Slice]:
    """Return root accuracy by gold label."""
    check_comparable(systems)
    return [take_slice(title, systems, chosen) for title, chosen in class_masks(systems[0]).items()]


def accuracy_on_hard_sentences(systems: Sequence[SystemAnswers]) -> list[Slice]:
    """Return root accuracy on sentences with and without negation, and on long and shorter ones."""
    check_comparable(systems)
    return [take_slice(title, systems, chosen) for title, chosen in kind_masks(systems[0]).items()]


def class_masks(system: SystemAnswers) -> dict[str, BoolArray]:
    """Return which sentences have each gold label, by name."""
    return {name: system.gold == number for number, name in enumerate(system.label_set.names)}


def kind_masks(system: SystemAnswers) -> dict[str, BoolArray]:
    """Return which sentences have a negation word, which are long, and the complements."""
    negated, long = has_negation(system), system.lengths > _LONG_SENTENCE
    return {
        "with negation": negated,
        "without negation": ~negated,
        f"over {_LONG_SENTENCE} words": long,
        f"up to {_LONG_SENTENCE} words": ~long,
    }


def take_slice(title: str, systems: Sequence[SystemAnswers], chosen: BoolArray) -> Slice:
    """Return the accuracy of each system on the chosen sentences."""
    found = bool(chosen.any())
    spreads = {system.name: system.spread_on(chosen) if found else (None, None) for system in systems}
    return Slice(
        title=title,
        num_sentences=int(chosen.sum()),
        accuracies={name: mean for name, (mean, _) in spreads.items()},
        deviations={name: deviation for name, (_, deviation) in spreads.items()},
    )


def has_negation(system: SystemAnswers) -> BoolArray:
    """Return whether each sentence contains not, no, n't or none, in any case."""
    return np.array([any(word.lower() in NEGATIONS for word in words) for words in system.sentences])


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many sentences both systems get right, only one of them, or neither.

    With several seeds these are means over all pairs of seeds.
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
    """Count the sentences that both, one or neither of the systems gets right."""
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
    """Number of the sentence, from 1."""
    words: tuple[str, ...]
    gold: str
    winner: str
    confidence: float
    """The winner's probability for the right label."""
    loser: str
    wrong: str
    """The loser's label."""
    wrong_confidence: float
    """The probability of that label."""

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "words": list(self.words)}

    def text(self) -> str:
        """Return the example as two lines of text."""
        sentence = " ".join(map(shown_word, self.words))
        right = f"{self.winner}: {self.gold} ({self.confidence:.2f})"
        wrong = f"{self.loser}: {self.wrong} ({self.wrong_confidence:.2f})"
        return f"{self.number}. {sentence}\n   {right}; {wrong}"


def won_examples(
    winner: SystemAnswers, loser: SystemAnswers, *, limit: int | None = NUM_EXAMPLES
) -> list[WonExample]:
    """Return sentences that only the first system gets right, the most confident first.

    The probabilities of several seeds are averaged.
    """
    check_comparable([winner, loser])
    if limit is not None and limit < 0:
        raise ConfigError("limit must not be negative")
    return list(_won(winner, loser))[:limit]


def _won(winner: SystemAnswers, loser: SystemAnswers) -> Iterator[WonExample]:
    right, wrong = winner.mean_probabilities, loser.mean_probabilities
    said = wrong.argmax(1)
    won = np.flatnonzero((right.argmax(1) == winner.gold) & (said != winner.gold))
    confidence = right[won, winner.gold[won]]
    # A stable sort keeps equally confident ones in corpus order.
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
