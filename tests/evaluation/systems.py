"""Made-up systems with given answers, for the tests of the analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lexitree.evaluation.answers import SystemAnswers
from lexitree.labels import LabelSet


def made_up_system(
    name: str,
    gold: Sequence[int],
    predicted: Sequence[Sequence[int]],
    *,
    sentences: Sequence[str] | None = None,
    confidence: Sequence[float] | None = None,
    labels: tuple[str, ...] = ("a", "b", "c"),
    names: Mapping[str, str] | None = None,
) -> SystemAnswers:
    """A system that answers `predicted`, by seed and sentence, each with a confidence of the sentence."""
    sure = np.array(confidence if confidence is not None else [0.9] * len(gold))
    probabilities = np.zeros((len(predicted), len(gold), len(labels)))
    probabilities += ((1 - sure) / (len(labels) - 1))[:, None]
    for seed, answers in enumerate(predicted):
        probabilities[seed, np.arange(len(gold)), list(answers)] = sure
    texts = sentences or [f"word{place}" for place in range(len(gold))]
    return SystemAnswers(
        name,
        LabelSet(labels, names or {}),
        tuple(tuple(text.split()) for text in texts),
        np.array(gold),
        probabilities,
    )
