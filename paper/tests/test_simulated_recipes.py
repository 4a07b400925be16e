"""The test between recipes keeps its level, and finds large differences, in simulations from records."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
SIMULATION: Any = importlib.import_module("simulate_recipes")

NUM_SIMULATED = 2000
"""The standard error of a level of 5 % is then half a point."""


@cache
def effects_of(record: str) -> tuple[Any, Any]:
    """How seeds and sentences vary in our records: in most recipes, and in the most variable one."""
    return SIMULATION.fit_effects(SIMULATION.read_systems(record))


def share_significant(effects: list[Any], gain: float = 0.0) -> dict[str, float]:
    names = ["seeds_and_sentences", "sentences_only", "seeds_only"]
    return SIMULATION.share_significant(names, effects, (5, 5), NUM_SIMULATED, 1, gain)


@pytest.mark.parametrize("record", ["sst-bicontree", "trec-bicontree"])
def test_equal_recipes_differ_significantly_one_time_in_twenty(record: str) -> None:
    usual, _ = effects_of(record)
    found = share_significant([usual] * 2)
    assert 0.03 <= found["seeds_and_sentences"] <= 0.06
    assert found["seeds_only"] > 0.1, "the simulation can tell tests apart"


def test_the_level_is_kept_where_seeds_vary_most() -> None:
    _, most = effects_of("trec-bicontree")
    found = share_significant([most] * 2)
    assert 0.03 <= found["seeds_and_sentences"] <= 0.06
    assert found["sentences_only"] > 0.07, "sentences alone say nothing of recipes"


def test_a_large_difference_is_found() -> None:
    usual, _ = effects_of("trec-bicontree")
    assert share_significant([usual] * 2, gain=0.03)["seeds_and_sentences"] > 0.9


def test_simulated_answers_vary_as_the_recorded_ones() -> None:
    systems = SIMULATION.read_systems("trec-bicontree")
    usual, _ = effects_of("trec-bicontree")
    pairs = list(SIMULATION.simulate([usual] * 2, [5, 5], 500, np.random.default_rng(1)))
    first, second = (np.concatenate(answers) for answers in zip(*pairs, strict=True))
    assert first.mean() == pytest.approx(usual.accuracy, abs=0.002)
    spread = np.mean([right.mean(1).var(ddof=1) for right in systems])
    assert first.mean(-1).var(-1, ddof=1).mean() == pytest.approx(spread, rel=0.1)
    recorded = np.mean([(one[0] == one[1]).mean() for one in systems])
    assert (first[:, 0] == first[:, 1]).mean() == pytest.approx(recorded, abs=0.01)
    others = np.mean([(one[0] == systems[0][0]).mean() for one in systems[1:]])
    assert (first[:, 0] == second[:, 0]).mean() == pytest.approx(others, abs=0.01)
