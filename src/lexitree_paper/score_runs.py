"""Trains and records the runs of a table of scores, skipping those that are already recorded."""

from __future__ import annotations

from typing import Any

from lexitree_paper.experiments import Experiment
from lexitree_paper.run_records import read_record, record_seeds, save_record
from lexitree_paper.runner import (
    Settings,
    Watch,
    chosen_seeds,
    command_of,
    covers,
    data_files,
    plan,
    record_path,
    watch_nothing,
)
from lexitree_paper.trained import train_taught


def run_experiment(
    experiment: Experiment, settings: Settings, *, watch: Watch = watch_nothing
) -> dict[str, dict[str, Any]]:
    """Train every run of an experiment that has no record yet; the records by the names of the runs.

    A run that is taught needs the models of its teachers, which are trained first where they are missing.
    """
    seeds = chosen_seeds(experiment, settings)
    records: dict[str, dict[str, Any]] = {}
    for run in experiment.runs:
        path = record_path(run.name, settings)
        record = None if settings.again else read_record(path)
        recipe = plan(run, settings)
        if record is None or not covers(record, recipe, seeds):
            summary = train_taught(run, seeds, experiment, settings, watch)
            command = command_of(experiment, settings, only=run)
            record = record_seeds(command, summary.results, data_files(recipe), summary.wall_seconds)
            save_record(path, record)
        records[run.name] = record
    return records
