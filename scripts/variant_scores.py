"""Average the development scores of variants over seeds."""

from __future__ import annotations

import statistics
from typing import Any


def summarise(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every variant with its means over seeds, the best plateau of each recipe first."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in runs:
        grouped.setdefault((run["recipe"], run["variant"]), []).append(run)
    rows = [summarise_variant(*names, group) for names, group in grouped.items()]
    return sorted(rows, key=lambda row: (row["recipe"], -row["plateau_root"]))


def summarise_variant(recipe: str, variant: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The scores of the best epoch, and root over the five epochs in a row that are best together.

    The best of many epochs is half luck: a plateau is less so.
    """
    best = [best_epoch(run["dev_root"]) for run in runs]
    roots = [run["dev_root"][epoch] for run, epoch in zip(runs, best, strict=True)]
    phrases = [run["dev_phrase"][epoch] for run, epoch in zip(runs, best, strict=True)]
    plateaus = [plateau(run["dev_root"]) for run in runs]
    return {
        "recipe": recipe,
        "variant": variant,
        "seeds": len(runs),
        "best_epoch": statistics.fmean(best) + 1,
        "dev_root": statistics.fmean(roots),
        "dev_root_deviation": deviation(roots),
        "dev_phrase": None if None in phrases else statistics.fmean(phrases),
        "plateau_root": statistics.fmean(plateaus),
        "plateau_root_deviation": deviation(plateaus),
    }


def best_epoch(scores: list[float]) -> int:
    """From 0 on; of equal ones the later, as in training."""
    return max(range(len(scores)), key=lambda epoch: (scores[epoch], epoch))


def plateau(scores: list[float], width: int = 5) -> float:
    width = min(width, len(scores))
    return max(statistics.fmean(scores[first : first + width]) for first in range(len(scores) - width + 1))


def deviation(values: list[float]) -> float | None:
    """None for one seed, of which nothing is known of others."""
    return statistics.stdev(values) if len(values) > 1 else None
