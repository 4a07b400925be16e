"""The experiment on reranking and the settings in, its runs out: systems, lists, parts of these, and seeds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lexitree.errors import ConfigError
from lexitree.parsing.treebanks import find_data_file, hold_out
from lexitree.reproduction.experiments import Experiment, recipes_folder
from lexitree.reproduction.runner import Settings, chosen_seeds
from lexitree.reranking.data import SPLIT_SEED, RerankData, cut_folds, read_prepared, without_sentences_of
from lexitree.reranking.examples import BinaryList
from lexitree.reranking.recipe import RerankRecipe, read_rerank_recipe
from lexitree.reranking.run import RESULT_FILE
from lexitree.trees.binarize import Direction

SMOKE_MODEL = {"hidden": 12}
SMOKE_EPOCHS = 2
SMOKE_LISTS = "lists.jsonl"
LISTS_KEPT = 4
"""How many sets of lists a process remembers; each run takes its part of one."""


@dataclass(frozen=True, slots=True)
class ListSet:
    """Lists on which systems are compared: cut into folds, or with others to train on."""

    name: str
    title: str
    lists: tuple[str, ...]
    """Files to train on; with folds, to test on as well."""
    test: tuple[str, ...] = ()
    folds: int = 0
    """Each of so many parts is tested on once; 0: the test is files of its own."""
    dev_share: float = 0.125
    """The share of the lists to train on that is held out for development."""

    @property
    def num_parts(self) -> int:
        return self.folds or 1

    def files(self, data: str | None) -> list[Path]:
        return [find_data_file(name, data) for name in (*self.lists, *self.test)]

    def read_part(self, part: int, direction: Direction, data: str | None) -> RerankData:
        """The lists of one run, parts counted from 0; a sentence that is tested on is never trained on."""
        lists = _read(self.lists, direction, data)
        if self.folds:
            return cut_folds(lists, self.folds, dev_share=self.dev_share)[part]
        test = _read(self.test, direction, data)
        train, dev = hold_out(without_sentences_of(test, lists), self.dev_share, [SPLIT_SEED])
        return RerankData(train, dev, test)


@lru_cache(maxsize=LISTS_KEPT)
def _read(names: tuple[str, ...], direction: Direction, data: str | None) -> list[BinaryList]:
    return read_prepared(names, direction, data)


@dataclass(frozen=True, slots=True)
class System:
    """A reranker of the table."""

    name: str
    model: str
    paper: float | None = None
    """The F1 that the paper prints."""


@dataclass(frozen=True, slots=True)
class RerankTask:
    """One run: what is trained on which lists, and where it goes."""

    system: System
    lists: ListSet
    part: int
    recipe: RerankRecipe
    folder: Path
    data: str | None
    device: str

    @property
    def seed(self) -> int:
        return self.recipe.training.seed

    def read_result(self) -> dict[str, Any] | None:
        """What the run left, if it is done and was trained by the same recipe."""
        path = self.folder / RESULT_FILE
        if not path.is_file():
            return None
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        is_same = result["recipe"] == json.loads(json.dumps(self.recipe.as_dict()))
        return result if is_same and len(result["epochs"]) >= self.recipe.training.epochs else None


@dataclass(frozen=True, slots=True)
class RerankPlan:
    """Everything that the experiment runs."""

    systems: Sequence[System]
    list_sets: Sequence[ListSet]
    recipe: RerankRecipe
    seeds: Sequence[int]
    tasks: Sequence[RerankTask]

    def tasks_of(self, system: System, lists: ListSet, seed: int) -> list[RerankTask]:
        """The parts of one seed, in their order."""
        return [task for task in self.tasks if (task.system, task.lists, task.seed) == (system, lists, seed)]


def plan_reranking(experiment: Experiment, settings: Settings) -> RerankPlan:
    """The runs of the experiment; at the smoke size, tiny ones on lists of a tiny parser."""
    details = experiment.details
    systems = [System(**values) for values in details["systems"]]
    list_sets = [_list_set(values) for values in details["lists"]]
    recipe = read_rerank_recipe(recipes_folder() / f"{details['recipe']}.toml")
    if settings.smoke:
        list_sets = [smoke_lists(settings)]
        recipe = _make_small(recipe)
    else:
        epochs = settings.epochs or recipe.training.epochs
        training = dataclasses.replace(recipe.training, epochs=epochs)
        recipe = dataclasses.replace(recipe, vectors=settings.vectors or recipe.vectors, training=training)
    seeds = chosen_seeds(experiment, settings)
    folder = settings.runs_folder / experiment.name
    tasks = [
        RerankTask(
            system,
            lists,
            part,
            _of_system(recipe, system).with_seed(seed),
            folder / f"{lists.name}-{system.model}" / f"part-{part + 1}" / f"seed-{seed}",
            settings.data,
            settings.device,
        )
        for lists in list_sets
        # All systems of a seed before the next seed: a run that is cut has something of each.
        for seed in seeds
        for system in systems
        for part in range(lists.num_parts)
    ]
    return RerankPlan(systems, list_sets, recipe, seeds, tasks)


def _list_set(values: Mapping[str, Any]) -> ListSet:
    files = {name: tuple(values[name]) for name in ("lists", "test") if name in values}
    settings: dict[str, Any] = {**values, **files}
    return ListSet(**settings)


def _of_system(recipe: RerankRecipe, system: System) -> RerankRecipe:
    return dataclasses.replace(recipe, model={**recipe.model, "model": system.model})


def smoke_lists(settings: Settings) -> ListSet:
    path = settings.runs_folder / "reranking" / SMOKE_LISTS
    return ListSet("mini", "embedded questions", (str(path),), folds=2)


def _make_small(recipe: RerankRecipe) -> RerankRecipe:
    training = dataclasses.replace(recipe.training, epochs=SMOKE_EPOCHS, train_words=True)
    return dataclasses.replace(
        recipe, vectors=None, vector_length=0.0, model={**recipe.model, **SMOKE_MODEL}, training=training
    )


def keep_systems(experiment: Experiment, models: Sequence[str]) -> Experiment:
    """The experiment with some of its systems only, by the names of their models."""
    known = [values["model"] for values in experiment.details["systems"]]
    unknown = [model for model in models if model not in known]
    if unknown:
        raise ConfigError(
            f"{experiment.name} has no system of the model {', '.join(unknown)}",
            remedy=f"Its systems are: {', '.join(known)}.",
        )
    kept = [values for values in experiment.details["systems"] if values["model"] in models]
    return dataclasses.replace(experiment, details={**experiment.details, "systems": kept})
