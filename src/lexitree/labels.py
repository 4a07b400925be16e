"""The labels that a model answers with: their order, how people read them, and the finer labels behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lexitree.arrays import DIGITS
from lexitree.errors import ConfigError
from lexitree.lazy import cached_property
from lexitree.trees.tree import NO_LABEL

SENTIMENTS: tuple[str, ...] = ("very negative", "negative", "neutral", "positive", "very positive")
"""The names of sentiments, in order."""

MIDDLE = 0.5
"""Where the middle of a scale is; see `LabelSet.polarity`."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_LONGEST_NUMBER = 9
"""Longer rows of digits are names, not steps of a scale."""


@dataclass(frozen=True)
class LabelSet:
    """The labels of a task, in the order of their probabilities.

    A label has an id, which stands in trees and files (`3`), and a name, which people read (`positive`); most labels
    are their own name.

        >>> labels = LabelSet(("0", "1"), {"0": "negative", "1": "positive"})
        >>> labels.names
        ('negative', 'positive')
        >>> labels.name_of("1")
        'positive'

    Raises:
        ConfigError: If a label occurs twice, or if the finer labels do not fit the answers.
    """

    ids: tuple[str, ...]
    """The labels as they stand in trees, in the order of their probabilities."""
    readable: Mapping[str, str] = field(default_factory=dict[str, str])
    """How to show a label or a finer label, where that differs from its id."""
    finer: Mapping[str, str] = field(default_factory=dict[str, str])
    """The labels of the training data where these are finer than the answers: each with the answer it counts for, or
    "" for none, in the order of the model's scores."""

    def __post_init__(self) -> None:
        if len(set(self.ids)) != len(self.ids):
            raise ConfigError(f"a label occurs twice among {', '.join(self.ids)}")
        if self.finer:
            self._check_finer()

    def _check_finer(self) -> None:
        if NO_LABEL in self.finer:
            raise ConfigError("a finer label must have a name: an empty label cannot be learned")
        answers = set(self.finer.values()) - {NO_LABEL}
        if unknown := sorted(answers - set(self.ids)):
            raise ConfigError(
                f"finer labels count for {', '.join(unknown)}, but the model answers with {', '.join(self.ids)}"
            )
        if missing := [label for label in self.ids if label not in answers]:
            raise ConfigError(
                f"no finer label counts for {', '.join(missing)}, so it would never be answered"
            )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The labels as people read them; the ids where two labels would read the same."""
        shown = tuple(self.readable.get(label, label) for label in self.ids)
        return shown if len(set(shown)) == len(shown) and all(shown) else self.ids

    @cached_property
    def trained_ids(self) -> tuple[str, ...]:
        """The labels that a model learns, in the order of its scores: the finer ones where there are any."""
        return tuple(self.finer) or self.ids

    @cached_property
    def score_groups(self) -> tuple[tuple[int, ...], ...]:
        """For each label, the numbers of the scores that count for it."""
        answers = [self.finer.get(label, label) for label in self.trained_ids]
        return tuple(
            tuple(number for number, answer in enumerate(answers) if answer == label) for label in self.ids
        )

    @cached_property
    def polarity(self) -> tuple[float, ...] | None:
        """Where each label stands between the negative end (0) and the positive end (1) of a scale.

        Sentiments and numbers form a scale; other labels have no order, and this is None.
        """
        if self.ids and set(self.names) <= set(SENTIMENTS):
            return tuple(SENTIMENTS.index(name) / (len(SENTIMENTS) - 1) for name in self.names)
        if len(self.ids) < 2 or not all(map(_is_step, self.ids)):
            return None
        steps = [int(label) for label in self.ids]
        lowest, highest = min(steps), max(steps)
        return tuple((step - lowest) / (highest - lowest or 1) for step in steps)

    @cached_property
    def trained(self) -> LabelSet:
        """The labels that a model learns, as a set of their own."""
        return LabelSet(self.trained_ids, self.readable)

    @cached_property
    def scores(self) -> tuple[float, ...] | None:
        """Where each label stands on its scale, from -1 to 1; None for labels without an order.

        The label that is farthest from the middle stands at an end, also if there are stronger sentiments.
        """
        if self.polarity is None:
            return None
        distances = [2 * place - 1 for place in self.polarity]
        farthest = max(map(abs, distances)) or 1.0
        return tuple(distance / farthest for distance in distances)

    def mean_score(self, probabilities: Iterable[float]) -> float | None:
        """The mean of the labels' scores by their probabilities; None for labels without an order.

        Probabilities count as they are written, so that the same ones have the same score.
        """
        if self.scores is None:
            return None
        return sum(
            score * round(share, DIGITS) for score, share in zip(self.scores, probabilities, strict=True)
        )

    def with_grain(self, number: int) -> LabelSet:
        """The answers as fine as asked: the labels that are learned, or the sides of their scale.

        Three labels are the sides and the middle; of two, the middle counts for neither. What a model says of a side
        is the sum of what it says of the labels on it.

            >>> LabelSet(("1", "2", "3", "4", "5")).with_grain(2).finer
            {'1': 'negative', '2': 'negative', '3': '', '4': 'positive', '5': 'positive'}

        Args:
            number: How many labels to answer with: as many as are learned, 3 or 2.

        Raises:
            ConfigError: If the labels have no order, or nothing in the middle for three.
        """
        learned = self.trained
        if number == len(learned):
            return learned
        negative, neutral, positive = SENTIMENTS[1:4]
        sides = [
            negative if score < 0 else positive if score > 0 else neutral for score in learned.scores or ()
        ]
        answers = {2: (negative, positive), 3: (negative, neutral, positive)}.get(number, ())
        if not answers or not set(answers) <= set(sides):
            raise ConfigError(
                f"a model of the labels {', '.join(learned.names)} cannot answer with {number}",
                remedy=f"Choose one of: {', '.join(map(str, learned.grains))}.",
            )
        finer = {
            label: side if side in answers else NO_LABEL
            for label, side in zip(learned.ids, sides, strict=True)
        }
        names = {label: name for label, name in self.readable.items() if label not in answers}
        return LabelSet(answers, names, finer)

    @property
    def grains(self) -> tuple[int, ...]:
        """How many labels `with_grain` can give, the most first."""
        scores = self.trained.scores or ()
        has_sides = any(score < 0 for score in scores) and any(score > 0 for score in scores)
        coarser = [3] * (0.0 in scores) + [2] if has_sides else []
        return tuple(dict.fromkeys([len(self.trained_ids), *coarser]))

    def name_of(self, label: str) -> str:
        """How people read a label, an answer or a finer one, given by its id."""
        if label in self.ids:
            return self.names[self.ids.index(label)]
        return self.readable.get(label, label)

    def describe(self, label: str) -> str:
        """The id of a label and, where it differs, its name: `0 (very negative)`."""
        name = self.name_of(label)
        return label if name == label else f"{label} ({name})"

    def describe_finer(self) -> str:
        """Which finer labels count for which answer: `0 (very negative), 1 (negative) for negative; ...`."""
        groups: dict[str, list[str]] = {}
        for label, answer in self.finer.items():
            groups.setdefault(answer, []).append(self.describe(label))
        return "; ".join(
            f"{', '.join(group)} for {self.name_of(answer) or 'none'}" for answer, group in groups.items()
        )

    def groups_of(
        self, labels: Iterable[str], given: Mapping[str, Iterable[str]] | None = None
    ) -> dict[str, tuple[int, ...]]:
        """Which of the labels that a model learns are meant by each label of another, coarser set.

            >>> five = LabelSet(("0", "1", "2", "3", "4"), dict(zip("01234", SENTIMENTS)))
            >>> five.groups_of(["negative", "positive"])
            {'negative': (0, 1), 'positive': (3, 4)}

        Without `given`, labels that are learned, or answered with, mean the same here; on two scales, labels mean
        those on the same side of the middle.

        Args:
            labels: The labels of the other set.
            given: For each of them, the ids or names of the labels that it means; none, if it is to be ignored.

        Returns:
            For each label the numbers of its scores, in increasing order.

        Raises:
            ConfigError: Nothing is given and it is not obvious; or something is given that cannot be.
        """
        ordered = order_labels(labels)
        found = self._given_groups(given) if given else self._obvious_groups(ordered)
        if found is None:
            raise ConfigError(
                f"it is not obvious which of {', '.join(map(self.describe, self.trained_ids))} is meant by"
                f" {', '.join(ordered)}",
                remedy='Say so: labels = { bad = ["very negative", "negative"], ... }.',
            )
        return found

    def _given_groups(self, given: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, ...]]:
        numbers = self._score_numbers
        groups: dict[str, tuple[int, ...]] = {}
        for label, meant in given.items():
            names = list(meant)
            if unknown := [name for name in names if name not in numbers]:
                known = ", ".join(map(self.describe, self.trained_ids))
                raise ConfigError(
                    f"the label {label!r} cannot mean {unknown[0]!r}", remedy=f"The labels are {known}."
                )
            groups[label] = tuple(sorted({numbers[name] for name in names}))
        if not any(groups.values()):
            raise ConfigError("no label means anything, so there is nothing to learn")
        return groups

    def _obvious_groups(self, labels: tuple[str, ...]) -> dict[str, tuple[int, ...]] | None:
        numbers = self._score_numbers
        alike = {label: (numbers[label],) for label in labels if label in numbers}
        is_whole = len(set(alike.values())) == len(self.trained_ids) == len(labels)
        by_answer = {
            self.name_of(label): group for label, group in zip(self.ids, self.score_groups, strict=True)
        }
        by_answer |= zip(self.ids, self.score_groups, strict=True)
        own = self.trained.polarity
        scale = LabelSet(labels).polarity
        if is_whole:
            return alike
        if self.finer and all(label in by_answer for label in labels):
            return {label: by_answer[label] for label in labels}
        if own is not None and scale is not None:
            return _groups_by_side(labels, scale, own)
        return alike if own is None and len(alike) == len(labels) else None

    @cached_property
    def _score_numbers(self) -> dict[str, int]:
        """The numbers of the scores by the names and ids of what is learned."""
        ids = {label: number for number, label in enumerate(self.trained_ids)}
        return {**{self.readable.get(label, label): number for label, number in ids.items()}, **ids}

    def as_dict(self) -> dict[str, Any]:
        """The label set as the settings of a model have it."""
        return {
            "labels": self.ids,
            "finer_labels": dict(self.finer),
            "label_names": dict(self.readable),
        }


def order_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Sort labels by number if all of them are integers, else alphabetically, without duplicates and empty labels.

    >>> order_labels(["10", "9", "9", ""])
    ('9', '10')
    """
    distinct = set(labels) - {NO_LABEL}
    if all(_INTEGER.fullmatch(label) for label in distinct):
        # "01" and "1" are the same number but two labels, so the text decides between them.
        return tuple(sorted(distinct, key=lambda label: (int(label), label)))
    return tuple(sorted(distinct))


def _groups_by_side(
    labels: tuple[str, ...], scale: tuple[float, ...], own: tuple[float, ...]
) -> dict[str, tuple[int, ...]] | None:
    """Group by place, if both scales have the same places; else by side, if one of them has one label on each."""
    if scale == own:
        return {label: (number,) for number, label in enumerate(labels)}
    sides, own_sides = [_side(place) for place in scale], [_side(place) for place in own]
    if len(set(sides)) < len(sides) and len(set(own_sides)) < len(own_sides):
        return None
    return {
        label: tuple(number for number, own_side in enumerate(own_sides) if own_side == side)
        for label, side in zip(labels, sides, strict=True)
    }


def _side(place: float) -> int:
    """-1, 0 or 1: below, on or above the middle of a scale."""
    return (place > MIDDLE) - (place < MIDDLE)


def _is_step(label: str) -> bool:
    return label.isdecimal() and len(label) <= _LONGEST_NUMBER
