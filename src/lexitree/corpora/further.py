"""Corpora that a model learns from besides its main one, whose labels may be coarser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.lazy import cached_property
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Grain:
    """What a label says about the labels that a model learns, by their numbers."""

    meant: tuple[int, ...]
    """One of these is right; which of them is left open."""
    among: tuple[int, ...]
    """The labels that its corpus tells apart; nothing is said about the others."""
    weight: float = 1.0
    """How much a node with this label counts."""


@dataclass(frozen=True)
class GrainedTrees:
    """Trees with labels of another grain."""

    trees: Sequence[Tree] = ()
    """In the form in which the model reads them, without labels."""
    label_index: Sequence[IndexArray] = ()
    """For each tree, by node, the number of a grain or -1 for none; nodes at the end may be left out."""
    text_sizes: Sequence[int] = ()
    """How many trees make up each text."""


@dataclass(frozen=True)
class FurtherCorpus:
    """A corpus whose labels are grains. The same label has one number for sentences and another for spans."""

    name: str
    train: GrainedTrees
    dev: GrainedTrees
    groups: Mapping[str, tuple[int, ...]]
    """For each label, the numbers of the labels that it means; none, if it is ignored."""
    first_grain: int
    """The number of its first grain."""
    first_tree: int
    """Where its trees begin among the training trees of the run."""
    weight: float = 1.0
    """How much the label of a sentence counts; a label of the main corpus counts 1."""
    span_weight: float = 1.0
    """How much the label of a span counts."""
    is_balanced: bool = False
    """Whether all labels count alike, however rare they are."""
    per_epoch: int = 0
    """How many of its training trees each epoch takes; 0 for all."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels that mean something."""
        return tuple(label for label, group in self.groups.items() if group)

    @property
    def first_span_grain(self) -> int:
        """The number of the first grain that is for spans."""
        return self.first_grain + len(self.labels)

    @cached_property
    def grains(self) -> tuple[Grain, ...]:
        """What its labels say: those of sentences, then those of spans."""
        among = tuple(sorted({*chain.from_iterable(self.groups.values())}))
        counts = self._count_grains()
        size = len(self.labels)
        weights = [*_weights(counts[:size], self.is_balanced) * self.weight]
        weights += [*_weights(counts[size:], self.is_balanced) * self.span_weight]
        return tuple(
            Grain(self.groups[label], among, float(weight))
            for label, weight in zip((*self.labels, *self.labels), weights, strict=True)
        )

    def grain_of(self, label: str, *, is_span: bool) -> int:
        """The number of the grain of a label; -1 if it is ignored."""
        if label not in self.labels:
            return NO_INDEX
        return (self.first_span_grain if is_span else self.first_grain) + self.labels.index(label)

    def _count_grains(self) -> IndexArray:
        numbers = np.concatenate([np.zeros(0, dtype=np.int64), *self.train.label_index])
        return np.bincount(numbers[numbers != NO_INDEX] - self.first_grain, minlength=2 * len(self.labels))


def _weights(counts: IndexArray, is_balanced: bool) -> np.ndarray:
    """A weight for each label: 1, or such that all count alike and the mean over all nodes is 1."""
    if not is_balanced:
        return np.ones(len(counts))
    return counts.sum() / (max(np.count_nonzero(counts), 1) * counts.clip(1))


def epoch_order(num_trees: int, further: Iterable[FurtherCorpus], rng: np.random.Generator) -> IndexArray:
    """The training trees of an epoch in random order; of corpora with a limit, other ones in each epoch."""
    takes_part = np.ones(num_trees, dtype=np.bool_)
    for corpus in further:
        size = len(corpus.train.trees)
        if 0 < corpus.per_epoch < size:
            takes_part[corpus.first_tree : corpus.first_tree + size] = False
            takes_part[corpus.first_tree + rng.choice(size, corpus.per_epoch, replace=False)] = True
    return rng.permutation(np.flatnonzero(takes_part))
