"""Accuracy, confusion matrix and per-class scores of a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, IndexArray
from lexitree.batch.examples import Example
from lexitree.corpora.corpus import Supervision
from lexitree.evaluation.answers import answers_to_text
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import AskedNodes, NodeOutputs, run_examples

TREES_PER_COUNT = 1000


@dataclass(frozen=True, slots=True)
class ClassScore:
    """How well one label is found."""

    label: str
    num_gold: int
    num_predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of (gold label, predicted label) over a set of nodes."""

    labels: tuple[str, ...]
    """The names of the labels."""
    counts: IndexArray

    @property
    def num_counted(self) -> int:
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """The share of nodes whose label was found; 0 where there are none."""
        return float(np.trace(self.counts) / self.num_counted) if self.num_counted else 0.0

    def class_scores(self) -> list[ClassScore]:
        """Precision, recall and F1 of each label."""
        found = np.diag(self.counts)
        gold, predicted = self.counts.sum(1), self.counts.sum(0)
        return [
            ClassScore(
                label=label,
                num_gold=int(gold[k]),
                num_predicted=int(predicted[k]),
                precision=_ratio(found[k], predicted[k]),
                recall=_ratio(found[k], gold[k]),
                f1=_ratio(2 * found[k], gold[k] + predicted[k]),
            )
            for k, label in enumerate(self.labels)
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy,
            "num_counted": self.num_counted,
            "labels": list(self.labels),
            "confusion": self.counts.tolist(),
            "classes": [
                {name: getattr(score, name) for name in ClassScore.__slots__} for score in self.class_scores()
            ],
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of a model on a split: sentences (roots) and phrases (all labelled nodes, leaves included)."""

    root: Confusion
    phrase: Confusion | None
    """None where only the sentences carry labels."""
    root_answers: IndexArray | None = None
    """[sentences]: the number of the label that each was given; for tests that pair systems by sentence."""
    root_gold: IndexArray | None = None
    """[sentences]: the number of the right one, -1 where there is none."""

    @property
    def root_answers_text(self) -> str | None:
        """The answers for a record: a character a sentence, None where that cannot be."""
        return None if self.root_answers is None else answers_to_text(self.root_answers)

    @property
    def root_gold_text(self) -> str | None:
        return None if self.root_gold is None else answers_to_text(self.root_gold)

    def as_dict(self) -> dict[str, Any]:
        return {"root": self.root.as_dict(), "phrase": self.phrase.as_dict() if self.phrase else None}


def evaluate(
    model: TreeClassifier, examples: Iterable[Example], *, supervision: Supervision | None = None
) -> Evaluation:
    """Score a model on a stream of prepared trees; with root supervision only the sentences count."""
    nodes: AskedNodes = "root" if (supervision or model.config.supervision) == "root" else "all"
    labels = model.config.label_set.names
    root_counts, phrase_counts = (np.zeros((len(labels), len(labels)), dtype=np.int64) for _ in range(2))
    root_gold, root_answers = ([np.zeros(0, dtype=np.int64)] for _ in range(2))
    for gold, predicted, is_root in _answers(run_examples(model, examples, nodes=nodes)):
        root_gold.append(gold[is_root])
        root_answers.append(predicted[is_root])
        root_counts += confusion(gold[is_root], predicted[is_root], labels).counts
        phrase_counts += confusion(gold, predicted, labels).counts
    phrase = Confusion(labels, phrase_counts) if nodes == "all" else None
    root = Confusion(labels, root_counts)
    return Evaluation(root, phrase, np.concatenate(root_answers), np.concatenate(root_gold))


def _answers(outputs: Iterable[NodeOutputs]) -> Iterator[tuple[IndexArray, IndexArray, BoolArray]]:
    """Gold and predicted labels, and which of them are sentences', of many trees at a time: one count for all."""
    stream = iter(outputs)
    while group := list(islice(stream, TREES_PER_COUNT)):
        sizes = np.array([len(output.probabilities) for output in group])
        gold = np.concatenate(
            [output.example.source_label_index[: len(output.probabilities)] for output in group]
        )
        predicted = np.concatenate([output.probabilities for output in group]).argmax(1)
        is_root = np.zeros(len(gold), dtype=np.bool_)
        is_root[np.cumsum(sizes) - sizes] = True
        yield gold, predicted, is_root


def confusion(
    gold: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64], labels: tuple[str, ...]
) -> Confusion:
    """Count (gold, predicted) pairs, leaving out nodes without a gold label."""
    counted = gold != NO_INDEX
    pairs = gold[counted] * len(labels) + predicted[counted]
    counts = np.bincount(pairs, minlength=len(labels) ** 2).reshape(len(labels), len(labels))
    return Confusion(labels, counts.astype(np.int64))


def _ratio(part: np.int64, whole: np.int64) -> float:
    return float(part / whole) if whole else 0.0
