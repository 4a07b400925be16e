"""Significance tests: how certain the difference between two trained models, or between two recipes, is.

Two models are compared by the paired bootstrap of Koehn, Statistical Significance Tests for Machine Translation
Evaluation (2004): sentences are drawn with replacement, the same for both, and the test counts how often each model
is ahead. It says nothing of the recipes that made the models, because another seed gives another model.

Two recipes are compared by their seeds and sentences together, as readers and cases are in radiology (Obuchowski and
Rockette 1995): the variance of a difference has a part from the sentences and one from the seeds, and with few
seeds the difference over its standard error follows Student's t distribution, not the normal one.
"""

from __future__ import annotations

import math
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
    """The difference between two trained models and its significance.

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
    """Compare two trained models on the same sentences.

    Sentences are resampled, seeds are not: the result is about these models and says nothing of their recipes, for
    which there is `compare_recipes`.

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
        ConfigError: The shapes do not fit, a score is not finite, or a setting is out of range.
    """
    check_settings(num_resamples, confidence)
    one, other = _sentence_scores(first), _sentence_scores(second)
    if len(one) != len(other):
        raise ConfigError(f"a paired test needs the same sentences: {len(one):,} and {len(other):,}")
    differences = one - other
    means = resample_means(differences, num_resamples, seed)
    return summarize_resamples(float(differences.mean()), means, confidence, len(differences))


@dataclass(frozen=True, slots=True)
class RecipeDifference:
    """The difference between two recipes and its significance, for seeds and sentences that were not tried."""

    difference: float
    """Mean score of the first recipe minus that of the second."""
    low: float
    """Lower bound of the confidence interval."""
    high: float
    """Upper bound."""
    confidence: float
    p_two_sided: float
    degrees_of_freedom: float
    """Of Student's t distribution, by Satterthwaite's formula."""
    num_seeds: tuple[int, int]
    """Of the first recipe and the second; 0 for a system that is not trained."""
    num_sentences: int
    """0 if the seeds alone were compared."""

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "num_seeds": list(self.num_seeds)}

    def shown_p(self) -> str:
        """Return the two-sided p as text."""
        return "< 0.001" if self.p_two_sided < 0.001 else f"{self.p_two_sided:.3f}"


def compare_recipes(
    first: npt.ArrayLike, second: npt.ArrayLike, *, confidence: float = CONFIDENCE
) -> RecipeDifference:
    """Compare two recipes on the same sentences, over all seeds that could have been drawn.

    Args:
        first: [seeds, sentences] of right (1) or wrong (0), or of other scores whose mean is compared; [sentences]
            for a system that is not trained, which has no seeds.
        second: The same for the second recipe, which may have another number of seeds.
        confidence: Confidence level of the interval.

    Returns:
        The difference, its confidence interval and p.

    Raises:
        ConfigError: The shapes do not fit, a score is not finite, a recipe has only one seed, or the confidence is
            out of range.
    """
    check_settings(1, confidence)
    pair = [_finite(scores) for scores in (first, second)]
    if any(scores.ndim not in (1, 2) or not scores.size for scores in pair):
        raise ConfigError("answers must be a non-empty array [sentences] or [seeds, sentences]")
    if len({scores.shape[-1] for scores in pair}) > 1:
        sizes = " and ".join(f"{scores.shape[-1]:,}" for scores in pair)
        raise ConfigError(f"a paired test needs the same sentences: {sizes}")
    one, other = (scores.shape[0] if scores.ndim == 2 else 0 for scores in pair)
    _check_seeds(one, other)
    found = estimate_difference(*map(np.atleast_2d, pair))
    return _summarize_difference(found, confidence, (one, other), pair[0].shape[-1])


def compare_recipe_scores(
    first: npt.ArrayLike, second: npt.ArrayLike, *, confidence: float = CONFIDENCE
) -> RecipeDifference:
    """Compare two recipes by the scores of their seeds alone, by Welch's t-test.

    For scores without a record of single answers. The sentences are taken as given, so the result is about other
    seeds on the same test split only.

    Args:
        first: [seeds], one score each.
        second: The same for the second recipe.
        confidence: Confidence level of the interval.

    Raises:
        ConfigError: A recipe has no seeds or only one, a score is not finite, or the confidence is out of range.
    """
    check_settings(1, confidence)
    one, other = _finite(first), _finite(second)
    if any(scores.ndim != 1 or not scores.size for scores in (one, other)):
        raise ConfigError("scores must be a non-empty array [seeds]")
    _check_seeds(len(one), len(other))
    found = estimate_difference(one[:, None], other[:, None])
    return _summarize_difference(found, confidence, (len(one), len(other)), 0)


def _check_seeds(*counts: int) -> None:
    if 1 in counts:
        raise ConfigError("a recipe cannot be judged by one seed; give at least two of each")


Estimate = tuple[DoubleArray, DoubleArray, DoubleArray]
"""Differences, their variances and degrees of freedom."""


def estimate_difference(first: DoubleArray, second: DoubleArray) -> Estimate:
    """Estimate the difference between two recipes, for many experiments at once.

    Args:
        first: [..., seeds, sentences]; a single seed stands for a system that is not trained.
        second: [..., seeds, sentences].
    """
    parts = [_seed_parts(scores) for scores in (first, second)]
    num_sentences = first.shape[-1]
    differences = first.mean(-2) - second.mean(-2)
    by_seeds = parts[0].variance + parts[1].variance
    observed = _variance(differences, -1) / num_sentences
    # What seeds disagree on is in both variances, and is counted once. The result is never smaller than that of the
    # sentences alone, which matters where five seeds happen to be much alike.
    by_sentences = np.maximum(observed - parts[0].disagreement - parts[1].disagreement, 0)
    variance = np.asarray(np.maximum(by_seeds + by_sentences, observed))
    weights = (
        (variance - by_seeds) ** 2 / max(num_sentences - 1, 1)
        + parts[0].variance ** 2 / parts[0].freedom
        + parts[1].variance ** 2 / parts[1].freedom
    )
    freedom = np.divide(variance**2, weights, out=np.ones_like(variance), where=weights > 0)
    return np.asarray(differences.mean(-1)), variance, freedom


@dataclass(frozen=True, slots=True)
class _SeedParts:
    """What the seeds of one recipe add to the variance of its mean score."""

    variance: DoubleArray
    disagreement: DoubleArray
    """The part of it that is due to single sentences."""
    freedom: int


def _seed_parts(scores: DoubleArray) -> _SeedParts:
    num_seeds, num_sentences = scores.shape[-2:]
    variance = _variance(scores.mean(-1), -1) / num_seeds
    disagreement = _variance(scores, -2).mean(-1) / (num_seeds * num_sentences)
    return _SeedParts(variance, disagreement, max(num_seeds - 1, 1))


def _variance(values: DoubleArray, axis: int) -> DoubleArray:
    """The unbiased variance, 0 for a single value."""
    return values.var(axis, ddof=min(1, values.shape[axis] - 1))


def _summarize_difference(
    found: Estimate, confidence: float, num_seeds: tuple[int, int], num_sentences: int
) -> RecipeDifference:
    difference, variance, freedom = (float(value) for value in found)
    difference = round(difference, TIE_DECIMALS)
    margin = critical_t(confidence, freedom) * math.sqrt(variance)
    return RecipeDifference(
        difference=difference,
        low=difference - margin,
        high=difference + margin,
        confidence=confidence,
        p_two_sided=float(difference_p(found)),
        degrees_of_freedom=freedom,
        num_seeds=num_seeds,
        num_sentences=num_sentences,
    )


def difference_p(found: Estimate) -> DoubleArray:
    """Return the two-sided p of estimated differences."""
    difference, variance, freedom = found
    size = np.abs(difference)
    # Without any variance, a difference is certain and no difference is none.
    far = np.where(size > 10.0**-TIE_DECIMALS, np.inf, 0.0)
    return student_p(np.divide(size, np.sqrt(variance), out=far, where=variance > 0), freedom)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def student_p(t: npt.ArrayLike, freedom: npt.ArrayLike) -> DoubleArray:
    """Return the probability that Student's t is further from 0 than `t`.

    With t = sqrt(freedom) tan(a), the density is proportional to cos(a) ** (freedom - 1).
    """
    freedom = np.asarray(freedom, dtype=np.float64)
    start = np.arctan2(np.asarray(t, dtype=np.float64), np.sqrt(freedom))
    # Beyond twelve standard deviations nothing is left.
    width = np.minimum(np.pi / 2 - start, 12 / np.sqrt(freedom)) / 2
    angles = start[..., None] + width[..., None] * (_NODES + 1)
    density = np.cos(angles).clip(0) ** (freedom[..., None] - 1)
    log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])
    scale = np.exp(log_gamma((freedom + 1) / 2) - log_gamma(freedom / 2)) * 2 / math.sqrt(math.pi)
    return scale * width * (density @ _WEIGHTS)


def critical_t(confidence: float, freedom: float) -> float:
    """Return the t that is exceeded with probability 1 - confidence, by bisection."""
    low, high = 0.0, math.sqrt(freedom) * math.tan(math.pi / 2 - 1e-9)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > 1 - confidence else (low, middle)
    return high


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


def summarize_resamples(
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
    scores = _finite(correct)
    if scores.ndim == 2:
        scores = scores.mean(0)
    if scores.ndim != 1 or not scores.size:
        raise ConfigError("answers must be a non-empty array [sentences] or [seeds, sentences]")
    return scores


def _finite(scores: npt.ArrayLike) -> DoubleArray:
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ConfigError("scores must be finite numbers, not nan or inf")
    return values
