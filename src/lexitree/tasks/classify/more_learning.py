"""Learning from further corpora: the numbers of their labels, the order of their trees, and their scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
from torch import Tensor

from lexitree.arrays import NO_INDEX, DoubleArray, IndexArray
from lexitree.batch.tree_examples import Example
from lexitree.corpora.further import FurtherCorpus, GrainedTrees, epoch_order
from lexitree.labels import MIDDLE, LabelSet
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import NodeOutputs, run_examples
from lexitree.models.label_grains import LabelGrains
from lexitree.results.document import mean_probabilities


@dataclass(frozen=True)
class MoreLearning:
    """What the further corpora of a run add to its task."""

    corpora: Sequence[FurtherCorpus]
    dev: Sequence[Sequence[Example]]
    """The development examples of each corpus."""
    share: float = 1.0
    """The share of labels in the loss; a teacher has the rest."""

    @classmethod
    def prepare(
        cls, model: TreeClassifier, corpora: Sequence[FurtherCorpus], share: float = 1.0
    ) -> MoreLearning:
        """Number the words of the development trees."""
        prepared = [model.prepare(corpus.dev.trees, labelled=False) for corpus in corpora]
        pairs = zip(prepared, corpora, strict=True)
        return cls(corpora, [_with_numbers(each, corpus.dev) for each, corpus in pairs], share)

    def label_training(self, examples: Sequence[Example]) -> list[Example]:
        """Give the training examples of the further corpora their labels."""
        labelled = list(examples)
        for corpus in self.corpora:
            own = slice(corpus.first_tree, corpus.first_tree + len(corpus.train.trees))
            labelled[own] = _with_numbers(labelled[own], corpus.train)
        return labelled

    def grains(self, num_labels: int, label_weights: Tensor | None) -> LabelGrains:
        """What all numbers of labels say; see `LabelGrains`."""
        grains = [grain for corpus in self.corpora for grain in corpus.grains]
        return LabelGrains(num_labels, grains, label_weights=label_weights, scale=self.share)

    def order(self, num_trees: int, rng: np.random.Generator) -> IndexArray:
        """The training trees of an epoch; see `epoch_order`."""
        return epoch_order(num_trees, self.corpora, rng)

    def evaluate(self, model: TreeClassifier) -> dict[str, dict[str, float]]:
        """The development accuracies of each corpus that has a development part; see `score_further`."""
        scores = {
            corpus.name: score_further(model, corpus, examples)
            for corpus, examples in zip(self.corpora, self.dev, strict=True)
        }
        return {name: found for name, found in scores.items() if found}


def mean_score(main: float | None, scores: dict[str, dict[str, float]]) -> float | None:
    """The mean of the main corpus's score and the first score of each other one."""
    firsts = [next(iter(found.values())) for found in scores.values()]
    every = [*([] if main is None else [main]), *firsts]
    return sum(every) / len(every) if every else None


def _with_numbers(examples: Sequence[Example], grained: GrainedTrees) -> list[Example]:
    return [
        dataclasses.replace(example, label_index=(found := _fill(numbers, example)), source_label_index=found)
        for example, numbers in zip(examples, grained.label_index, strict=True)
    ]


def _fill(numbers: IndexArray, example: Example) -> IndexArray:
    filled = np.full(example.num_nodes, NO_INDEX)
    filled[: len(numbers)] = numbers
    return filled


def score_further(
    model: TreeClassifier, corpus: FurtherCorpus, examples: Sequence[Example]
) -> dict[str, float]:
    """Score a model on the development examples of a further corpus.

    The answer is the label whose finer labels have most probability together. A text of several sentences is scored
    as a whole, as a `Document` is.

    Returns:
        Accuracies, of those that there are: of texts (`texts`) and spans (`spans`), and both among the two sides of a
        scale (`two-way`): labels in the middle are left out, and the side with more probability is the answer.
    """
    has_spans = any((example.label_index >= corpus.first_span_grain).any() for example in examples)
    outputs = run_examples(model, examples, nodes="all" if has_spans else "root", finer=True)
    labels = model.config.label_set.trained
    texts, spans = _Answers(corpus, labels.polarity), _Answers(corpus, labels.polarity)
    for sentences in _grouped(outputs, corpus.dev.text_sizes):
        label = sentences[0].example.label_index[0]
        if label < corpus.first_span_grain:
            texts.add(label, _mean(sentences, labels))
        for output in sentences:
            numbers = output.example.label_index
            for node in np.flatnonzero(numbers >= corpus.first_span_grain).tolist():
                spans.add(numbers[node], output.probabilities[node])
    return {
        name: score
        for name, score in (
            ("texts", texts.accuracy()),
            ("two-way", texts.two_way_accuracy()),
            ("spans", spans.accuracy()),
            ("two-way spans", spans.two_way_accuracy()),
        )
        if score is not None
    }


def _grouped(outputs: Iterator[NodeOutputs], sizes: Sequence[int]) -> Iterator[list[NodeOutputs]]:
    return (list(islice(outputs, size)) for size in sizes)


def _mean(sentences: Sequence[NodeOutputs], labels: LabelSet) -> DoubleArray:
    return mean_probabilities(
        [output.probabilities[0] for output in sentences],
        [output.example.tree.num_words for output in sentences],
        labels,
    )


class _Answers:
    """Gold labels and the probability of each label, to be compared; labels that mean the same are one."""

    def __init__(self, corpus: FurtherCorpus, places: Sequence[float] | None) -> None:
        self.corpus = corpus
        self.groups = list(dict.fromkeys(corpus.groups[label] for label in corpus.labels))
        in_middle = {number for number, place in enumerate(places or ()) if place == MIDDLE}
        self.is_middle = [in_middle.issuperset(group) for group in self.groups]
        self.has_sides = places is not None and self.is_middle.count(False) == 2
        self.gold: list[int] = []
        self.masses: list[list[float]] = []

    def add(self, number: int, probabilities: npt.NDArray[np.floating]) -> None:
        """Add a node, or a text, if it has a label."""
        if number != NO_INDEX:
            label = self.corpus.labels[(number - self.corpus.first_grain) % len(self.corpus.labels)]
            self.gold.append(self.groups.index(self.corpus.groups[label]))
            self.masses.append([float(probabilities[list(group)].sum()) for group in self.groups])

    def accuracy(self) -> float | None:
        """The share of right answers; None without any."""
        return _share_right(np.array(self.masses), np.array(self.gold))

    def two_way_accuracy(self) -> float | None:
        """The same among the two sides of a scale, without what is in the middle; None if there are no two sides."""
        if not self.has_sides or not self.gold:
            return None
        gold, masses = np.array(self.gold), np.array(self.masses)
        masses[:, self.is_middle] = -1
        kept = ~np.array(self.is_middle)[gold]
        return _share_right(masses[kept], gold[kept])


def _share_right(masses: npt.NDArray[np.floating], gold: IndexArray) -> float | None:
    return float((masses.argmax(1) == gold).mean()) if len(gold) else None
