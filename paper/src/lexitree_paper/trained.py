"""Finds the trained models of an experiment and trains those that are missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.learning.provenance import checksum
from lexitree.learning.run_folder import LESSONS_FILE, MODEL_FOLDER, RESULT_FILE, read_result, seed_folder
from lexitree.learning.seeds import SeedSummary
from lexitree.models.classifier import TreeClassifier
from lexitree.saving.model_folder import WEIGHTS_FILE
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.experiments import Experiment, PlannedRun, find_run
from lexitree_paper.run_records import public_recipe, read_record, record_seeds, save_record
from lexitree_paper.runner import (
    Settings,
    Watch,
    chosen_seeds,
    command_of,
    covers,
    data_files,
    is_same_recipe,
    plan,
    run_folder,
    train_run,
    watch_nothing,
)


@dataclass(frozen=True, slots=True)
class TrainedSystem:
    """A system of an experiment, with a saved model for each seed."""

    name: str
    run: PlannedRun
    folders: Mapping[int, Path]
    """Folders by seed."""
    device: str

    @property
    def seeds(self) -> list[int]:
        return list(self.folders)

    @property
    def chosen_seed(self) -> int:
        """The seed with the best development accuracy, as in the paper."""
        return max(self.folders, key=lambda seed: read_result(self.folders[seed])["dev_root"])

    def load(self, seed: int) -> TreeClassifier:
        return from_pretrained(self.folders[seed] / MODEL_FOLDER, device=self.device)

    def models(self) -> Iterator[TreeClassifier]:
        """Yield the models of all seeds, one at a time."""
        return map(self.load, self.folders)

    def describe(self) -> dict[str, Any]:
        """Return its entry in a record: recipe, seeds and checksums of its models."""
        recipe = read_result(next(iter(self.folders.values())))["recipe"]
        return {
            "run": self.run.name,
            "seeds": self.seeds,
            "recipe": public_recipe(recipe),
            "models": {str(seed): weights_checksum(folder) for seed, folder in self.folders.items()},
        }


def train_missing(
    experiment: Experiment, settings: Settings, *, watch: Watch = watch_nothing
) -> list[TrainedSystem]:
    """Return the systems of an experiment, training seeds without a model."""
    seeds = chosen_seeds(experiment, settings)
    systems: list[TrainedSystem] = []
    for name, tasks in experiment.rows.items():
        (run,) = tasks.values()
        folders = _train_missing_seeds(run, seeds, experiment, settings, watch)
        systems.append(TrainedSystem(name, run, folders, settings.device))
    return systems


def _train_missing_seeds(
    run: PlannedRun, seeds: list[int], experiment: Experiment, settings: Settings, watch: Watch
) -> dict[int, Path]:
    """Return the folders of a run's seeds, training and recording missing ones."""
    recipe = plan(run, settings)
    folders = {seed: seed_folder(run_folder(run, settings), seed) for seed in seeds}
    missing = [seed for seed, folder in folders.items() if not is_trained(folder, recipe)]
    if missing:
        summary = train_taught(run, missing, experiment, settings, watch)
        old = read_record(settings.records_folder, run.name)
        # The record that the tables of scores read; one of more seeds is kept.
        if old is None or not covers(old, recipe, seeds) or len(old["seeds"]) <= len(seeds):
            results = {seed: read_result(folder) for seed, folder in folders.items()}
            # The time of some seeds must not be recorded as that of all.
            seconds = summary.wall_seconds if missing == seeds else None
            command = command_of(experiment, settings)
            record = record_seeds(command, results, data_files(recipe), seconds)
            save_record(settings.records_folder, run.name, record)
    return folders


def train_taught(
    run: PlannedRun, seeds: list[int], experiment: Experiment, settings: Settings, watch: Watch
) -> SeedSummary:
    """Train seeds of a run, after its teachers if it needs them."""
    recipe = plan(run, settings)
    if recipe.teacher and not (run_folder(run, settings) / LESSONS_FILE).exists():
        teacher = find_run(experiment.name, Path(recipe.teacher).name)
        # All seeds teach, whichever seeds are trained.
        everybody = dataclasses.replace(settings, seeds=None)
        _train_missing_seeds(teacher, chosen_seeds(experiment, everybody), experiment, everybody, watch)
    with watch(run, recipe) as on_event:
        return train_run(run, recipe, seeds, experiment, settings, on_event)


def is_trained(folder: Path, recipe: Recipe) -> bool:
    """Return whether a folder has a finished run of the recipe with its model."""
    if not (folder / RESULT_FILE).is_file() or not weights_path(folder).is_file():
        return False
    return is_same_recipe(read_result(folder)["recipe"], recipe)


def weights_path(folder: Path) -> Path:
    return folder / MODEL_FOLDER / WEIGHTS_FILE


def weights_checksum(folder: Path) -> str:
    return checksum(weights_path(folder))
