"""How far probabilities are from the shares of right answers, and how one temperature changes that."""

from __future__ import annotations

import numpy as np

from lexitree.arrays import DoubleArray, IndexArray

NUM_BINS = 15
_TEMPERATURES = np.geomspace(0.25, 4.0, 161)


def expected_calibration_error(probabilities: DoubleArray, gold: IndexArray) -> float:
    """The mean distance between confidence and accuracy over bins of equal width, weighted by their sizes."""
    confidence = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == gold
    bins = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    gaps = [
        (bins == number).mean() * abs(confidence[bins == number].mean() - is_right[bins == number].mean())
        for number in np.unique(bins)
    ]
    return float(np.sum(gaps))


def cross_fitted(probabilities: DoubleArray, gold: IndexArray) -> tuple[DoubleArray, list[float]]:
    """Each half of the rows (odd and even) with the temperature that suits the other half, and the temperatures."""
    result = probabilities.copy()
    temperatures: list[float] = []
    is_odd = np.arange(len(gold)) % 2 == 1
    for scored in (is_odd, ~is_odd):
        temperature = best_temperature(probabilities[~scored], gold[~scored])
        result[scored] = with_temperature(probabilities[scored], temperature)
        temperatures.append(temperature)
    return result, temperatures


def best_temperature(probabilities: DoubleArray, gold: IndexArray) -> float:
    """The temperature with the least log loss."""
    rows = np.arange(len(gold))
    losses = [
        -np.log(with_temperature(probabilities, temperature)[rows, gold] + 1e-12).mean()
        for temperature in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def with_temperature(probabilities: DoubleArray, temperature: float) -> DoubleArray:
    powers = (probabilities + 1e-12) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)
