"""The paired bootstrap test: how certain the difference between two systems is.

As in Koehn, Statistical Significance Tests for Machine Translation Evaluation (2004): sentences are drawn with
replacement, the same for both systems, and the test counts how often each system is ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import DoubleArray
from lexitree.errors import ConfigError

NUM_RESAMPLES = 10_000
CONFIDENCE = 0.95
DRAWS_AT_A_TIME = 4_000_000
"""Limits the memory, whatever the number of sentences."""
TIE_DECIMALS = 9
"""Means over seeds are not exact: smaller differences are rounding errors."""


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """The difference between two systems and its significance.

    A resample in which both are equally good counts half for each, so two systems that never differ have a one-sided
    p of 0.5 and a two-sided p of 1, and swapping the systems turns p into 1 - p.
    """

    difference: float
    """Score of the first system, such as its accuracy, minus that of the second."""
    low: float
    """Lower bound of the confidence interval (percentile bootstrap)."""
    high: float
    """Upper bound."""
    confidence: float
    p_one_sided: float
    """Share of resamples in which the first is not better than the second; ties count half."""
    p_two_sided: float
    """Twice the share of the rarer outcome, at most 1."""
    num_sentences: int
    num_resamples: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def shown_p(self) -> str:
        """Return the two-sided p as text; it cannot be smaller than one resample."""
        smallest = 1 / self.num_resamples
        return f"< {smallest:g}" if self.p_two_sided < smallest else f"{self.p_two_sided:.4f}"


def paired_bootstrap(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> BootstrapResult:
    """Compare two systems on the same sentences.

    Sentences are resampled, seeds are not: the result is about these trained models.

    Args:
        first: [sentences] of right (1) or wrong (0), or [seeds, sentences]; then a sentence counts with the share of
            seeds that are right.
        second: The same for the second system, which may have another number of seeds.
        num_resamples: Number of bootstrap samples.
        confidence: Confidence level of the interval.
        seed: Seed of the random generator.

    Returns:
        The difference, its confidence interval and p values.

    Raises:
        ConfigError: The shapes do not fit, or a setting is out of range.
    """
    check_settings(num_resamples, confidence)
    one, other = _sentence_scores(first), _sentence_scores(second)
    if len(one) != len(other):
        raise ConfigError(f"a paired test needs the same sentences: {len(one):,} and {len(other):,}")
    differences = one - other
    means = resample_means(differences, num_resamples, seed)
    return sum_up_resamples(float(differences.mean()), means, confidence, len(differences))


def check_settings(num_resamples: int, confidence: float) -> None:
    if num_resamples < 1 or not 0 < confidence < 1:
        raise ConfigError("num_resamples must be at least 1 and confidence between 0 and 1")


def resample_means(values: DoubleArray, num_resamples: int, seed: int) -> DoubleArray:
    """Return the means of [resamples] samples drawn with replacement."""
    drawings = draw_resamples(len(values), num_resamples, seed)
    return np.concatenate([values[drawn].mean(1) for drawn in drawings])


def draw_resamples(num_sentences: int, num_resamples: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the sentences of each resample as [some resamples, sentences], several resamples at a time.

    The draws depend only on the seed and the two numbers.
    """
    rng = np.random.default_rng(seed)
    step = max(1, DRAWS_AT_A_TIME // num_sentences)
    for done in range(0, num_resamples, step):
        yield rng.integers(num_sentences, size=(min(step, num_resamples - done), num_sentences))


def sum_up_resamples(
    difference: float, resampled: DoubleArray, confidence: float, num_sentences: int
) -> BootstrapResult:
    """Summarize a measured difference and the differences in the resamples."""
    resampled = resampled.round(TIE_DECIMALS)
    num_resamples = len(resampled)
    behind = (np.count_nonzero(resampled < 0) + np.count_nonzero(resampled == 0) / 2) / num_resamples
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail]).tolist()
    return BootstrapResult(
        difference=round(difference, TIE_DECIMALS),
        low=low,
        high=high,
        confidence=confidence,
        p_one_sided=behind,
        p_two_sided=min(1.0, 2 * min(behind, 1 - behind)),
        num_sentences=num_sentences,
        num_resamples=num_resamples,
    )


def _sentence_scores(correct: npt.ArrayLike) -> DoubleArray:
    scores = np.asarray(correct, dtype=np.float64)
    if scores.ndim == 2:
        scores = scores.mean(0)
    if scores.ndim != 1 or not scores.size:
        raise ConfigError("answers must be a non-empty array [sentences] or [seeds, sentences]")
    return scores
