"""How the sentences of a review make its score: rules compared on some reviews, the one in use scored on others."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import BoolArray, DoubleArray, IndexArray
from polarity_systems import ModelSystem, PolaritySystem, SentenceOutputs, by_side

NUM_CHOOSING, NUM_SCORED = 1000, 2000
Weighing = Callable[[DoubleArray, IndexArray, DoubleArray], npt.NDArray[Any]]
"""How much each sentence of a text counts, by its probabilities of three sides, its length and its score."""

LEAST = 1e-6


def _position(lengths: IndexArray) -> DoubleArray:
    """0 for the first sentence, 1 for the last."""
    return np.linspace(0, 1, len(lengths)) if len(lengths) > 1 else np.ones(1)


RULES: dict[str, Weighing] = {
    "mean by length": lambda three, lengths, scores: lengths.astype(float),
    "plain mean": lambda three, lengths, scores: np.ones(len(lengths)),
    "by root of length": lambda three, lengths, scores: lengths**0.5,
    "by length, growing to the end": lambda three, lengths, scores: lengths * (1 + _position(lengths)),
    "by length, the last fifth threefold": lambda three, lengths, scores: (
        lengths * np.where(_position(lengths) >= 0.8, 3.0, 1.0)
    ),
    "by length and polar mass": lambda three, lengths, scores: lengths * (1 - three[:, 1]) + LEAST,
    "by polar mass": lambda three, lengths, scores: 1 - three[:, 1] + LEAST,
    "by square of polar mass": lambda three, lengths, scores: (1 - three[:, 1]) ** 2 + LEAST,
    "by polar mass, growing to the end": lambda three, lengths, scores: (
        (1 - three[:, 1]) * (1 + _position(lengths)) + LEAST
    ),
    "by root of length and polar mass": lambda three, lengths, scores: (
        lengths**0.5 * (1 - three[:, 1]) + LEAST
    ),
    "by strength of score": lambda three, lengths, scores: np.abs(scores) + LEAST,
    "by square of score": lambda three, lengths, scores: scores**2 + LEAST,
    "by length and strength of score": lambda three, lengths, scores: lengths * np.abs(scores) + LEAST,
    "by root of length and strength, growing": lambda three, lengths, scores: (
        lengths**0.5 * np.abs(scores) * (1 + _position(lengths)) + LEAST
    ),
    "polar sentences only": lambda three, lengths, scores: (three.argmax(axis=1) != 1) + LEAST,
}
PRODUCT = "product of probabilities"
FORMER = "mean by length"
"""The rule of earlier versions; the one in use is `mean_probabilities`, by polar mass."""


def measure_documents(path: Path, systems: Sequence[PolaritySystem]) -> dict[str, list[dict[str, Any]]]:
    """Rules on the first reviews of the file's first half; the library's rule and word lists on its second half."""
    choosing, scored = read_reviews(path)
    rules = [
        row
        for system in systems
        if isinstance(system, ModelSystem)
        for row in compare_rules(system, *choosing)
    ]
    texts, is_positive = scored
    measured: list[dict[str, Any]] = []
    for system in systems:
        scores = {system.name: system.judge(texts, one_sentence=False).scores}
        if isinstance(system, ModelSystem):
            outputs = system.sentences(texts, one_sentence=False)
            scores[f"{system.name}, {FORMER}"] = document_scores(outputs, system.label_scores, FORMER)
        measured += [
            {"system": name, "reviews": len(texts), **two_scores(found, is_positive)}
            for name, found in scores.items()
        ]
    return {"document_rules": rules, "documents": measured}


def compare_rules(system: ModelSystem, texts: Sequence[str], is_positive: BoolArray) -> list[dict[str, Any]]:
    outputs = system.sentences(texts, one_sentence=False)
    return [
        {
            "system": system.name,
            "rule": rule,
            "reviews": len(texts),
            **two_scores(document_scores(outputs, system.label_scores, rule), is_positive),
        }
        for rule in [*RULES, PRODUCT]
    ]


def document_scores(outputs: SentenceOutputs, label_scores: DoubleArray, rule: str) -> DoubleArray:
    """The score of each text by a rule."""
    found: list[float] = []
    for probabilities, lengths in outputs.by_text():
        three = by_side(probabilities, label_scores)
        scores = probabilities @ label_scores
        if rule == PRODUCT:
            found.append(float(np.log((three[:, 2] + LEAST) / (three[:, 0] + LEAST)).sum()))
        else:
            found.append(float(np.average(scores, weights=RULES[rule](three, lengths, scores))))
    return np.array(found)


def two_scores(scores: DoubleArray, is_positive: BoolArray) -> dict[str, float]:
    """Accuracy of the sign, recall of both sides, and how well the scores are in order, wherever 0 may be."""
    return {
        "accuracy": float(((scores > 0) == is_positive).mean()),
        "negative_recall": float((scores[~is_positive] <= 0).mean()),
        "positive_recall": float((scores[is_positive] > 0).mean()),
        "ranking_accuracy": ranking_accuracy(scores, is_positive),
    }


def ranking_accuracy(scores: DoubleArray, is_positive: BoolArray) -> float:
    """How often a positive review scores higher than a negative one (the area under the ROC curve)."""
    positive, negative = scores[is_positive][:, None], scores[~is_positive][None, :]
    return float((positive > negative).mean() + (positive == negative).mean() / 2)


Reviews = tuple[list[str], BoolArray]


def read_reviews(path: Path) -> tuple[Reviews, Reviews]:
    """Reviews to choose a rule by, from the first half of the file, and others to score it on, from the second."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    half = len(rows) // 2
    parts = rows[:half][:NUM_CHOOSING], rows[half:][:NUM_SCORED]
    choosing, scored = (
        (
            [row["review"].replace("<br />", "\n") for row in part],
            np.array([row["sentiment"] == "positive" for row in part]),
        )
        for part in parts
    )
    return choosing, scored
