"""The experiments of the paper: the runs of each one and the figures that the paper reports."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from lexitree.errors import ConfigError
from lexitree.suggestions import close_names, did_you_mean
from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.rows import dotted, read_recipe

TABLE = "experiments.toml"
SCORES = ("root", "phrase")
_OTHER_FIGURES = ("num_parameters", "seconds")
SCORE_TABLE = "scores"
"""The kind of an experiment that is a table of scores; other kinds analyse trained models."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One system on one task: a recipe trained with several seeds."""

    name: str
    """Name of the run's folder and record."""
    recipe: str
    """Name of the recipe: a row of `rows.toml`, or a recipe of lexitree."""
    changes: Mapping[str, Any]
    """Settings that differ from the recipe, by dotted name, such as `model.hidden`."""
    paper: Mapping[str, float]
    """The paper's figures: root, phrase (percent), num_parameters, seconds."""
    also: tuple[str, ...] = ()
    """Records of further runs of the same recipe, which count with the seeds of this one."""

    def read(self) -> Recipe:
        """Return the recipe with the changes."""
        return read_recipe(self.recipe).with_values(self.changes)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table, figure or passage of the paper."""

    name: str
    title: str
    about: str
    num_seeds: int
    tasks: Mapping[str, str]
    """Titles of the tasks in the table."""
    rows: Mapping[str, Mapping[str, PlannedRun]]
    """Runs by system and task."""
    shows: tuple[str, ...] = ()
    """Figures shown besides the scores."""
    device: str | None = None
    """The device it must run on, if the experiment measures time."""
    kind: str = SCORE_TABLE
    """What to do with the runs; see `kinds.KINDS`."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Systems that are compared sentence by sentence."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further input of an analysis: sentences, and the paper's figures."""

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        return tuple(run for tasks in self.rows.values() for run in tasks.values())

    def with_runs(self, names: Collection[str]) -> Experiment:
        """Return the experiment with the named runs only."""
        rows = {
            system: {task: run for task, run in tasks.items() if run.name in names}
            for system, tasks in self.rows.items()
        }
        return dataclasses.replace(self, rows={system: tasks for system, tasks in rows.items() if tasks})

    @property
    def record_names(self) -> tuple[str, ...]:
        """Names of its records: one per run, or one for an analysis."""
        names = [run.name for run in self.runs] if self.kind == SCORE_TABLE else [self.name]
        return tuple(dict.fromkeys(names))


def list_experiments() -> list[Experiment]:
    """Return all experiments, in the order of the paper."""
    text = resources.files("lexitree_paper").joinpath(TABLE).read_text(encoding="utf-8")
    return [_parse(name, values) for name, values in tomllib.loads(text).items()]


def find_experiment(name: str) -> Experiment:
    """Find an experiment by name.

    Raises:
        ConfigError: There is none; the error suggests similar names.
    """
    known = {experiment.name: experiment for experiment in list_experiments()}
    if name in known:
        return known[name]
    remedy = f"{did_you_mean(close_names(name, known))} The experiments are: {', '.join(known)}.".lstrip()
    raise ConfigError(f"unknown experiment '{name}'", remedy=remedy)


def find_run(experiment: str, name: str) -> PlannedRun:
    """Find a run of an experiment by name.

    Raises:
        ConfigError: There is none.
    """
    runs = {run.name: run for run in find_experiment(experiment).runs}
    if name not in runs:
        raise ConfigError(f"{experiment} has no run {name}", remedy=f"Its runs are: {', '.join(runs)}.")
    return runs[name]


def _parse(name: str, values: Mapping[str, Any]) -> Experiment:
    tasks = values["tasks"]
    return Experiment(
        name=name,
        title=values["title"],
        about=values["about"],
        num_seeds=values["seeds"],
        tasks=tasks,
        rows={
            row["system"]: {task: _parse_run(row[task]) for task in tasks if task in row}
            for row in values["rows"]
        },
        shows=tuple(values.get("shows", ())),
        device=values.get("device"),
        kind=values.get("kind", SCORE_TABLE),
        pairs=tuple((first, second) for first, second in values.get("pairs", ())),
        details={name: value for name, value in values.items() if name not in _FIELDS},
    )


_FIELDS = ("title", "about", "seeds", "tasks", "rows", "shows", "device", "kind", "pairs")


def _parse_run(values: Mapping[str, Any]) -> PlannedRun:
    figures = {key: values[key] for key in (*SCORES, *_OTHER_FIGURES) if key in values}
    name = values["run"]
    settings = {key: value for key, value in values.items() if key not in (*figures, *_FIELDS_OF_RUNS)}
    also = tuple(values.get("also", ()))
    return PlannedRun(name, values.get("recipe", name), dict(dotted(settings)), figures, also)


_FIELDS_OF_RUNS = ("run", "recipe", "also")
