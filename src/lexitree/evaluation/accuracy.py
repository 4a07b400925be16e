"""Accuracy, confusion matrix and per-class scores of a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, IndexArray
from lexitree.batch.tree_examples import Example
from lexitree.corpora.corpus import Supervision
from lexitree.evaluation.answers import answers_to_text
from lexitree.models.inference import NodeOutputs, run_examples
from lexitree.models.label_model import AskedNodes, LabelModel
from lexitree.results.document import mean_probabilities

_TREES_PER_COUNT = 1000


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Precision, recall and F1 of one label."""

    label: str
    num_gold: int
    num_predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """A confusion matrix: counts of (gold label, predicted label) over a set of nodes."""

    labels: tuple[str, ...]
    """The names of the labels."""
    counts: IndexArray

    @property
    def num_counted(self) -> int:
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """Share of nodes with the right label; 0 if there are none."""
        return float(np.trace(self.counts) / self.num_counted) if self.num_counted else 0.0

    def class_scores(self) -> list[ClassScore]:
        """Return precision, recall and F1 of each label."""
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
    """Scores of a model on sentences (roots) and on phrases (all labelled nodes, leaves included)."""

    root: Confusion
    phrase: Confusion | None
    """None if only sentences have labels."""
    root_answers: IndexArray | None = None
    """[sentences]: label index given to each, for tests that pair systems by sentence."""
    root_gold: IndexArray | None = None
    """[sentences]: gold label index, -1 without one."""

    @property
    def root_answers_text(self) -> str | None:
        """The answers as one character per sentence; None if there are too many labels."""
        return None if self.root_answers is None else answers_to_text(self.root_answers)

    @property
    def root_gold_text(self) -> str | None:
        return None if self.root_gold is None else answers_to_text(self.root_gold)

    def as_dict(self) -> dict[str, Any]:
        return {"root": self.root.as_dict(), "phrase": self.phrase.as_dict() if self.phrase else None}


def evaluate(
    model: LabelModel,
    examples: Iterable[Example],
    *,
    supervision: Supervision | None = None,
    document_sizes: Sequence[int] | None = None,
) -> Evaluation:
    """Score a model on prepared trees.

    Args:
        model: The model.
        examples: Trees with gold labels, from `make_examples`; may be a stream.
        supervision: "all" or "root"; with "root" only sentences count. Default: that of the model.
        document_sizes: How many trees, one after the other, make up each text. A text then counts once, with the
            label that a `Document` of these sentences has; phrases are not scored.

    Returns:
        Accuracies and confusion matrices for sentences (or whole texts) and phrases.
    """
    if document_sizes is not None:
        return _evaluate_documents(model, examples, document_sizes)
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


def _evaluate_documents(model: LabelModel, examples: Iterable[Example], sizes: Sequence[int]) -> Evaluation:
    outputs = run_examples(model, examples, nodes="root")
    gold, predicted = (np.zeros(len(sizes), dtype=np.int64) for _ in range(2))
    for number, size in enumerate(sizes):
        sentences = list(islice(outputs, size))
        gold[number] = sentences[0].example.source_label_index[0]
        means = mean_probabilities(
            [output.probabilities[0] for output in sentences],
            [output.example.tree.num_words for output in sentences],
            model.config.label_set,
        )
        predicted[number] = means.argmax()
    return Evaluation(confusion(gold, predicted, model.config.label_set.names), None, predicted, gold)


def _answers(outputs: Iterable[NodeOutputs]) -> Iterator[tuple[IndexArray, IndexArray, BoolArray]]:
    """Yield gold labels, predicted labels and a root mask, for many trees at a time."""
    stream = iter(outputs)
    while group := list(islice(stream, _TREES_PER_COUNT)):
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
    """Count (gold, predicted) pairs, skipping nodes without a gold label."""
    counted = gold != NO_INDEX
    pairs = gold[counted] * len(labels) + predicted[counted]
    counts = np.bincount(pairs, minlength=len(labels) ** 2).reshape(len(labels), len(labels))
    return Confusion(labels, counts.astype(np.int64))


def _ratio(part: np.int64, whole: np.int64) -> float:
    return float(part / whole) if whole else 0.0
