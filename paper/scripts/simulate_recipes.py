"""Simulate the tests between recipes with seeds that vary as in our records: false positives and power.

    python paper/scripts/simulate_recipes.py

Writes the record `significance`. Two recipes are simulated by a probit model: a sentence is answered correctly if a
sum of normal effects exceeds a threshold. The effects are those of the sentence, of the recipe on the sentence, of
the seed, and of the seed on the sentence; `fit_effects` estimates their sizes from the answers of recorded recipes.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import root_path  # noqa: F401
from lexitree.arrays import DoubleArray
from lexitree.evaluation.significance import difference_p, estimate_difference
from lexitree_paper.run_records import GOLD, list_records, read_named
from lexitree_paper.score_tables import right_answers
from result_records import PAPER_RESULTS, describe_run, write_record

NORMAL = statistics.NormalDist()
LEVEL, POWER = 0.05, 0.8
FEWEST_SEEDS = 5
TASKS = {
    "SST, 5 classes": "sst-bicontree",
    "SST, 2 classes": "sst-binary-bicontree",
    "TREC": "trec-bicontree",
}
"""A record of each task: its test sentences are those of the task."""
SIMULATED_AT_ONCE = 100

Answers = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Effects:
    """What decides whether an answer is right, as shares of the variance of a probit model."""

    accuracy: float
    num_sentences: int
    by_sentence: float
    """Shared by all recipes."""
    by_recipe: float
    """Of a recipe on single sentences."""
    seed_deviation: float
    """Standard deviation of the seed's effect on all sentences; very small beside the others."""


def fit_effects(systems: Sequence[Answers]) -> tuple[Effects, Effects]:
    """Estimate the effects from answers [seeds, sentences]; the second has the seeds of the most variable recipe."""
    accuracy = statistics.fmean(float(right.mean()) for right in systems)
    num_sentences = systems[0].shape[1]
    within = [_agreement(right, right) for right in systems]
    between = [_agreement(one, other) for one, other in combinations(systems, 2)]
    same_recipe, same_sentence = (_probit_correlation(accuracy, np.mean(each)) for each in (within, between))
    # The variance of seeds beyond what their disagreement on single sentences gives.
    noise = [right.var(0, ddof=1).mean() / num_sentences for right in systems]
    spread = [right.mean(1).var(ddof=1) for right in systems]
    slope = NORMAL.pdf(NORMAL.inv_cdf(accuracy))
    usual, most = (
        Effects(
            accuracy,
            num_sentences,
            same_sentence,
            same_recipe - same_sentence,
            math.sqrt(max(variance - np.mean(noise), 0)) / slope,
        )
        for variance in (np.mean(spread), max(spread))
    )
    return usual, most


def _agreement(one: Answers, other: Answers) -> float:
    """The covariance of being right, between different seeds of one recipe or between two recipes."""
    counts, num = one.sum(0), len(one)
    if one is other:
        return float((counts * (counts - 1)).mean() / (num * (num - 1)) - one.mean() ** 2)
    return float((one.mean(0) * other.mean(0)).mean() - one.mean() * other.mean())


def _probit_correlation(accuracy: float, covariance: float) -> float:
    """The correlation of two normal variables that exceed a threshold together as often as found (by bisection)."""
    threshold = -NORMAL.inv_cdf(accuracy)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        # The derivative of the joint probability by the correlation is the density of both at the threshold.
        r = middle * (nodes + 1) / 2
        density = np.exp(-(threshold**2) / (1 + r)) / (2 * math.pi * np.sqrt(1 - r**2))
        low, high = (middle, high) if middle / 2 * (density @ weights) < covariance else (low, middle)
    return low


def simulate(
    effects: Sequence[Effects],
    num_seeds: Sequence[int],
    count: int,
    rng: np.random.Generator,
    gain: float = 0.0,
) -> Iterator[tuple[DoubleArray, DoubleArray]]:
    """Yield experiments, some at a time: answers [experiments, seeds, sentences] of two recipes.

    Args:
        effects: Of the first recipe and the second; the sentences' own are those of the first.
        num_seeds: Of each recipe.
        count: Number of experiments.
        rng: Random generator.
        gain: By how much the first recipe's expected accuracy is higher.
    """

    def normal(variance: float, *shape: int) -> npt.NDArray[np.float32]:
        return rng.standard_normal(shape, dtype=np.float32) * np.float32(math.sqrt(variance))

    for done in range(0, count, SIMULATED_AT_ONCE):
        num, width = min(SIMULATED_AT_ONCE, count - done), effects[0].num_sentences
        sentences = normal(effects[0].by_sentence, num, 1, width)
        answers: list[DoubleArray] = []
        for each, seeds, more in zip(effects, num_seeds, (gain, 0.0), strict=True):
            rest = max(1 - effects[0].by_sentence - each.by_recipe, 0.0)
            total = sentences + normal(each.by_recipe, num, 1, width) + normal(rest, num, seeds, width)
            total += normal(each.seed_deviation**2, num, seeds, 1)
            answers.append((total > -NORMAL.inv_cdf(each.accuracy + more)).astype(np.float64))
        yield answers[0], answers[1]


def by_both(first: DoubleArray, second: DoubleArray) -> DoubleArray:
    """p over seeds and sentences: the test of `compare_recipes`."""
    return difference_p(estimate_difference(first, second))


def by_seeds(first: DoubleArray, second: DoubleArray) -> DoubleArray:
    """p by Welch's t over seeds, which takes the sentences as given."""
    return difference_p(estimate_difference(*(each.mean(-1, keepdims=True) for each in (first, second))))


def by_sentences(first: DoubleArray, second: DoubleArray) -> DoubleArray:
    """p over sentences, in the limit of many resamples of the paired bootstrap."""
    return difference_p(estimate_difference(*(each.mean(-2, keepdims=True) for each in (first, second))))


def by_resampling_both(first: DoubleArray, second: DoubleArray) -> DoubleArray:
    """p of a bootstrap that draws seeds and sentences with replacement (200 times)."""
    rng = np.random.default_rng(0)
    num_sentences, num = first.shape[-1], 200
    counts = rng.multinomial(num_sentences, np.full(num_sentences, 1 / num_sentences), num) / num_sentences
    means: list[DoubleArray] = []
    for scores in (first, second):
        num_seeds = scores.shape[-2]
        seeds = rng.multinomial(num_seeds, np.full(num_seeds, 1 / num_seeds), num) / num_seeds
        # As one matrix product, which is many times faster than one for each experiment.
        drawn = (scores.reshape(-1, num_sentences) @ counts.T).reshape(-1, num_seeds, num)
        means.append((drawn * seeds.T).sum(1))
    ahead = (means[0] > means[1]).mean(-1) + (means[0] == means[1]).mean(-1) / 2
    return np.minimum(1, 2 * np.minimum(ahead, 1 - ahead))


TESTS: dict[str, Callable[[DoubleArray, DoubleArray], DoubleArray]] = {
    "seeds_and_sentences": by_both,
    "sentences_only": by_sentences,
    "seeds_only": by_seeds,
    "bootstrap_of_both": by_resampling_both,
}


def share_significant(
    names: Sequence[str],
    effects: Sequence[Effects],
    num_seeds: Sequence[int],
    count: int,
    seed: int,
    gain: float = 0.0,
) -> dict[str, float]:
    """How often each test has p below 5 %."""
    found: dict[str, list[DoubleArray]] = {name: [] for name in names}
    for pair in simulate(effects, num_seeds, count, np.random.default_rng(seed), gain):
        for name in names:
            found[name].append(TESTS[name](*pair) < LEVEL)
    return {name: float(np.concatenate(values).mean()) for name, values in found.items()}


def smallest_gain(effects: Effects, num_seeds: int, count: int, seed: int) -> float:
    """The difference in accuracy that is found significant with 80 % probability, by bisection."""
    low, high = 0.0, 0.999 - effects.accuracy
    for _ in range(10):
        middle = (low + high) / 2
        power = share_significant(
            ["seeds_and_sentences"], [effects] * 2, [num_seeds] * 2, count, seed, middle
        )
        low, high = (middle, high) if power["seeds_and_sentences"] < POWER else (low, middle)
    return (low + high) / 2


def read_systems(record: str) -> list[Answers]:
    """The answers of all recipes with enough seeds that were tested on the sentences of a record."""
    found = read_named(PAPER_RESULTS, list_records(PAPER_RESULTS))
    gold = found[record][GOLD]
    rights = [
        right_answers(each)
        for each in found.values()
        if each.get(GOLD) == gold and len(each["seeds"]) >= FEWEST_SEEDS
    ]
    return [right for right in rights if right is not None]


def describe_task(
    task: str, record: str, count: int, seed: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The power of a task, and its false positives in several situations."""
    systems = read_systems(record)
    usual, most = fit_effects(systems)
    same = dataclasses.replace(usual, by_sentence=usual.by_sentence + usual.by_recipe, by_recipe=0.0)
    situations = {
        "seeds as recorded": ([usual, usual], [5, 5]),
        "ten seeds each": ([usual, usual], [10, 10]),
        "five seeds and ten": ([usual, usual], [5, 10]),
        "five seeds and three": ([usual, usual], [5, 3]),
        "seeds of the most variable recipe": ([most, most], [5, 5]),
        "only one recipe's seeds vary so": ([most, usual], [5, 5]),
        "one recipe twice": ([same, same], [5, 5]),
    }
    false_positives = [
        {"task": task, "situation": name, **share_significant(list(TESTS), *values, count, seed)}
        for name, values in situations.items()
    ]
    power = {
        "task": task,
        "recipes": len(systems),
        "sentences": usual.num_sentences,
        "root": usual.accuracy,
        "root_deviation": math.sqrt(np.mean([right.mean(1).var(ddof=1) for right in systems])),
        **{f"points_shown_by_{num}_seeds": 100 * smallest_gain(usual, num, count, seed) for num in (5, 10)},
    }
    return power, false_positives


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="experiments of each kind (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default 1)")
    options = parser.parse_args()
    tasks = [describe_task(*names, options.count, options.seed) for names in TASKS.items()]
    record = {
        **describe_run({}),
        "what": "tests between recipes, simulated",
        "seeds": [options.seed],
        "experiments": options.count,
        "power": [power for power, _ in tasks],
        "rows": [row for _, rows in tasks for row in rows],
    }
    print(write_record("significance", record).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
