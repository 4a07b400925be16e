"""The experiments of the paper: the runs of each one and the figures that the paper reports."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from lexitree.errors import ConfigError
from lexitree.tasks.classify.recipe import Recipe

TABLE = "experiments.toml"
RECIPES = "recipes"
SCORES = ("root", "phrase")
_OTHER_FIGURES = ("num_parameters", "seconds")
SCORE_TABLE = "scores"
"""The kind of an experiment that is a table of scores; the other kinds are analyses of trained models."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One system on one task: a recipe, trained with several seeds under a name of its own."""

    name: str
    """The name of the run's directory and of its record."""
    recipe: str
    """The recipe's name."""
    changes: Mapping[str, Any]
    """Settings of the model that differ from the recipe's."""
    paper: Mapping[str, float]
    """What the paper prints: root, phrase (percent), num_parameters, seconds."""

    def read(self) -> Recipe:
        """The recipe with the changes."""
        recipe = Recipe.from_toml(recipes_folder() / f"{self.recipe}.toml")
        return dataclasses.replace(recipe, model={**recipe.model, **self.changes})


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table, figure or passage of the paper."""

    name: str
    title: str
    about: str
    num_seeds: int
    tasks: Mapping[str, str]
    """How each task is called in the table."""
    rows: Mapping[str, Mapping[str, PlannedRun]]
    """By system and task."""
    shows: tuple[str, ...] = ()
    """Figures beside the scores."""
    device: str | None = None
    """Where it must run, if that is what it measures."""
    kind: str = SCORE_TABLE
    """What is made of the runs; see `kinds.KINDS`."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Systems whose answers are compared, sentence by sentence."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What an analysis needs besides: sentences, and the paper's figures."""

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        return tuple(run for tasks in self.rows.values() for run in tasks.values())

    def with_runs(self, names: Collection[str]) -> Experiment:
        """The experiment with the named runs alone."""
        rows = {
            system: {task: run for task, run in tasks.items() if run.name in names}
            for system, tasks in self.rows.items()
        }
        return dataclasses.replace(self, rows={system: tasks for system, tasks in rows.items() if tasks})

    @property
    def record_names(self) -> tuple[str, ...]:
        """The records it leaves: one a run, or one of the analysis."""
        names = [run.name for run in self.runs] if self.kind == SCORE_TABLE else [self.name]
        return tuple(dict.fromkeys(names))


def list_experiments() -> list[Experiment]:
    """All experiments, in the order of the paper."""
    text = resources.files("lexitree_paper").joinpath(TABLE).read_text(encoding="utf-8")
    return [_parse(name, values) for name, values in tomllib.loads(text).items()]


def find_experiment(name: str) -> Experiment:
    """The experiment of that name, or an error with the nearest names."""
    known = {experiment.name: experiment for experiment in list_experiments()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, cutoff=0.4)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    raise ConfigError(
        f"there is no experiment called '{name}'", remedy=f"{hint}The experiments are: {', '.join(known)}."
    )


def find_run(experiment: str, name: str) -> PlannedRun:
    """A run of an experiment by its name."""
    runs = {run.name: run for run in find_experiment(experiment).runs}
    if name not in runs:
        raise ConfigError(
            f"{experiment} has no run called {name}", remedy=f"Its runs are: {', '.join(runs)}."
        )
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
    return PlannedRun(name, values.get("recipe", name), values.get("model", {}), figures)


def recipes_folder() -> Path:
    """The recipes: inside the installed package, or beside the sources."""
    installed = Path(str(resources.files("lexitree_paper"))) / RECIPES
    return installed if installed.is_dir() else Path(__file__).parents[2] / RECIPES
