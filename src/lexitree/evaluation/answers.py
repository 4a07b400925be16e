"""What several models answer for each sentence, ready to be compared."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, DoubleArray, IndexArray
from lexitree.batch.examples import Example, make_example
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import run_examples
from lexitree.trees.tree import Tree

ALPHABET = string.digits + string.ascii_lowercase + string.ascii_uppercase
NO_LABEL_SIGN = "-"
"""Stands for a sentence without a gold label."""


def answers_to_text(numbers: npt.ArrayLike) -> str | None:
    """`012-` for the labels 0, 1, 2 and none; None where there are more labels than characters."""
    values: list[int] = np.asarray(numbers, dtype=np.int64).tolist()
    if any(value >= len(ALPHABET) for value in values):
        return None
    return "".join(NO_LABEL_SIGN if value == NO_INDEX else ALPHABET[value] for value in values)


def answers_from_text(text: str) -> IndexArray:
    """The inverse."""
    numbers = {sign: number for number, sign in enumerate(ALPHABET)} | {NO_LABEL_SIGN: NO_INDEX}
    unknown = sorted(set(text) - set(numbers))
    if unknown:
        raise ConfigError(f"{unknown[0]!r} stands for no label: answers are written in digits and letters")
    return np.array([numbers[sign] for sign in text], dtype=np.int64)


@dataclass(frozen=True)
class SystemAnswers:
    """What one system, trained with one seed or several, says of the sentences of a corpus."""

    name: str
    label_set: LabelSet
    """The labels, in the order of the last axis of `probabilities`."""
    sentences: tuple[tuple[str, ...], ...]
    """The words of each sentence."""
    gold: IndexArray
    """[sentences]: the number of the right label."""
    probabilities: DoubleArray
    """[seeds, sentences, labels]"""

    @property
    def num_seeds(self) -> int:
        return len(self.probabilities)

    @cached_property
    def correct(self) -> BoolArray:
        """[seeds, sentences]: whether the likeliest label is the right one."""
        return self.probabilities.argmax(2) == self.gold

    @cached_property
    def scores(self) -> DoubleArray:
        """[sentences]: the share of the seeds that are right; 0 or 1 for one seed."""
        return self.correct.mean(0)

    @property
    def accuracy(self) -> float:
        """Root accuracy, the mean over the seeds."""
        return float(self.scores.mean())

    @property
    def seed_accuracies(self) -> list[float]:
        return self.correct.mean(1).tolist()

    def spread_on(self, chosen: BoolArray) -> tuple[float, float]:
        """The accuracy on some of the sentences: the mean over the seeds, and the sample deviation, 0 for one."""
        shares = self.correct[:, chosen].mean(1)
        return float(shares.mean()), float(shares.std(ddof=1)) if self.num_seeds > 1 else 0.0

    @cached_property
    def lengths(self) -> IndexArray:
        """[sentences]: how many words each has."""
        return np.array([len(words) for words in self.sentences], dtype=np.int64)

    @cached_property
    def mean_probabilities(self) -> DoubleArray:
        """[sentences, labels]: what the seeds say together."""
        return self.probabilities.mean(0)


def collect_answers(name: str, models: Iterable[TreeClassifier], trees: Iterable[Tree]) -> SystemAnswers:
    """Ask the models of one system, one for each seed, for the label of every sentence that has a gold label.

    The models are taken one after the other, so a stream of them never has two in memory.
    """
    labelled = [tree for tree in trees if tree.label]
    if not labelled:
        raise ConfigError("there is no sentence with a gold label to compare answers with")
    label_set = LabelSet(())
    gold: list[int] = []
    rows: list[DoubleArray] = []
    for model in models:
        if rows and model.config.labels != label_set.ids:
            raise ConfigError(f"the models of {name} were trained with different labels")
        label_set = model.config.label_set
        examples = _prepare(model, labelled)
        gold = [int(example.source_label_index[0]) for example in examples]
        rows.append(_root_probabilities(model, examples))
    if not rows:
        raise ConfigError(f"{name} has no model to ask")
    sentences = tuple(tree.words for tree in labelled)
    return SystemAnswers(name, label_set, sentences, np.array(gold, dtype=np.int64), np.stack(rows))


def _prepare(model: TreeClassifier, trees: Iterable[Tree]) -> list[Example]:
    config = model.config
    return [
        make_example(
            tree, model.lexicon, labels=config.labels, direction=config.binarization, supervision="root"
        )
        for tree in trees
    ]


def _root_probabilities(model: TreeClassifier, examples: Iterable[Example]) -> DoubleArray:
    outputs = run_examples(model, examples, nodes="root")
    return np.concatenate([output.probabilities for output in outputs]).astype(np.float64)


def check_comparable(systems: Sequence[SystemAnswers]) -> None:
    """Systems can be compared where they answer the same question about the same sentences."""
    if not systems:
        raise ConfigError("there is no system to analyse")
    first = systems[0]
    for system in systems:
        assert (system.gold != NO_INDEX).all()
        if system.label_set.ids != first.label_set.ids:
            raise ConfigError(
                f"{first.name} and {system.name} know different labels: "
                f"{', '.join(first.label_set.ids)} and {', '.join(system.label_set.ids)}"
            )
        if system.sentences != first.sentences or not np.array_equal(system.gold, first.gold):
            raise ConfigError(f"{first.name} and {system.name} have answered for different sentences")
    if len({system.name for system in systems}) != len(systems):
        raise ConfigError("each system needs a name of its own", remedy="Write NAME=PATH to give one.")
