"""What several models answer for each sentence, ready to be compared."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, DoubleArray, IndexArray
from lexitree.batch.tree_examples import make_examples
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.models.inference import run_examples
from lexitree.models.label_model import LabelModel
from lexitree.trees.tree import Tree

ALPHABET = string.digits + string.ascii_lowercase + string.ascii_uppercase
_NO_LABEL_SIGN = "-"
"""Marks a sentence without a gold label."""


def answers_to_text(numbers: npt.ArrayLike) -> str | None:
    """Write label indices as text: `012-` for 0, 1, 2 and no label; None if there are more labels than characters."""
    values: list[int] = np.asarray(numbers, dtype=np.int64).tolist()
    if any(value >= len(ALPHABET) for value in values):
        return None
    return "".join(_NO_LABEL_SIGN if value == NO_INDEX else ALPHABET[value] for value in values)


def answers_from_text(text: str) -> IndexArray:
    """Read label indices from text; the inverse of `answers_to_text`."""
    numbers = {sign: number for number, sign in enumerate(ALPHABET)} | {_NO_LABEL_SIGN: NO_INDEX}
    unknown = sorted(set(text) - set(numbers))
    if unknown:
        raise ConfigError(f"{unknown[0]!r} is not a label: answers are written in digits and letters")
    return np.array([numbers[sign] for sign in text], dtype=np.int64)


@dataclass(frozen=True)
class SystemAnswers:
    """The answers of one system, trained with one or more seeds, for the sentences of a corpus."""

    name: str
    label_set: LabelSet
    """The labels, in the order of the last axis of `probabilities`."""
    sentences: tuple[tuple[str, ...], ...]
    """The words of each sentence."""
    gold: IndexArray
    """[sentences]: index of the gold label."""
    probabilities: DoubleArray
    """[seeds, sentences, labels]"""

    @property
    def num_seeds(self) -> int:
        return len(self.probabilities)

    @cached_property
    def correct(self) -> BoolArray:
        """[seeds, sentences]: whether the most probable label is right."""
        return self.probabilities.argmax(2) == self.gold

    @cached_property
    def scores(self) -> DoubleArray:
        """[sentences]: share of seeds that are right."""
        return self.correct.mean(0)

    @property
    def accuracy(self) -> float:
        """Root accuracy, averaged over seeds."""
        return float(self.scores.mean())

    @property
    def seed_accuracies(self) -> list[float]:
        return self.correct.mean(1).tolist()

    def spread_on(self, chosen: BoolArray) -> tuple[float, float]:
        """Return mean and sample standard deviation over seeds of the accuracy on the chosen sentences."""
        shares = self.correct[:, chosen].mean(1)
        return float(shares.mean()), float(shares.std(ddof=1)) if self.num_seeds > 1 else 0.0

    @cached_property
    def lengths(self) -> IndexArray:
        """[sentences]: number of words."""
        return np.array([len(words) for words in self.sentences], dtype=np.int64)

    @cached_property
    def mean_probabilities(self) -> DoubleArray:
        """[sentences, labels]: probabilities averaged over seeds."""
        return self.probabilities.mean(0)


def collect_answers(name: str, models: Iterable[LabelModel], trees: Iterable[Tree]) -> SystemAnswers:
    """Collect what the models of one system answer for every sentence with a gold label.

    Args:
        name: Name of the system.
        models: One model per seed; taken one at a time, so a stream never holds two in memory.
        trees: The sentences.

    Returns:
        The answers of all seeds.

    Raises:
        ConfigError: There are no models or no gold labels, or the models have different labels.
    """
    labelled = [tree for tree in trees if tree.label]
    if not labelled:
        raise ConfigError("no sentence has a gold label")
    label_set = LabelSet(())
    gold: list[int] = []
    rows: list[DoubleArray] = []
    for model in models:
        if rows and model.config.labels != label_set.ids:
            raise ConfigError(f"the models of {name} were trained with different labels")
        label_set = model.config.label_set
        examples = make_examples(
            labelled,
            model.lexicon,
            labels=model.config.labels,
            direction=model.config.binarization,
            supervision="root",
        )
        gold = [int(example.source_label_index[0]) for example in examples]
        outputs = run_examples(model, examples, nodes="root")
        rows.append(np.concatenate([output.probabilities for output in outputs]).astype(np.float64))
    if not rows:
        raise ConfigError(f"{name} has no models")
    sentences = tuple(tree.words for tree in labelled)
    return SystemAnswers(name, label_set, sentences, np.array(gold, dtype=np.int64), np.stack(rows))


def check_comparable(systems: Sequence[SystemAnswers]) -> None:
    """Raise a ConfigError unless all systems have the same labels and sentences, and distinct names."""
    if not systems:
        raise ConfigError("there are no systems to analyse")
    first = systems[0]
    for system in systems:
        assert (system.gold != NO_INDEX).all()
        if system.label_set.ids != first.label_set.ids:
            raise ConfigError(
                f"{first.name} and {system.name} have different labels: "
                f"{', '.join(first.label_set.ids)} and {', '.join(system.label_set.ids)}"
            )
        if system.sentences != first.sentences or not np.array_equal(system.gold, first.gold):
            raise ConfigError(f"{first.name} and {system.name} were run on different sentences")
    if len({system.name for system in systems}) != len(systems):
        raise ConfigError("two systems have the same name", remedy="Give names with NAME=PATH.")
