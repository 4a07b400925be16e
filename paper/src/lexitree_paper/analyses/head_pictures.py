"""Pictures of the labels and heads that BiConTree finds in the paper's phrases and in your own trees."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree.views.visible import shown_word
from lexitree.writing import atomic_write
from lexitree_paper.analyses.job import Findings, Job
from lexitree_paper.experiments import Experiment
from lexitree_paper.report import NOT_RUN, Picture, Report, Table, list_counts, training_notes
from lexitree_paper.trained import TrainedSystem

PHRASES = "the paper's phrases"
"""Stands for the corpus in the record: no corpus is read."""
_NUM_NAMING_WORDS = 5
MAX_NAME_CHARACTERS = 48


def analyse_pictures(job: Job) -> Findings:
    """Draw every sentence with the model chosen by development accuracy, and count the heads of all seeds."""
    paper = [entry["tree"] for entry in job.experiment.details["sentences"]]
    trees = [tree_from_brackets(text, "<a sentence>") for text in (*paper, *job.settings.sentences)]
    (system,) = systems = job.train()
    predictor = Predictor(system.load(system.chosen_seed))
    predictions = list(predictor.predict_all(trees))
    files = picture_names(trees)
    for file, prediction in zip(files, predictions, strict=True):
        with atomic_write(job.picture_path(file)) as stream:
            stream.write(prediction.svg())
    pictures = [job.picture_path(file).name for file in files]
    heads = _heads_by_seed(system, trees)
    sentences = [
        {**_describe(prediction), "picture": picture, "heads_by_seed": by_seed}
        for prediction, picture, by_seed in zip(predictions, pictures, heads, strict=True)
    ]
    figures = {"chosen_seed": system.chosen_seed, "sentences": sentences}
    return Findings(systems, figures, [], PHRASES, pictures)


def picture_names(trees: Sequence[Tree]) -> list[str]:
    """Name each picture after its first words; duplicates are numbered."""
    names: list[str] = []
    for tree in trees:
        words = re.findall(r"[a-z0-9]+", " ".join(tree.words[:_NUM_NAMING_WORDS]).lower())
        name = "-".join(["heads", *words])[:MAX_NAME_CHARACTERS].rstrip("-")
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        names.append(next(free for free in itertools.chain([name], numbered) if free not in names))
    return names


def _describe(prediction: LabelledTree) -> dict[str, Any]:
    tree = prediction.tree
    phrases = [node for node in range(tree.num_nodes) if tree.arity[node]]
    return {
        "tree": tree_to_brackets(tree),
        "text": " ".join(map(shown_word, tree.words)),
        "label": prediction.label,
        "probability": round(prediction.probability, 4),
        "head": prediction.head(),
        "phrases": [
            {
                "words": " ".join(tree.phrase(node)),
                "label": tree.labels[node],
                "head": prediction.head(node),
            }
            for node in phrases
        ],
    }


def _heads_by_seed(system: TrainedSystem, trees: Sequence[Tree]) -> list[dict[str, str | None]]:
    """Return the head of each sentence by seed."""
    heads: list[dict[str, str | None]] = [{} for _ in trees]
    for seed in system.seeds:
        for known, prediction in zip(heads, Predictor(system.load(seed)).predict_all(trees), strict=True):
            known[str(seed)] = prediction.head()
    return heads


def report_pictures(experiment: Experiment, record: Mapping[str, Any]) -> Report:
    """Report the pictures and a table of the heads of whole sentences."""
    sentences: list[dict[str, Any]] = record["figures"]["sentences"]
    pictures = [Picture(entry["picture"], entry["text"]) for entry in sentences]
    printed = [entry.get("head", NOT_RUN) for entry in experiment.details["sentences"]]
    printed += [NOT_RUN] * (len(sentences) - len(printed))
    counts: list[Counter[str]] = [Counter(entry["heads_by_seed"].values()) for entry in sentences]
    rows = [
        (entry["text"], entry["label"], entry["head"], list_counts(dict(by_head.most_common()), {}), head)
        for entry, by_head, head in zip(sentences, counts, printed, strict=True)
    ]
    columns = ("sentence", "label", "its head", "seeds that choose each head", "the paper's head")
    notes = [
        *training_notes(record["systems"].values()),
        f"drawn with seed {record['figures']['chosen_seed']}, the best by dev",
        "a box is coloured by its label and shows the head, a thick line leads to where the head comes from",
    ]
    return Report((Table(columns, tuple(rows), tuple(notes), "", len(columns)),), tuple(pictures))
