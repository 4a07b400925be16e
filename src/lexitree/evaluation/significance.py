"""The paired bootstrap test: how certain the difference between two systems is.

As in Koehn, Statistical Significance Tests for Machine Translation Evaluation (2004): sentences are drawn
with replacement, the same ones for both systems, and it is counted how often one of them comes out ahead.
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
"""Bounds the memory whatever the number of sentences."""
TIE_DECIMALS = 9
"""Means over seeds are no whole numbers: what differs by less than this is rounding."""


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """How much better the first system is, and whether that could be the choice of sentences.

    A resample in which both are equally good counts half for each of them, so two systems that never differ
    have a one-sided p of 0.5 and a two-sided p of 1, and swapping the systems turns p into 1 - p.
    """

    difference: float
    """The first system's score, such as its accuracy, less the second's."""
    low: float
    """The difference lies between `low` and `high` with the confidence asked for (percentiles) ..."""
    high: float
    confidence: float
    p_one_sided: float
    """The share of resamples in which the first is not better than the second; ties count half."""
    p_two_sided: float
    """Twice the share of the rarer outcome, at most 1."""
    num_sentences: int
    num_resamples: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def shown_p(self) -> str:
        """The two-sided p as text; resamples can tell no p that is smaller than one of them."""
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

    Each has [sentences] of right (1) or wrong (0), or [seeds, sentences] when it was trained several times:
    then a sentence counts with the share of the seeds that are right. The systems may have different numbers
    of seeds. Sentences are resampled, seeds are not: the result speaks about these trained models.
    """
    check_settings(num_resamples, confidence)
    differences = _sentence_scores(first) - _paired(_sentence_scores(second), first)
    means = resample_means(differences, num_resamples, seed)
    return sum_up_resamples(float(differences.mean()), means, confidence, len(differences))


def check_settings(num_resamples: int, confidence: float) -> None:
    if num_resamples < 1 or not 0 < confidence < 1:
        raise ConfigError("there must be at least one resample, and a confidence between 0 and 1")


def resample_means(values: DoubleArray, num_resamples: int, seed: int) -> DoubleArray:
    """[resamples]: the mean of as many values as there are, drawn with replacement."""
    drawings = draw_resamples(len(values), num_resamples, seed)
    return np.concatenate([values[drawn].mean(1) for drawn in drawings]).round(TIE_DECIMALS)


def draw_resamples(num_sentences: int, num_resamples: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """[some resamples, sentences]: the sentences of each resample, a portion at a time.

    What is drawn depends on the seed and the numbers alone.
    """
    rng = np.random.default_rng(seed)
    step = max(1, DRAWS_AT_A_TIME // num_sentences)
    for done in range(0, num_resamples, step):
        yield rng.integers(num_sentences, size=(min(step, num_resamples - done), num_sentences))


def sum_up_resamples(
    difference: float, resampled: DoubleArray, confidence: float, num_sentences: int
) -> BootstrapResult:
    """The result for a measured difference, given the differences in the resamples."""
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
        raise ConfigError(
            "right and wrong answers are needed as [sentences] or [seeds, sentences], and some of them"
        )
    return scores


def _paired(scores: DoubleArray, other: npt.ArrayLike) -> DoubleArray:
    num_others = np.asarray(other).shape[-1]
    if len(scores) != num_others:
        raise ConfigError(f"a paired test needs the same sentences: {num_others:,} and {len(scores):,}")
    return scores
