"""Runs an experiment of any kind and makes the report from its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lexitree.errors import ConfigError
from lexitree_paper.analyses.accuracy_by_length import analyse_lengths, report_lengths
from lexitree_paper.analyses.collins_overlap import analyse_overlap, report_overlap
from lexitree_paper.analyses.error_analysis import analyse_errors, report_errors
from lexitree_paper.analyses.head_pictures import analyse_pictures, report_pictures
from lexitree_paper.analyses.job import Analyse, Job, perform_analysis
from lexitree_paper.experiments import SCORE_TABLE, Experiment
from lexitree_paper.report import Report
from lexitree_paper.reranking.rerank_report import report_reranking
from lexitree_paper.reranking.reranking_runs import Say, perform_reranking
from lexitree_paper.run_records import read_record, record_seeds, save_record
from lexitree_paper.runner import (
    Settings,
    Watch,
    chosen_seeds,
    command_of,
    covers,
    data_files,
    plan,
    watch_nothing,
)
from lexitree_paper.score_tables import report_scores
from lexitree_paper.trained import train_taught

_PICTURES = "head-pictures"
RERANKING = "reranking"


ANALYSES: dict[str, tuple[Analyse, Callable[[Experiment, Mapping[str, Any]], Report]]] = {
    "collins-overlap": (analyse_overlap, report_overlap),
    _PICTURES: (analyse_pictures, report_pictures),
    "error-analysis": (analyse_errors, report_errors),
    "accuracy-by-length": (analyse_lengths, report_lengths),
}
"""How to run each kind of analysis, and how to report its record."""
KINDS = (SCORE_TABLE, RERANKING, *ANALYSES)


def perform(
    experiment: Experiment, settings: Settings, *, watch: Watch = watch_nothing, say: Say = lambda _: None
) -> None:
    """Run an experiment and write its records, skipping what is already recorded.

    Args:
        experiment: The experiment.
        settings: Where and how to run it.
        watch: Opened around every run that is trained, to show its progress.
        say: Called with a line of progress in experiments of many short runs.

    Raises:
        ConfigError: Sentences to draw are given to an experiment that draws none.
    """
    if settings.sentences and experiment.kind != _PICTURES:
        raise ConfigError(
            f"{experiment.name} draws no sentences", remedy=f"Use `lexitree reproduce {_PICTURES}`."
        )
    if experiment.kind == SCORE_TABLE:
        run_experiment(experiment, settings, watch=watch)
    elif experiment.kind == RERANKING:
        perform_reranking(experiment, settings, say)
    else:
        perform_analysis(ANALYSES[experiment.kind][0], Job(experiment, settings, watch))


def run_experiment(
    experiment: Experiment, settings: Settings, *, watch: Watch = watch_nothing
) -> dict[str, dict[str, Any]]:
    """Train the runs of an experiment that have no record yet, and return all records by run.

    The teachers of a run are trained first if they are missing.
    """
    seeds = chosen_seeds(experiment, settings)
    records: dict[str, dict[str, Any]] = {}
    for run in experiment.runs:
        record = None if settings.again else read_record(settings.records_folder, run.name)
        recipe = plan(run, settings)
        if record is None or not covers(record, recipe, seeds):
            summary = train_taught(run, seeds, experiment, settings, watch)
            command = command_of(experiment, settings, only=run)
            record = record_seeds(command, summary.results, data_files(recipe), summary.wall_seconds)
            save_record(settings.records_folder, run.name, record)
        records[run.name] = record
    return records


def make_report(experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> Report:
    """Make the report of an experiment from its records; empty if there are none."""
    if experiment.kind == SCORE_TABLE:
        return report_scores(experiment, records)
    record = records.get(experiment.name)
    if record is None:
        return Report()
    report = report_reranking if experiment.kind == RERANKING else ANALYSES[experiment.kind][1]
    return report(experiment, record)
