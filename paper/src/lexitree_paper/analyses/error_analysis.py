"""The error analysis: where two systems differ, and its tables."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexitree.arrays import BoolArray
from lexitree.evaluation.accuracy import confusion
from lexitree.evaluation.answers import SystemAnswers
from lexitree.evaluation.significance import RecipeDifference, compare_recipes
from lexitree.pipeline.predictor import Predictor
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views.visible import shown_word
from lexitree_paper.analyses.accuracy_by_length import share_with_deviation
from lexitree_paper.analyses.job import Findings, Job, collect_test_answers
from lexitree_paper.analyze.mistakes import agreement, class_masks, kind_masks, take_slice, won_examples
from lexitree_paper.experiments import Experiment
from lexitree_paper.report import NOT_RUN, Report, Table, list_counts, training_notes
from lexitree_paper.score_tables import SIGNIFICANCE_NOTES, result_cells
from lexitree_paper.trained import TrainedSystem

NUM_EXAMPLES = 5
"""Number of example sentences of each kind."""


def analyse_errors(job: Job) -> Findings:
    """Compare the second system with the first, sentence by sentence."""
    examples = [tree_from_brackets(entry["tree"]) for entry in job.experiment.details["sentences"]]
    answers, found, corpus = collect_test_answers(job)
    baseline, system = answers
    names = dict(zip(corpus.labels, corpus.label_set.names, strict=True))
    figures = {
        "split": f"{corpus.name} test",
        "label_names": names,
        "slices": compare_slices(system, baseline),
        "agreement": agreement(system, baseline).as_dict(),
        "confusions": {one.name: mean_confusion(one) for one in answers},
        "won": [example.as_dict() for example in won_examples(system, baseline, limit=NUM_EXAMPLES)],
        "lost": [example.as_dict() for example in won_examples(baseline, system, limit=NUM_EXAMPLES)],
        "num_won": len(won_examples(system, baseline, limit=None)),
        "num_lost": len(won_examples(baseline, system, limit=None)),
        "paper_sentences": _ask_examples(found.systems, examples),
    }
    return dataclasses.replace(found, figures=figures)


def compare_slices(system: SystemAnswers, baseline: SystemAnswers) -> list[dict[str, Any]]:
    """Compare accuracies on all sentences, by class, with negation and on long ones, with significance."""
    everything: dict[str, BoolArray] = {"all sentences": np.ones(len(system.gold), dtype=np.bool_)}
    masks = {**everything, **class_masks(system), **kind_masks(system)}
    # One seed says nothing of a recipe.
    has_seeds = min(len(system.correct), len(baseline.correct)) > 1
    return [
        {
            **take_slice(title, [baseline, system], chosen).as_dict(),
            "significance": compare_recipes(system.correct[:, chosen], baseline.correct[:, chosen]).as_dict()
            if chosen.any() and has_seeds
            else None,
        }
        for title, chosen in masks.items()
    ]


def mean_confusion(system: SystemAnswers) -> list[list[float]]:
    """Return the confusion matrix [gold, predicted], averaged over seeds."""
    answers = system.probabilities.argmax(2)
    counts = [confusion(system.gold, said, system.label_set.names).counts for said in answers]
    return np.mean(counts, axis=0).round(4).tolist()


def _ask_examples(systems: Sequence[TrainedSystem], trees: Sequence[Tree]) -> list[dict[str, Any]]:
    """Count the labels and heads that the seeds of each system choose for the paper's examples."""
    found: list[dict[str, Any]] = [
        {"text": " ".join(map(shown_word, tree.words)), "gold": tree.label, "labels": {}, "heads": {}}
        for tree in trees
    ]
    for system in systems:
        predictions = [list(Predictor(model).predict_all(trees)) for model in system.models()]
        for place, entry in enumerate(found):
            said = [by_tree[place] for by_tree in predictions]
            entry["labels"][system.name] = dict(Counter(one.label_id for one in said).most_common())
            heads = [head for one in said if (head := one.head()) is not None]
            if heads:
                entry["heads"][system.name] = dict(Counter(heads).most_common())
    return found


def report_errors(experiment: Experiment, record: Mapping[str, Any]) -> Report:
    """Make the tables: slices, agreement, confusion matrices and examples."""
    baseline, system = record["systems"]
    figures: dict[str, Any] = record["figures"]
    tables = [
        _slices(experiment, record, baseline, system),
        _agreement(figures, baseline, system),
        *(_confusion(figures, name) for name in (baseline, system)),
        _examples(figures, figures["won"], system, baseline, figures["num_won"]),
        _examples(figures, figures["lost"], baseline, system, figures["num_lost"]),
        _paper_sentences(experiment, figures, [baseline, system]),
    ]
    return Report(tuple(tables))


def _slices(experiment: Experiment, record: Mapping[str, Any], baseline: str, system: str) -> Table:
    paper: dict[str, float] = experiment.details["paper"]
    columns = (
        "sentences",
        "count",
        baseline,
        system,
        "difference",
        "95 % between",
        "p",
        "the paper's difference",
    )
    rows = [
        (
            part["title"],
            f"{part['num_sentences']:,}",
            share_with_deviation(part, baseline),
            share_with_deviation(part, system),
            *result_cells(RecipeDifference(**part["significance"]) if part["significance"] else None),
            f"{paper[part['title']]:+.1f}" if part["title"] in paper else NOT_RUN,
        )
        for part in record["figures"]["slices"]
    ]
    notes = (
        f"{record['figures']['split']}, root accuracy",
        *training_notes(record["systems"].values()),
        "negation is one of not, no, n't and none",
        *SIGNIFICANCE_NOTES,
    )
    return Table(columns, tuple(rows), notes)


def _agreement(figures: Mapping[str, Any], baseline: str, system: str) -> Table:
    found = figures["agreement"]
    counts = [found[name] for name in ("both", "only_first", "only_second", "neither")]
    columns = ("both right", f"only {system}", f"only {baseline}", "neither")
    notes = ("means over all pairs of a seed of the one and a seed of the other",)
    return Table(columns, (tuple(_count(count) for count in counts),), notes, "who is right, in sentences", 0)


def _confusion(figures: Mapping[str, Any], name: str) -> Table:
    labels: list[str] = list(figures["label_names"].values())
    rows = [
        (label, *(_count(count) for count in counts))
        for label, counts in zip(labels, figures["confusions"][name], strict=True)
    ]
    title = f"what {name} answers, in sentences, the mean over the seeds"
    return Table(("right label", *labels), tuple(rows), title=title)


def _examples(
    figures: Mapping[str, Any], examples: Sequence[Mapping[str, Any]], winner: str, loser: str, count: int
) -> Table:
    names = figures["label_names"]
    rows = [
        (
            " ".join(map(shown_word, example["words"])),
            f"{names.get(example['gold'], example['gold'])} ({example['confidence']:.2f})",
            f"{names.get(example['wrong'], example['wrong'])} ({example['wrong_confidence']:.2f})",
        )
        for example in examples
    ]
    title = (
        f"{winner} is right and {loser} wrong, {count:,} sentences by the mean of the seeds, the surest first"
    )
    return Table(("sentence", winner, loser), tuple(rows), title=title, num_text_columns=3)


def _paper_sentences(experiment: Experiment, figures: Mapping[str, Any], systems: Sequence[str]) -> Table:
    """Tabulate the paper's examples: the answers of each system, by seeds, and those in the paper."""
    names = figures["label_names"]
    columns = ["sentence", "right label"]
    for name in systems:
        columns += [name, f"{name}, the paper"]
    columns += [f"head, {systems[-1]}", "head, the paper"]
    rows: list[tuple[str, ...]] = []
    for entry, printed in zip(figures["paper_sentences"], experiment.details["sentences"], strict=True):
        cells = [entry["text"], names.get(entry["gold"], entry["gold"])]
        for name in systems:
            cells += [list_counts(entry["labels"][name], names), printed["paper"][name]]
        cells += [list_counts(entry["heads"].get(systems[-1], {}), {}), printed.get("head", NOT_RUN)]
        rows.append(tuple(cells))
    notes = ("with the number of seeds that say so",)
    return Table(tuple(columns), tuple(rows), notes, "the paper's examples", len(columns))


def _count(count: float) -> str:
    """Format a number of sentences; means over seeds need not be whole."""
    return f"{count:,.1f}".removesuffix(".0")
