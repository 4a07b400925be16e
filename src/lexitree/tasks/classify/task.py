"""Sentence models as a training task: their batches, update, development scores and fingerprint."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.batch.tree_examples import Example
from lexitree.evaluation.accuracy import evaluate
from lexitree.learning.checkpoint import checksum_arrays
from lexitree.learning.distributed import OneProcess
from lexitree.learning.loop import BatchSize, EpochBatches
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.ops.numpy.spans import number_phrases
from lexitree.tasks.classify.augmentation import Augmenter, AugmentSettings
from lexitree.tasks.classify.more_learning import MoreLearning, mean_score
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.steps import make_step

SCORES = ("dev_root", "dev_phrase", "test_root", "test_phrase")
"""What a result has."""


def score_name(config: TrainingConfig) -> str:
    """The score by which epochs and seeds are compared."""
    return "dev_mean" if config.choose_by == "mean" else SCORES[0]


_LATER_SETTINGS = {
    "class_weights": "none",
    "choose_by": "main",
    "head_entropy": 0.0,
    "head_candidates": "all",
    "lookup": "written",
    "temperature": 1.0,
}
"""Settings that runs of older versions do not have, with what they did."""


class ClassifyTask:
    """Training a model that labels sentences and phrases.

    Args:
        model: A fresh model.
        train: The examples that it is trained on.
        dev: The examples that choose the best epoch; without any, the last one is kept.
        config: The training settings.
        about: Further settings that results depend on, for the fingerprint.
        document_sizes: How many of the development examples make up each text; see `evaluate`.
        more: Further corpora, if any; the training examples have their labels already.
        processes: The processes that train together.
        augment: How training sentences are changed at random; by default they are not.
    """

    def __init__(
        self,
        model: TreeClassifier,
        train: Sequence[Example],
        dev: Sequence[Example],
        config: TrainingConfig,
        about: Mapping[str, Any] | None = None,
        document_sizes: Sequence[int] | None = None,
        more: MoreLearning | None = None,
        processes: OneProcess | None = None,
        augment: AugmentSettings | None = None,
    ) -> None:
        self.model = model
        self.train = train
        self.dev = dev
        self.config = config
        self.about = dict(about or {})
        self.document_sizes = document_sizes
        self.more = more
        self.augmenter = Augmenter(augment, model.lexicon) if augment and augment.is_on else None
        self.optimizer = LazyAdam(model, config)
        label_weights = self._balanced_weights() if config.class_weights == "balanced" else None
        num_labels = len(model.config.label_set.trained_ids)
        self.step = make_step(
            model,
            self.optimizer,
            root_weight=config.root_weight,
            label_weights=label_weights,
            grains=None if more is None else more.grains(num_labels, label_weights),
            head_entropy=config.head_entropy,
            processes=processes,
        )
        self.phrases = None
        if model.encoder.trains_on_phrases and model.config.supervision == "all":
            self.phrases = PhraseEpochs(train, distinct=config.distinct_phrases)

    def _balanced_weights(self) -> Tensor:
        """A weight for each label, such that all labels count alike and the mean over all labelled nodes is 1."""
        labels = _concatenate([example.label_index for example in self.train])
        num_labels = len(self.model.config.label_set.trained_ids)
        # Labels of further corpora have their own weights, and higher numbers.
        counts = np.bincount(labels[(labels != NO_INDEX) & (labels < num_labels)], minlength=num_labels)
        return torch.from_numpy(counts.sum() / (num_labels * counts.clip(1))).float()

    @property
    def losses(self) -> Tensor:
        return self.step.losses

    @property
    def score_name(self) -> str:
        return score_name(self.config)

    def fingerprint(self) -> dict[str, Any]:
        examples = [*self.train, *self.dev, *chain.from_iterable(self.more.dev if self.more else ())]
        lexicon = self.model.lexicon
        vectors = [each.numpy(force=True) for each in (*lexicon.parameters(), *lexicon.buffers())]
        settings = self.config.fingerprint() | self.model.config.as_dict()
        if "teacher" not in self.about:
            del settings["teacher_weight"]
        for name, default in _LATER_SETTINGS.items():
            if settings[name] == default:
                del settings[name]
        return {
            **settings,
            **self.about,
            "lexicon parameters": sum(array.size for array in vectors),
            "checksum of the word vectors": checksum_arrays(vectors),
            "checksum of the trees": checksum_arrays(array for each in examples for array in _arrays(each)),
        }

    def batches(self, rng: np.random.Generator) -> EpochBatches[list[Example]]:
        order = self.more.order(len(self.train), rng) if self.more else rng.permutation(len(self.train))
        num_batches = -(-len(order) // self.config.batch_size)
        batches = self._batches_in(order, rng)
        if self.augmenter is not None:
            batches = self.augmenter.batches(batches, rng)
        return EpochBatches(len(order), num_batches, batches)

    def _batches_in(self, order: IndexArray, rng: np.random.Generator) -> Iterator[list[Example]]:
        size = self.config.batch_size
        if self.phrases is not None:
            yield from self.phrases.shuffled_batches(rng, size, order)
            return
        for first in range(0, len(order), size):
            yield [self.train[index] for index in order[first : first + size].tolist()]

    def update(self, batch: list[Example]) -> BatchSize:
        self.step(batch)
        return BatchSize(len(batch), len(batch))

    def evaluate(self) -> dict[str, Any]:
        scores: dict[str, Any] = dict.fromkeys(("dev_root", "dev_phrase"))
        if self.dev:
            found = evaluate(self.model, self.dev, document_sizes=self.document_sizes)
            scores["dev_root"] = found.root.accuracy
            scores["dev_phrase"] = found.phrase.accuracy if found.phrase else None
        if self.more is not None:
            others = self.more.evaluate(self.model)
            scores["dev_mean"] = mean_score(scores["dev_root"], others)
            scores["dev_more"] = others
        return scores


def _arrays(example: Example) -> Iterator[npt.NDArray[Any]]:
    """Everything about an example that a run depends on."""
    tree = example.binary.tree
    yield from (tree.arity, tree.leaves, example.word_index, example.label_index)
    if example.pieces is not None:
        yield from (example.pieces.ids, example.pieces.starts, example.pieces.ends)
    if example.targets is not None:
        yield example.targets


class PhraseEpochs:
    """Epochs of models that read phrases without their tree, in batches of sentences of one length.

    If `distinct`, a phrase is trained on only where it occurs first in the order of the epoch: elsewhere it has no
    label and is not read. The same words with another label are another phrase.
    """

    def __init__(self, examples: Sequence[Example], *, distinct: bool) -> None:
        self.distinct = distinct
        self.examples = examples
        trees = [example.binary.tree for example in examples]
        self.num_words = np.array([tree.num_words for tree in trees], dtype=np.int64)
        self.num_nodes = np.array([tree.num_nodes for tree in trees], dtype=np.int64)
        self.first_nodes = np.cumsum(self.num_nodes) - self.num_nodes
        first_words = np.repeat(np.cumsum(self.num_words) - self.num_words, self.num_nodes)
        words = _number_words(examples)
        starts = _concatenate([tree.starts for tree in trees]) + first_words
        ends = _concatenate([tree.ends for tree in trees]) + first_words
        self.labels = _concatenate([example.label_index for example in examples])
        numbers = number_phrases(words, starts, ends)
        self.phrases = numbers * (self.labels.max(initial=0) + 2) + self.labels + 1
        """By node: one number for the same words with the same label."""

    @property
    def num_distinct(self) -> int:
        """The number of labelled phrases, each counted once."""
        return len(np.unique(self.phrases[self.labels != NO_INDEX]))

    def shuffled_batches(
        self, rng: np.random.Generator, batch_size: int, order: IndexArray | None = None
    ) -> Iterator[list[Example]]:
        """The batches of an epoch; distinct phrases are labelled only where they occur first.

        Args:
            rng: Determines the batches.
            batch_size: How many sentences they have.
            order: The sentences of the epoch, in random order; by default all.
        """
        order = rng.permutation(len(self.examples)) if order is None else order
        batches = self._batches_by_length(order, rng, batch_size)
        labels = self.labels
        if self.distinct and batches:
            labels = self._labels_of_first(np.concatenate(batches))
        for batch in batches:
            yield [self._with_labels(tree, labels) for tree in batch.tolist()]

    def _batches_by_length(
        self, order: IndexArray, rng: np.random.Generator, batch_size: int
    ) -> list[IndexArray]:
        """Random groups of sentences of one length, in random order.

        A step that only the longest sentence of a batch needs takes as long as one that all need.
        """
        order = order[np.argsort(self.num_words[order], kind="stable")]
        batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
        return [batches[place] for place in rng.permutation(len(batches))]

    def _labels_of_first(self, order: IndexArray) -> IndexArray:
        """The labels by node, without those of phrases that occurred before in this order of the trees."""
        sizes = self.num_nodes[order]
        place_in_tree = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        nodes = np.repeat(self.first_nodes[order], sizes) + place_in_tree
        _, first = np.unique(self.phrases[nodes], return_index=True)
        labels = np.full_like(self.labels, NO_INDEX)
        labels[nodes[first]] = self.labels[nodes[first]]
        return labels

    def _with_labels(self, tree: int, labels: IndexArray) -> Example:
        first = self.first_nodes[tree]
        own = labels[first : first + self.num_nodes[tree]]
        return dataclasses.replace(self.examples[tree], label_index=own)


def _number_words(examples: Sequence[Example]) -> IndexArray:
    """Number words: by the lexicon or, where a transformer reads pieces, by their spelling."""
    if all(example.pieces is None for example in examples):
        return _concatenate([example.word_index for example in examples])
    numbers: dict[str, int] = {}
    words = (word for example in examples for word in example.binary.tree.words)
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64)


def _concatenate(arrays: Sequence[np.ndarray]) -> IndexArray:
    return np.concatenate(arrays).astype(np.int64, copy=False) if arrays else np.zeros(0, dtype=np.int64)
