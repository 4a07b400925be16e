"""Plans the reranking experiment: systems, lists, folds and seeds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from lexitree.errors import ConfigError
from lexitree.learning.provenance import checksum, public_name
from lexitree.tasks.parse.data import find_data_file, hold_out
from lexitree.trees.binarize import Direction
from lexitree_paper.experiments import Experiment
from lexitree_paper.rerank.data import SPLIT_SEED, RerankData, cut_folds, read_prepared, without_sentences_of
from lexitree_paper.rerank.examples import BinaryList
from lexitree_paper.rerank.recipe import RerankRecipe
from lexitree_paper.runner import Settings, chosen_seeds

SMOKE_MODEL = {"hidden": 12}
SMOKE_EPOCHS = 2
_SMOKE_LISTS = "lists.jsonl"
_ONLY = "only"
"""In the details of an experiment: the models to train, if not all."""
_LISTS_KEPT = 4
"""Number of list files cached per process; each run uses a part of one."""


@dataclass(frozen=True, slots=True)
class ListSet:
    """Lists on which systems are compared: in folds, or with separate training lists."""

    name: str
    title: str
    lists: tuple[str, ...]
    """Training files; with folds, also test files."""
    test: tuple[str, ...] = ()
    folds: int = 0
    """Number of folds, each tested once; 0 for separate test files."""
    dev_share: float = 0.125
    """Share of the training lists held out for development."""

    @property
    def num_parts(self) -> int:
        return self.folds or 1

    def files(self, data: str | None) -> list[Path]:
        return [find_data_file(name, data) for name in (*self.lists, *self.test)]

    def read_part(self, part: int, direction: Direction, data: str | None) -> RerankData:
        """Return the lists of one run, parts counted from 0; test sentences are never trained on."""
        lists = _read_once(self.lists, direction, data)
        if self.folds:
            return cut_folds(lists, self.folds, dev_share=self.dev_share)[part]
        test = _read_once(self.test, direction, data)
        train, dev = hold_out(without_sentences_of(test, lists), self.dev_share, [SPLIT_SEED])
        return RerankData(train, dev, test)


def _read_once(names: Sequence[str], direction: Direction, data: str | None) -> list[BinaryList]:
    """Read lists from files, cached until the files change."""
    return _read(tuple(FileState.of(find_data_file(name, data)) for name in names), direction)


@lru_cache(maxsize=_LISTS_KEPT)
def _read(files: tuple[FileState, ...], direction: Direction) -> list[BinaryList]:
    return read_prepared([str(file.path) for file in files], direction)


class FileState(NamedTuple):
    """The state of a file; a change shows in its size or time."""

    path: Path
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        state = path.stat()
        return cls(path, state.st_size, state.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class System:
    """A reranker of the table."""

    name: str
    model: str
    paper: float | None = None
    """F1 in the paper."""


@dataclass(frozen=True, slots=True)
class RerankTask:
    """One run: a system, its lists and its folder."""

    system: System
    lists: ListSet
    part: int
    recipe: RerankRecipe
    folder: Path
    data: str | None
    device: str
    drawn: tuple[str, ...] = ()
    """Trees in brackets whose learned heads are recorded."""

    @property
    def seed(self) -> int:
        return self.recipe.training.seed

    @property
    def name(self) -> str:
        return f"{self.system.name}, {self.lists.title}, part {self.part + 1}, seed {self.seed}"

    def read_lists(self) -> RerankData:
        return self.lists.read_part(self.part, self.recipe.direction, self.data)

    def checksums(self) -> dict[str, str]:
        return data_checksums(self.lists, self.recipe, self.data)


def data_checksums(lists: ListSet, recipe: RerankRecipe, data: str | None) -> dict[str, str]:
    """Return the SHA-256 of all files that runs on these lists read; a missing file is an error."""
    files = lists.files(data)
    if recipe.vectors:
        files.append(find_data_file(recipe.vectors, data))
    return {public_name(path): _checksum(FileState.of(path)) for path in files}


@lru_cache(maxsize=64)
def _checksum(file: FileState) -> str:
    return checksum(file.path)


def settings_of(recipe: RerankRecipe) -> dict[str, Any]:
    """All that decides a run but its seed, its model and its data, as JSON has it."""
    values: dict[str, Any] = json.loads(json.dumps(recipe.as_dict()))
    for table, name in ((values, "vectors"), (values["model"], "model"), (values["training"], "seed")):
        table.pop(name, None)
    return values


_NEW_NAMES = {"batch_lists": "batch_size"}
"""Settings that had other names when the first records were made."""


def is_same_recipe(done: Mapping[str, Any], recipe: RerankRecipe) -> bool:
    """Whether recorded settings (see `settings_of`) are those of a recipe; newer settings had their defaults."""
    training = {_NEW_NAMES.get(name, name): value for name, value in done["training"].items()}
    return settings_of(RerankRecipe.from_dict({**done, "training": training})) == settings_of(recipe)


@dataclass(frozen=True, slots=True)
class RerankPlan:
    """All runs of the experiment."""

    systems: Sequence[System]
    """All systems of the table, whether they are run or not."""
    list_sets: Sequence[ListSet]
    recipe: RerankRecipe
    seeds: Sequence[int]
    tasks: Sequence[RerankTask]

    def tasks_of(self, system: System, lists: ListSet, seed: int) -> list[RerankTask]:
        """Return the parts of one seed, in order."""
        return [task for task in self.tasks if (task.system, task.lists, task.seed) == (system, lists, seed)]


def plan_reranking(experiment: Experiment, settings: Settings) -> RerankPlan:
    """Plan the runs of the experiment; in a smoke test, tiny ones on lists of a tiny parser."""
    details = experiment.details
    systems = [System(**values) for values in details["systems"]]
    list_sets = [_list_set(values) for values in details["lists"]]
    recipe = RerankRecipe.from_dict(details["recipe"])
    if settings.smoke:
        path = settings.runs_folder / "reranking" / _SMOKE_LISTS
        list_sets = [ListSet("mini", "embedded questions", (str(path),), folds=2)]
        recipe = _make_small(recipe)
    else:
        epochs = settings.epochs or recipe.training.epochs
        training = dataclasses.replace(recipe.training, epochs=epochs)
        recipe = dataclasses.replace(recipe, vectors=settings.vectors or recipe.vectors, training=training)
    seeds = chosen_seeds(experiment, settings)
    folder = settings.runs_folder / experiment.name
    drawn = tuple(details["drawn"])
    tasks = [
        RerankTask(
            system,
            lists,
            part,
            dataclasses.replace(recipe, model={**recipe.model, "model": system.model}).with_seed(seed),
            folder / f"{lists.name}-{system.model}" / f"part-{part + 1}" / f"seed-{seed}",
            settings.data,
            settings.device,
            drawn,
        )
        for lists in list_sets
        # All systems of a seed before the next seed, so that an interrupted experiment has some of each.
        for seed in seeds
        for system in systems
        if system.model in details.get(_ONLY, (system.model,))
        for part in range(lists.num_parts)
    ]
    return RerankPlan(systems, list_sets, recipe, seeds, tasks)


def _list_set(values: Mapping[str, Any]) -> ListSet:
    files: dict[str, Any] = {name: tuple(values[name]) for name in ("lists", "test") if name in values}
    return ListSet(**{**values, **files})


def _make_small(recipe: RerankRecipe) -> RerankRecipe:
    training = dataclasses.replace(recipe.training, epochs=SMOKE_EPOCHS, train_words=True)
    return dataclasses.replace(
        recipe, vectors=None, vector_length=0.0, model={**recipe.model, **SMOKE_MODEL}, training=training
    )


def keep_systems(experiment: Experiment, models: Sequence[str]) -> Experiment:
    """Return the experiment with the systems of the named models only."""
    known = [values["model"] for values in experiment.details["systems"]]
    unknown = [model for model in models if model not in known]
    if unknown:
        raise ConfigError(
            f"{experiment.name} has no system with the model {', '.join(unknown)}",
            remedy=f"Its systems are: {', '.join(known)}.",
        )
    return dataclasses.replace(experiment, details={**experiment.details, _ONLY: tuple(models)})
