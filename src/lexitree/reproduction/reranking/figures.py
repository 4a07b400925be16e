"""The results of runs in, the figures of the experiment's record out: F1 beside its bounds, how sure, and heads."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexitree.evaluation.bracket_score import SentenceBrackets, f1_bootstrap
from lexitree.evaluation.heads import HeadOverlap
from lexitree.evaluation.significance import BootstrapResult
from lexitree.models.registry import encoder_class
from lexitree.reproduction.experiments import Experiment
from lexitree.reproduction.records import read_record
from lexitree.reproduction.reranking.plan import ListSet, RerankPlan, RerankTask, System
from lexitree.reproduction.runner import Settings
from lexitree.reranking.examples import BinaryList
from lexitree.reranking.heads import reranker_overlap
from lexitree.reranking.interpolation import ScoredList
from lexitree.reranking.run import MODEL_FOLDER
from lexitree.reranking.saved import load_reranker
from lexitree.reranking.scores import RerankScores, score_choices
from lexitree.trees.penn import strip_traces
from lexitree.trees.tree import Tree

SENTIMENT_RECORD, SENTIMENT_TREEBANK = "collins-overlap", "WSJ sample"
"""Where the overlap of the sentiment models on the same kind of text is recorded."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a system chose of one set of lists, seed by seed."""

    scores: Mapping[int, RerankScores]
    results: Mapping[int, Sequence[Mapping[str, Any]]]
    """The results of the parts of each seed."""

    @property
    def brackets(self) -> SentenceBrackets:
        """Of each sentence, summed up over the seeds."""
        tables = [scores.chosen.sentences for scores in self.scores.values()]
        matched = np.sum([table.matched for table in tables], 0)
        return matched, np.sum([table.gold + table.guessed for table in tables], 0)

    @property
    def first_brackets(self) -> SentenceBrackets:
        """The same of the parser's own choice, as often as there are seeds."""
        first = next(iter(self.scores.values())).bounds.first.sentences
        return len(self.scores) * first.matched, len(self.scores) * (first.gold + first.guessed)


def collect_figures(experiment: Experiment, plan: RerankPlan, settings: Settings) -> dict[str, Any]:
    """The figures of all systems whose seeds are done on a set of lists."""
    answers = {
        lists.name: {
            system.name: found
            for system in plan.systems
            if (found := _read_answers(plan, system, lists)) is not None
        }
        for lists in plan.list_sets
    }
    return {
        "lists": {
            lists.name: _describe_lists(lists, next(iter(answers[lists.name].values())))
            for lists in plan.list_sets
            if answers[lists.name]
        },
        "systems": _describe_systems(plan, answers),
        "comparisons": _compare(experiment, plan, answers),
        "heads": _overlaps(plan, answers),
        "sentiment_heads": _sentiment_heads(settings),
    }


def _read_answers(plan: RerankPlan, system: System, lists: ListSet) -> Answers | None:
    """None where a run is missing."""
    scores: dict[int, RerankScores] = {}
    results: dict[int, list[dict[str, Any]]] = {}
    for seed in plan.seeds:
        tasks = plan.tasks_of(system, lists, seed)
        found = [task.read_result() for task in tasks]
        done = [result for result in found if result is not None]
        if len(done) < len(tasks):
            return None
        scored = [_scored(each) for task in tasks for each in _tested(task)]
        choices = [choice for result in done for choice in result["test_choices"]]
        scores[seed], results[seed] = score_choices(scored, choices), done
    return Answers(scores, results)


def _tested(task: RerankTask) -> Sequence[BinaryList]:
    return task.lists.read_part(task.part, task.recipe.direction, task.data).test


def _scored(binary: BinaryList) -> ScoredList:
    """A list of which only the parser's scores and the counts are needed."""
    base = np.array([candidate.score for candidate in binary.source.candidates])
    return ScoredList(np.zeros_like(base), base, binary.counts)


def _describe_lists(lists: ListSet, answers: Answers) -> dict[str, Any]:
    kept = ("sentences", "k", "first_f1", "oracle_f1", "random_f1")
    summary = next(iter(answers.scores.values())).summary()
    return {"title": lists.title, "folds": lists.folds, **{name: summary[name] for name in kept}}


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
    """The figures of a system on a set of lists; its difference to the parser is that of all seeds together."""
    scores = list(answers.scores.values())
    some = next(iter(answers.results.values()))
    return {
        "num_parameters": some[0]["num_parameters"],
        "f1": [each.chosen.f1 for each in scores],
        "gap_closed": [each.gap_closed for each in scores],
        "significance": f1_bootstrap(answers.brackets, answers.first_brackets).as_dict(),
        "by_length": scores[0].by_length(),
        "by_label": scores[0].by_label(),
        "seeds": {
            str(seed): {
                "f1": answers.scores[seed].chosen.f1,
                "p": answers.scores[seed].significance.p_two_sided,
                "best_epochs": [result["best_epoch"] for result in results],
                "base_weights": [result["base_weight"] for result in results],
                "dev_f1": statistics.fmean(result["dev_f1"] for result in results),
                "seconds": sum(result["seconds"] for result in results),
            }
            for seed, results in answers.results.items()
        },
    }


def _compare(
    experiment: Experiment, plan: RerankPlan, answers: Mapping[str, Mapping[str, Answers]]
) -> list[dict[str, Any]]:
    """The systems of each pair against each other, on every set of lists that both have."""
    compared: list[dict[str, Any]] = []
    for first, second in experiment.details["comparisons"]:
        for lists in plan.list_sets:
            found = answers[lists.name]
            if first in found and second in found:
                result: BootstrapResult = f1_bootstrap(found[first].brackets, found[second].brackets)
                compared.append({"first": first, "second": second, "lists": lists.name, **result.as_dict()})
    return compared


def _overlaps(plan: RerankPlan, answers: Mapping[str, Mapping[str, Answers]]) -> list[dict[str, Any]]:
    """How often learned heads are Collins' on the gold trees of the tests, by lists, system and kind of phrase."""
    return [
        row
        for lists in plan.list_sets
        for system in plan.systems
        if system.name in answers[lists.name] and encoder_class(system.model).has_heads
        for row in _overlap_rows(plan, system, lists)
    ]


def _overlap_rows(plan: RerankPlan, system: System, lists: ListSet) -> list[dict[str, Any]]:
    by_seed = [[_measure(task) for task in plan.tasks_of(system, lists, seed)] for seed in plan.seeds]
    rows: list[dict[str, Any]] = []
    for place, kind in enumerate(by_seed[0][0].rows()):
        parts = [[overlap.rows()[place] for overlap in seed] for seed in by_seed]
        counts = [part.num_phrases for part in parts[0]]
        rows.append(
            {
                "lists": lists.name,
                "system": system.name,
                "phrases": kind.phrases,
                "num_phrases": sum(counts),
                "learned": [_mean([part.learned for part in seed], counts) for seed in parts],
                **{
                    choice: _mean([getattr(part, choice) for part in parts[0]], counts)
                    for choice in ("always_left", "always_right", "random_child")
                },
            }
        )
    return rows


def _measure(task: RerankTask) -> HeadOverlap:
    """The overlap on sentences that the model has not seen."""
    gold = [_without_traces(each.source.gold) for each in _tested(task)]
    return reranker_overlap(load_reranker(task.folder / MODEL_FOLDER, device=task.device).model, gold)


def _without_traces(tree: Tree | None) -> Tree:
    kept = None if tree is None else strip_traces(tree)
    assert kept is not None, "lists that are scored have gold trees with words"
    return kept


def _mean(shares: Sequence[float], counts: Sequence[int]) -> float:
    return float(np.average(shares, weights=counts)) if sum(counts) else 0.0


def _sentiment_heads(settings: Settings) -> dict[str, Any] | None:
    """What the models for sentiment have on the Wall Street Journal, by the record of that experiment."""
    record = read_record(settings.results / f"{SENTIMENT_RECORD}.json")
    if record is None:
        return None
    banks = [bank for bank in record["figures"]["treebanks"] if bank["name"] == SENTIMENT_TREEBANK]
    rows = {row["phrases"]: row["learned"] for bank in banks for row in bank["rows"]}
    return {"treebank": SENTIMENT_TREEBANK, "rows": rows} if rows else None
