"""The figures of the reranking experiment: F1 beside its bounds, significance, and learned heads."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexitree.arrays import DoubleArray
from lexitree.evaluation.bracket_score import share_f1
from lexitree.evaluation.significance import compare_recipes
from lexitree_paper.experiments import Experiment
from lexitree_paper.rerank.examples import BinaryList
from lexitree_paper.rerank.scores import RerankScores, score_choices
from lexitree_paper.rerank.scoring import ScoredList
from lexitree_paper.reranking.plan import ListSet, RerankPlan
from lexitree_paper.reranking.recorded import CHILD_CHOICES, Runs, read_choices
from lexitree_paper.run_records import read_record
from lexitree_paper.runner import Settings

SENTIMENT_RECORD, SENTIMENT_TREEBANK = "collins-overlap", "WSJ sample"
"""The record of the sentiment models' overlap on the same kind of text."""

Entries = Mapping[str, Mapping[str, Any]]
"""Results of a system on some lists, by seed."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The choices of a system for one set of lists, by seed."""

    scores: Mapping[str, RerankScores]
    entries: Entries

    @property
    def f1_shares(self) -> DoubleArray:
        """What each sentence adds to F1: [seeds, sentences]."""
        return np.stack([share_f1(scores.chosen) for scores in self.scores.values()])

    @property
    def some(self) -> RerankScores:
        """The scores of one seed; the parser's own choice and the bounds are the same for all."""
        return next(iter(self.scores.values()))


def collect_figures(
    experiment: Experiment, plan: RerankPlan, runs: Runs, settings: Settings
) -> dict[str, Any]:
    """Return the figures of all systems on all lists, over the available seeds."""
    list_sets = [lists for lists in plan.list_sets if lists.name in runs]
    answers = {lists.name: _score_runs(plan, lists, runs, settings.data) for lists in list_sets}
    return {
        "lists": {
            lists.name: _describe_lists(lists, next(iter(answers[lists.name].values())).some)
            for lists in list_sets
        },
        "systems": _describe_systems(plan, answers),
        "comparisons": _compare(experiment, answers),
        "heads": [row for name, found in answers.items() for row in _overlap_rows(name, found)],
        "sentiment_heads": _sentiment_heads(settings),
        "drawn": _drawn(experiment, answers),
    }


def _score_runs(plan: RerankPlan, lists: ListSet, runs: Runs, data: str | None) -> dict[str, Answers]:
    """Score the systems, in the order of the table."""
    parts = [lists.read_part(part, plan.recipe.direction, data) for part in range(lists.num_parts)]
    scored = [_scored(each) for part in parts for each in part.test]
    known: Mapping[str, Entries] = runs[lists.name]["systems"]
    found: dict[str, Answers] = {}
    for system in plan.systems:
        entries = known.get(system.name, {})
        by_seed = {seed: entries[seed] for seed in sorted(entries, key=int)}
        scores = {
            seed: score_choices(scored, read_choices(entry["choices"])) for seed, entry in by_seed.items()
        }
        if scores:
            found[system.name] = Answers(scores, by_seed)
    return found


def _scored(binary: BinaryList) -> ScoredList:
    """Return a list with the parser's scores and the counts only."""
    base = np.array([candidate.score for candidate in binary.source.candidates])
    return ScoredList(np.zeros_like(base), base, binary.counts)


def _describe_lists(lists: ListSet, scores: RerankScores) -> dict[str, Any]:
    kept = ("sentences", "k", "first_f1", "oracle_f1", "random_f1")
    summary = scores.summary()
    return {
        "title": lists.title,
        "folds": lists.folds,
        "dev_share": lists.dev_share,
        **{name: summary[name] for name in kept},
    }


def _describe_systems(plan: RerankPlan, answers: Mapping[str, Mapping[str, Answers]]) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for system in plan.systems:
        figures = {
            name: _describe(found[system.name]) for name, found in answers.items() if system.name in found
        }
        if figures:
            described[system.name] = {"model": system.model, **figures}
    return described


def _describe(answers: Answers) -> dict[str, Any]:
    """Return the figures of a system on a set of lists, beside the parser's own choice, which has no seeds."""
    scores = list(answers.scores.values())
    return {
        "num_parameters": next(iter(answers.entries.values()))["num_parameters"],
        "f1": [each.chosen.f1 for each in scores],
        "gap_closed": [each.gap_closed for each in scores],
        "significance": compare_recipes(answers.f1_shares, share_f1(answers.some.bounds.first)).as_dict()
        if len(scores) > 1
        else None,
        "by_length": _mean_rows([each.by_length() for each in scores], "first"),
        "by_label": _mean_rows([each.by_label() for each in scores], "label"),
        "seeds": {
            seed: {
                "f1": answers.scores[seed].chosen.f1,
                "p": answers.scores[seed].significance.p_two_sided,
                **{name: entry[name] for name in ("best_epochs", "base_weights", "dev_f1", "seconds")},
            }
            for seed, entry in answers.entries.items()
        },
    }


def _mean_rows(by_seed: Sequence[Sequence[Mapping[str, Any]]], key: str) -> list[dict[str, Any]]:
    """Average F1 over seeds; a label that is not in the gold trees may be missing from some."""
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for rows in by_seed:
        for row in rows:
            found.setdefault(row[key], []).append(row)
    return [{**rows[0], "f1": statistics.fmean(row["f1"] for row in rows)} for rows in found.values()]


def _compare(experiment: Experiment, answers: Mapping[str, Mapping[str, Answers]]) -> list[dict[str, Any]]:
    """Compare the systems of each pair on all lists, if both have several seeds."""
    compared: list[dict[str, Any]] = []
    for first, second in experiment.details["comparisons"]:
        for name, found in answers.items():
            pair = [found[system] for system in (first, second) if system in found]
            if len(pair) == 2 and min(len(each.scores) for each in pair) > 1:
                result = compare_recipes(*(each.f1_shares for each in pair))
                compared.append({"first": first, "second": second, "lists": name, **result.as_dict()})
    return compared


def _overlap_rows(lists: str, found: Mapping[str, Answers]) -> list[dict[str, Any]]:
    """Return how often learned heads agree with Collins' rules on gold test trees."""
    rows: list[dict[str, Any]] = []
    for system, answers in found.items():
        by_seed = [entry["heads"] for entry in answers.entries.values() if "heads" in entry]
        for kinds in zip(*by_seed, strict=True):
            first = kinds[0]
            rows.append(
                {
                    "lists": lists,
                    "system": system,
                    "phrases": first["phrases"],
                    "num_phrases": first["num_phrases"],
                    "learned": [kind["learned"] for kind in kinds],
                    **{name: first[name] for name in CHILD_CHOICES},
                }
            )
    return rows


def _drawn(experiment: Experiment, answers: Mapping[str, Mapping[str, Answers]]) -> dict[str, Any] | None:
    """Return the heads of the sentences to draw, by the first seed of the shown system on the first lists."""
    for name, found in answers.items():
        shown = found.get(experiment.details["shown"])
        if shown is not None:
            seed, entry = next(iter(shown.entries.items()))
            return {
                "lists": name,
                "system": experiment.details["shown"],
                "seed": int(seed),
                "heads": entry["drawn"],
            }
    return None


def _sentiment_heads(settings: Settings) -> dict[str, Any] | None:
    """Return the overlap of the sentiment models on the Wall Street Journal, from its record."""
    record = read_record(settings.results, SENTIMENT_RECORD)
    if record is None:
        return None
    banks = [bank for bank in record["figures"]["treebanks"] if bank["name"] == SENTIMENT_TREEBANK]
    rows = {row["phrases"]: row["learned"] for bank in banks for row in bank["rows"]}
    return {"treebank": SENTIMENT_TREEBANK, "rows": rows} if rows else None
