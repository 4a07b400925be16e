"""Root accuracy by sentence length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lexitree.arrays import BoolArray
from lexitree.errors import ConfigError
from lexitree.evaluation.answers import SystemAnswers, check_comparable

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
