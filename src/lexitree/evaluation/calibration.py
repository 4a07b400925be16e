"""How far probabilities are from the shares of right answers, and the temperature that brings them closer.

Scores divided by a temperature above 1 give probabilities that are less sure (Guo et al. 2017). The likeliest label
of those that a model has learned stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lexitree.arrays import DoubleArray, FloatArray, IndexArray
from lexitree.labels import LabelSet
from lexitree.results.document import Document, sentence_weights

NUM_BINS = 15
LOWEST, HIGHEST = 0.05, 20.0
"""The range in which temperatures are looked for."""
_NUM_STEPS = 60
"""The search narrows the range by a third each time."""
_SMALLEST = 1e-12


def expected_calibration_error(
    probabilities: DoubleArray, gold: IndexArray, num_bins: int = NUM_BINS
) -> float:
    """The mean distance between how sure answers are and how many of them are right.

    Answers are put into bins of equal width by the probability of their label, and bins count by their sizes.

    Args:
        probabilities: [texts, labels].
        gold: The number of the right label of each text.
        num_bins: The number of bins.
    """
    sure, is_right = probabilities.max(1), probabilities.argmax(1) == gold
    bins = np.minimum((sure * num_bins).astype(np.int64), num_bins - 1)
    counts = np.bincount(bins, minlength=num_bins)
    gaps = np.bincount(bins, sure - is_right, minlength=num_bins)
    return float(np.abs(gaps).sum() / counts.sum())


@dataclass(frozen=True)
class RatedTexts:
    """What a model says of the sentences of some texts, and which label each text should have."""

    rows: DoubleArray
    """[sentences, learned labels]: probabilities, as the model gives them."""
    owner: IndexArray
    """The number of each sentence's text."""
    lengths: IndexArray
    """The number of words of each sentence."""
    label_set: LabelSet
    """The learned labels."""
    groups: Sequence[Sequence[int]]
    """For each label that texts have, the learned labels that count for it."""
    gold: IndexArray
    """The number of the right label of each text."""

    @classmethod
    def of(cls, documents: Sequence[Document], groups: Sequence[Sequence[int]], gold: Sequence[int]) -> Self:
        """From documents with probabilities of all learned labels; texts without words are left out."""
        kept = [(document, label) for document, label in zip(documents, gold, strict=True) if len(document)]
        sentences = [sentence for document, _ in kept for sentence in document.sentences]
        owner = np.repeat(np.arange(len(kept)), [len(document) for document, _ in kept])
        rows: list[FloatArray] = [sentence.node_probabilities[0] for sentence in sentences]
        return cls(
            np.stack(rows).astype(float),
            owner,
            np.array([len(sentence.tokens) for sentence in sentences]),
            sentences[0].label_set,
            groups,
            np.array([label for _, label in kept], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.gold)

    def probabilities(self, temperature: float = 1.0) -> DoubleArray:
        """[texts, labels]: the answers at a temperature, relative to that of the model."""
        scores = np.log(self.rows + _SMALLEST) / temperature
        powers = np.exp(scores - scores.max(1, keepdims=True))
        weights = sentence_weights(powers / powers.sum(1, keepdims=True), self.lengths, self.label_set)
        powers = np.stack([powers[:, list(group)].sum(1) for group in self.groups], axis=1)
        shares = weights / np.bincount(self.owner, weights)[self.owner]
        found = np.zeros((len(self), len(self.groups)))
        np.add.at(found, self.owner, powers / powers.sum(1, keepdims=True) * shares[:, None])
        return found

    def loss(self, temperature: float) -> float:
        """The mean negative log-likelihood of the right labels."""
        found = self.probabilities(temperature)[np.arange(len(self)), self.gold]
        return float(-np.log(found + _SMALLEST).mean())

    def part(self, chosen: IndexArray) -> RatedTexts:
        """Some of the texts, by their numbers in ascending order."""
        place = np.full(len(self), -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.owner] >= 0
        return RatedTexts(
            self.rows[kept],
            place[self.owner[kept]],
            self.lengths[kept],
            self.label_set,
            self.groups,
            self.gold[chosen],
        )


def fit_temperature(texts: RatedTexts) -> float:
    """The temperature with the least loss, relative to that of the model, by ternary search."""
    low, high = np.log(LOWEST), np.log(HIGHEST)
    for _ in range(_NUM_STEPS):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        if texts.loss(np.exp(first)) < texts.loss(np.exp(second)):
            high = second
        else:
            low = first
    return float(np.exp((low + high) / 2))


def cross_fitted(texts: RatedTexts) -> DoubleArray:
    """The answers of each half of the texts (even and odd) at the temperature that fits the other half."""
    found = np.zeros((len(texts), len(texts.groups)))
    even, odd = np.arange(0, len(texts), 2), np.arange(1, len(texts), 2)
    for scored, fitted in ((even, odd), (odd, even)):
        found[scored] = texts.part(scored).probabilities(fit_temperature(texts.part(fitted)))
    return found
