"""The main results of the paper's model beside those over transformers and of the shipped models."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from lexitree_paper.experiments import find_experiment
from lexitree_paper.score_tables import read_records
from markdown_text import make_table, show_percent, show_spread
from record_tables import NOT_MEASURED
from result_records import PAPER_RESULTS, read_record

HEADLINE = (
    ("SST, 5 classes", "main-table", "sst-bicontree", "fine", "sst-fine"),
    ("SST, 2 classes", "main-table", "sst-binary-bicontree", "binary", "sst-binary"),
    ("TREC, 6 question types", "questions", "trec-bicontree", "coarse", "trec"),
)
"""Task, the experiment that has the paper's figure, the record of BiConTree, the task over MiniLM, the corpus."""


def render_headline() -> str:
    """The main results of the three tasks beside the paper's figures."""
    raw = {
        row["corpus"]: row
        for row in (read_record("raw-text-accuracy") or {"rows": []})["rows"]
        if "own_trees_accuracy" in row  # VADER reads no trees
    }
    rows = [
        [
            task,
            _paper_figure(experiment, record),
            _mean_root(read_record(record)),
            *_roots_over_transformer(over_transformer),
            show_percent(raw[corpus]["split_text_accuracy"]) if corpus in raw else NOT_MEASURED,
        ]
        for task, experiment, record, over_transformer, corpus in HEADLINE
    ]
    header = [
        "task",
        "paper",
        "BiConTree",
        "MiniLM without a tree",
        "BiConTree over MiniLM",
        "MPNet without a tree",
        "BiConTree over MPNet",
        "shipped model, plain text",
    ]
    return make_table(header, rows)


def _paper_figure(experiment: str, run: str) -> str:
    figures = [planned.paper for planned in find_experiment(experiment).runs if planned.name == run]
    return f"{figures[0]['root']:.1f}" if figures and "root" in figures[0] else "–"


def _roots_over_transformer(task: str) -> list[str]:
    """MiniLM alone and BiConTree over it, and the same with MPNet; of several, the best on development data.

    Of two that are equal there the first is shown: the experiment lists simpler systems first.
    """
    experiment = find_experiment("transformer")
    records = read_records(experiment, PAPER_RESULTS)
    found = {
        system: records[tasks[task].name]
        for system, tasks in experiment.rows.items()
        if task in tasks and tasks[task].name in records
    }
    columns: list[list[Mapping[str, Any]]] = [
        [
            record
            for system, record in found.items()
            if system.startswith(kind) and ("MPNet" in system) == is_large
        ]
        for is_large in (False, True)
        for kind in ("no tree", "BiConTree")
    ]
    return [_mean_root(max(records, key=_mean_development_root, default=None)) for records in columns]


def _mean_development_root(record: Mapping[str, Any]) -> float:
    return statistics.fmean(run["dev_root"] for run in record["runs"].values())


def _mean_root(record: Mapping[str, Any] | None) -> str:
    return show_spread([run["test_root"] for run in record["runs"].values()]) if record else NOT_MEASURED
