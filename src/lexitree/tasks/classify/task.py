"""Trees in, the batches of an epoch out, for models that are trained on phrases and know nothing of trees."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.batch.examples import Example
from lexitree.models.classifier import TreeClassifier
from lexitree.ops.spans import number_phrases
from lexitree.tasks.classify.recipe import Recipe


def make_fingerprint(recipe: Recipe, model: TreeClassifier, examples: Sequence[Example]) -> dict[str, Any]:
    """The settings of a run, and checksums of its word vectors and trees; more epochs are welcome."""
    settings = recipe.training.as_dict()
    epochs = settings.pop("epochs")
    if recipe.training.schedule != "constant" or recipe.training.warm_up:
        # They rise and fall with the share of all updates that is done, from the first on.
        settings["number of epochs, which the step sizes follow,"] = epochs
    if recipe.teacher:
        settings["teacher"] = recipe.teacher
    else:
        del settings["teacher_weight"]
    return {
        **settings,
        **model.config.as_dict(),
        "vector_length": recipe.vector_length,
        # Its name may change, and what it is shows below.
        "encoder": {
            name: value for name, value in recipe.encoder.items() if name not in ("name", "revision")
        },
        "lexicon parameters": sum(weight.numel() for weight in model.lexicon.parameters()),
        "checksum of the word vectors": _checksum(
            weight.numpy(force=True) for weight in model.lexicon.parameters()
        ),
        "checksum of the trees": _checksum(array for example in examples for array in _numbers(example)),
    }


def _numbers(example: Example) -> Iterator[npt.NDArray[Any]]:
    tree = example.binary.tree
    yield from (tree.arity, tree.leaves, example.word_index, example.label_index)
    if example.pieces is not None:
        yield from (example.pieces.ids, example.pieces.starts, example.pieces.ends)
    if example.targets is not None:
        yield example.targets


def _checksum(arrays: Iterable[npt.NDArray[Any]]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


class PhraseEpochs:
    """All phrases of the trees, wherever they occur or each of them once, in batches of sentences of one length.

    If `distinct`, a phrase is trained on with the tree that has it first in the epoch's order; where it comes again,
    it carries no label and is not read. What has the same words but another label is another phrase.
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
        """By node: the same number for the same words with the same label."""

    @property
    def num_distinct(self) -> int:
        """How many labelled phrases there are, each counted once."""
        return len(np.unique(self.phrases[self.labels != NO_INDEX]))

    def shuffled_batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[list[Example]]:
        """The trees of an epoch; if phrases are to be distinct, labelled where a phrase comes first."""
        batches = self._batches_by_length(rng, batch_size)
        labels = self.labels
        if self.distinct and batches:
            labels = self._labels_of_first(np.concatenate(batches))
        for batch in batches:
            yield [self._with_labels(tree, labels) for tree in batch.tolist()]

    def _batches_by_length(self, rng: np.random.Generator, batch_size: int) -> list[IndexArray]:
        """Sentences of one length in random groups, and the groups in random order.

        Steps that only the longest sentence of a batch still takes are as long as those that all take.
        """
        order = rng.permutation(len(self.examples))
        order = order[np.argsort(self.num_words[order], kind="stable")]
        batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
        return [batches[place] for place in rng.permutation(len(batches))]

    def _labels_of_first(self, order: IndexArray) -> IndexArray:
        """The labels by node, without those of phrases that have come before in this order of the trees."""
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
    """The same number for the same word: by the lexicon, or as it is written, where a transformer reads pieces."""
    if all(example.pieces is None for example in examples):
        return _concatenate([example.word_index for example in examples])
    numbers: dict[str, int] = {}
    words = (word for example in examples for word in example.binary.tree.words)
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64)


def _concatenate(arrays: Sequence[np.ndarray]) -> IndexArray:
    return np.concatenate(arrays).astype(np.int64, copy=False) if arrays else np.zeros(0, dtype=np.int64)
