"""Answers of several systems in, root accuracy by sentence length out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

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
    """The root accuracy of each system by its name."""

    @property
    def title(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def accuracy_by_length(
    systems: Sequence[SystemAnswers], *, words_per_bin: int = WORDS_PER_BIN
) -> list[LengthBin]:
    """Root accuracy in bins of 1 to 5 words, 6 to 10 and so on; a bin without sentences is left out."""
    check_comparable(systems)
    if words_per_bin < 1:
        raise ConfigError("a bin holds at least one length")
    bin_index = (systems[0].lengths - 1) // words_per_bin
    num_bins = int(bin_index.max()) + 1
    counts = np.bincount(bin_index, minlength=num_bins)
    sums = {system.name: np.bincount(bin_index, system.scores, num_bins) for system in systems}
    return [
        LengthBin(
            first=k * words_per_bin + 1,
            last=(k + 1) * words_per_bin,
            num_sentences=int(counts[k]),
            accuracies={name: float(by_bin[k] / counts[k]) for name, by_bin in sums.items()},
        )
        for k in np.flatnonzero(counts).tolist()
    ]
