"""Compares two or more systems on the same sentences, also by sentence length."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lexitree.arrays import BoolArray
from lexitree.errors import ConfigError
from lexitree.evaluation.answers import SystemAnswers, check_comparable
from lexitree.evaluation.significance import (
    NUM_RESAMPLES,
    BootstrapResult,
    RecipeDifference,
    compare_recipes,
    paired_bootstrap,
)
from lexitree_paper.analyze.mistakes import (
    NUM_EXAMPLES,
    Agreement,
    Slice,
    WonExample,
    accuracy_by_class,
    accuracy_on_hard_sentences,
    agreement,
    won_examples,
)

WORDS_PER_BIN = 5


@dataclass(frozen=True, slots=True)
class LengthBin:
    """The sentences of `first` to `last` words."""

    first: int
    last: int
    num_sentences: int
    accuracies: dict[str, float]
    """Root accuracy of each system."""
    deviations: dict[str, float] = field(default_factory=dict[str, float])
    """Sample standard deviation over seeds; 0 for one seed."""

    @property
    def title(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def accuracy_by_length(
    systems: Sequence[SystemAnswers], *, words_per_bin: int = WORDS_PER_BIN, fewest: int = 1
) -> list[LengthBin]:
    """Return root accuracy in bins of 1 to 5 words, 6 to 10 and so on, without empty bins.

    Args:
        systems: The systems, all on the same sentences.
        words_per_bin: Width of a bin.
        fewest: A last bin with fewer sentences is merged with the one before it.

    Raises:
        ConfigError: The systems cannot be compared, or a number is less than 1.
    """
    check_comparable(systems)
    if words_per_bin < 1 or fewest < 1:
        raise ConfigError("words_per_bin and fewest must be at least 1")
    bin_index = (systems[0].lengths - 1) // words_per_bin
    numbers, counts = np.unique(bin_index, return_counts=True)
    firsts: list[int] = numbers.tolist()
    num_last = int(counts[-1])
    while num_last < fewest and len(firsts) > 1:
        firsts.pop()
        num_last += int(counts[len(firsts) - 1])
    # The last bin includes all longer sentences.
    lasts = [*firsts[:-1], int(numbers[-1])]
    return [
        _make_bin(
            systems,
            first * words_per_bin + 1,
            (last + 1) * words_per_bin,
            (bin_index >= first) & (bin_index <= last),
        )
        for first, last in zip(firsts, lasts, strict=True)
    ]


def _make_bin(systems: Sequence[SystemAnswers], first: int, last: int, chosen: BoolArray) -> LengthBin:
    spreads = {system.name: system.spread_on(chosen) for system in systems}
    return LengthBin(
        first=first,
        last=last,
        num_sentences=int(chosen.sum()),
        accuracies={name: mean for name, (mean, _) in spreads.items()},
        deviations={name: deviation for name, (_, deviation) in spreads.items()},
    )


@dataclass(frozen=True, slots=True)
class SystemScore:
    """The root accuracy of one system."""

    name: str
    accuracy: float
    """Mean over seeds."""
    deviation: float
    """Sample standard deviation over seeds; 0 for one seed."""
    seed_accuracies: list[float]


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One system compared with the baseline."""

    system: str
    baseline: str
    significance: BootstrapResult
    """A positive difference favours the system. It is about these trained models, not about their recipes."""
    recipes: RecipeDifference | None
    """The same for the recipes, over seeds and sentences; None if one of them has a single seed."""
    agreement: Agreement
    won: list[WonExample]
    """Sentences that only the system gets right."""
    lost: list[WonExample]
    """Sentences that only the baseline gets right."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several systems on the same sentences; the first is the baseline."""

    num_sentences: int
    systems: list[SystemScore]
    pairs: list[PairComparison]
    classes: list[Slice]
    hard_sentences: list[Slice]
    lengths: list[LengthBin]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare_systems(
    systems: Sequence[SystemAnswers],
    *,
    num_examples: int = NUM_EXAMPLES,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare every system with the first.

    Args:
        systems: Two or more systems on the same sentences; the first is the baseline.
        num_examples: Examples listed for each pair of systems.
        num_resamples: Number of bootstrap samples of the significance test.
        seed: Seed of the significance test.

    Returns:
        Scores, significance, accuracy by class, by negation and by length, agreement, and examples.

    Raises:
        ConfigError: There are fewer than two systems, or they cannot be compared.
    """
    check_comparable(systems)
    if len(systems) < 2:
        raise ConfigError("a comparison needs at least two systems")
    baseline = systems[0]
    return Comparison(
        num_sentences=len(baseline.gold),
        systems=[_score(system) for system in systems],
        pairs=[_compare_pair(system, baseline, num_examples, num_resamples, seed) for system in systems[1:]],
        classes=accuracy_by_class(systems),
        hard_sentences=accuracy_on_hard_sentences(systems),
        lengths=accuracy_by_length(systems),
    )


def _score(system: SystemAnswers) -> SystemScore:
    values = system.seed_accuracies
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return SystemScore(system.name, system.accuracy, deviation, values)


def _compare_pair(
    system: SystemAnswers, baseline: SystemAnswers, num_examples: int, num_resamples: int, seed: int
) -> PairComparison:
    has_seeds = min(system.num_seeds, baseline.num_seeds) > 1
    return PairComparison(
        system=system.name,
        baseline=baseline.name,
        significance=paired_bootstrap(
            system.correct, baseline.correct, num_resamples=num_resamples, seed=seed
        ),
        recipes=compare_recipes(system.correct, baseline.correct) if has_seeds else None,
        agreement=agreement(system, baseline),
        won=won_examples(system, baseline, limit=num_examples),
        lost=won_examples(baseline, system, limit=num_examples),
    )
