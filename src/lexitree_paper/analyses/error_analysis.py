"""The error analysis: where two systems are right and wrong, by class, negation and example."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexitree.analysis.mistakes import agreement, class_masks, kind_masks, take_slice, won_examples
from lexitree.arrays import BoolArray
from lexitree.evaluation.accuracy import confusion
from lexitree.evaluation.answers import SystemAnswers
from lexitree.evaluation.significance import paired_bootstrap
from lexitree.pipeline.predictor import Predictor
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views.visible import shown_word
from lexitree_paper.analyses.job import Findings, Job, collect_test_answers
from lexitree_paper.trained import TrainedSystem

NUM_EXAMPLES = 5
"""How many sentences are shown of each kind."""


def analyse_errors(job: Job) -> Findings:
    """Compare the second system with the first, sentence by sentence."""
    examples = [tree_from_brackets(entry["tree"]) for entry in job.experiment.details["sentences"]]
    answers, found, corpus = collect_test_answers(job)
    baseline, system = answers
    names = dict(zip(corpus.labels, corpus.label_set.names, strict=True))
    figures = {
        "split": f"{corpus.name} test",
        "label_names": names,
        "slices": compare_slices(system, baseline, names),
        "agreement": agreement(system, baseline).as_dict(),
        "confusions": {one.name: mean_confusion(one) for one in answers},
        "won": [example.as_dict() for example in won_examples(system, baseline, limit=NUM_EXAMPLES)],
        "lost": [example.as_dict() for example in won_examples(baseline, system, limit=NUM_EXAMPLES)],
        "num_won": len(won_examples(system, baseline, limit=None)),
        "num_lost": len(won_examples(baseline, system, limit=None)),
        "paper_sentences": _ask_examples(found.systems, examples),
    }
    return dataclasses.replace(found, figures=figures)


def compare_slices(
    system: SystemAnswers, baseline: SystemAnswers, names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """All sentences, those of each class, with negation and long ones: accuracies and how sure the difference is."""
    everything: dict[str, BoolArray] = {"all sentences": np.ones(len(system.gold), dtype=np.bool_)}
    masks = {**everything, **class_masks(system, names), **kind_masks(system)}
    return [
        {
            **take_slice(title, [baseline, system], chosen).as_dict(),
            "significance": paired_bootstrap(system.correct[:, chosen], baseline.correct[:, chosen]).as_dict()
            if chosen.any()
            else None,
        }
        for title, chosen in masks.items()
    ]


def mean_confusion(system: SystemAnswers) -> list[list[float]]:
    """[gold, predicted]: how many sentences, the mean over the seeds."""
    answers = system.probabilities.argmax(2)
    counts = [confusion(system.gold, said, system.labels).counts for said in answers]
    return np.mean(counts, axis=0).round(4).tolist()


def _ask_examples(systems: Sequence[TrainedSystem], trees: Sequence[Tree]) -> list[dict[str, Any]]:
    """What the seeds of each system say of the paper's examples: labels and heads of the whole, with their counts."""
    found: list[dict[str, Any]] = [
        {"text": " ".join(map(shown_word, tree.words)), "gold": tree.label, "labels": {}, "heads": {}}
        for tree in trees
    ]
    for system in systems:
        predictions = [list(Predictor(model).predict_all(trees)) for model in system.models()]
        for place, entry in enumerate(found):
            said = [by_tree[place] for by_tree in predictions]
            entry["labels"][system.name] = dict(Counter(one.label_id for one in said).most_common())
            heads = [head for one in said if (head := one.head_word()) is not None]
            if heads:
                entry["heads"][system.name] = dict(Counter(heads).most_common())
    return found
