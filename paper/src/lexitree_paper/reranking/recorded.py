"""Merges the answers of new runs with those of an older record."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexitree.errors import CorpusNotFoundError
from lexitree.evaluation.answers import answers_from_text, answers_to_text
from lexitree_paper.reranking.plan import ListSet, RerankPlan, RerankTask, data_checksums, is_same_recipe
from lexitree_paper.reranking.run_answers import read_answer

Runs = dict[str, dict[str, Any]]
"""For each set of lists: checksums of its `data`, and results of its `systems` by name and seed."""

ORIGIN = ("commit", "source", "date", "machine")
"""Where an answer comes from; older ones have no digest of the sources."""
CHILD_CHOICES = ("always_left", "always_right", "random_child")
"""Heads without a model, to compare with learned ones."""


def recorded_runs(record: Mapping[str, Any] | None, plan: RerankPlan, data: str | None) -> Runs:
    """Return the recorded runs with the same recipe, lists and vectors, which need not be repeated.

    If a file is missing, the record is trusted: nothing could be run anyway.
    """
    if not record or "runs" not in record or not is_same_recipe(record["settings"], plan.recipe):
        return {}
    runs: Runs = copy.deepcopy(record["runs"])
    return {
        lists.name: runs[lists.name]
        for lists in plan.list_sets
        if lists.name in runs and _is_same_data(runs[lists.name]["data"], lists, plan, data)
    }


def _is_same_data(recorded: Mapping[str, str], lists: ListSet, plan: RerankPlan, data: str | None) -> bool:
    try:
        return recorded == data_checksums(lists, plan.recipe, data)
    except CorpusNotFoundError:
        return True


def has_lists(plan: RerankPlan, data: str | None) -> bool:
    """Return whether the files of all lists are here."""
    try:
        return all(lists.files(data) for lists in plan.list_sets)
    except CorpusNotFoundError:
        return False


def has_run(runs: Runs, task: RerankTask) -> bool:
    """Return whether the seed of a run is recorded."""
    systems = runs.get(task.lists.name, {}).get("systems", {})
    return str(task.seed) in systems.get(task.system.name, {})


def add_answers(runs: Runs, plan: RerankPlan, data: str | None) -> Runs:
    """Add the seeds of the plan whose parts are all done, replacing older results."""
    merged = copy.deepcopy(runs)
    for lists in plan.list_sets:
        for system in plan.systems:
            for seed in plan.seeds:
                entry = _join_parts(plan.tasks_of(system, lists, seed))
                if entry is not None:
                    known = merged.setdefault(
                        lists.name, {"data": data_checksums(lists, plan.recipe, data), "systems": {}}
                    )
                    known["systems"].setdefault(system.name, {})[str(seed)] = entry
    return merged


def _join_parts(tasks: Sequence[RerankTask]) -> dict[str, Any] | None:
    """Join the parts of one seed; None if one is missing."""
    found = [read_answer(task) for task in tasks]
    parts = [answer for answer in found if answer is not None]
    if not tasks or len(parts) < len(tasks):
        return None
    newest = max(parts, key=lambda part: part["date"])
    choices = [choice for part in parts for choice in part["choices"]]
    return {
        **{name: newest[name] for name in (*ORIGIN, "num_parameters") if name in newest},
        "best_epochs": [part["best_epoch"] for part in parts],
        "base_weights": [part["base_weight"] for part in parts],
        "dev_f1": statistics.fmean(part["dev_f1"] for part in parts),
        "seconds": sum(part["seconds"] for part in parts),
        # One character each if lists are short enough.
        "choices": answers_to_text(choices) or choices,
        **({"heads": _join_heads(parts), "drawn": parts[0]["drawn"]} if "heads" in parts[0] else {}),
    }


def read_choices(written: str | list[int]) -> list[int]:
    return answers_from_text(written).tolist() if isinstance(written, str) else written


def _join_heads(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Average the overlap over parts, weighted by phrases."""
    rows: list[dict[str, Any]] = []
    for kinds in zip(*(part["heads"] for part in parts), strict=True):
        counts = [kind["num_phrases"] for kind in kinds]
        shares = {
            name: float(np.average([kind[name] for kind in kinds], weights=counts)) if sum(counts) else 0.0
            for name in ("learned", *CHILD_CHOICES)
        }
        rows.append({"phrases": kinds[0]["phrases"], "num_phrases": sum(counts), **shares})
    return rows
