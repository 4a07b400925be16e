"""Runs an analysis on trained models and writes its record, unless it is already recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.evaluation.answers import SystemAnswers, collect_answers
from lexitree.learning.provenance import describe
from lexitree.learning.run_folder import seed_folder
from lexitree.tasks.classify.building import load_recipe_corpus
from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.experiments import Experiment
from lexitree_paper.run_records import read_record, save_record
from lexitree_paper.runner import (
    Settings,
    Watch,
    chosen_seeds,
    command_of,
    covers,
    data_files,
    plan,
    run_folder,
)
from lexitree_paper.trained import TrainedSystem, train_missing, weights_checksum, weights_path

_PICTURE_SUFFIX = ".svg"


@dataclass(frozen=True, slots=True)
class Job:
    """The input of an analysis. Data are read before training, so that missing files are reported at once."""

    experiment: Experiment
    settings: Settings
    watch: Watch

    @property
    def recipe(self) -> Recipe:
        """The recipe of the first system; all systems use the same corpus."""
        return plan(self.experiment.runs[0], self.settings)

    def load_corpus(self) -> Corpus:
        return load_recipe_corpus(self.recipe)

    def train(self) -> list[TrainedSystem]:
        """Return the systems with their models, training missing ones."""
        return train_missing(self.experiment, self.settings, watch=self.watch)

    def picture_path(self, name: str) -> Path:
        """Return the path of a picture, creating its folder."""
        self.settings.pictures_folder.mkdir(parents=True, exist_ok=True)
        return self.settings.pictures_folder / (name + _PICTURE_SUFFIX)


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of an analysis and the files it read."""

    systems: Sequence[TrainedSystem]
    figures: Mapping[str, Any]
    files: Sequence[Path]
    embedded: str
    """The embedded corpus, if no files were read."""
    pictures: Sequence[str] = ()
    """Names of the pictures."""


Analyse = Callable[[Job], Findings]


def perform_analysis(analyse: Analyse, job: Job) -> None:
    """Run an analysis and write its record, unless there is one for these models."""
    folder, name = job.settings.records_folder, job.experiment.name
    record = read_record(folder, name)
    if record is not None and not job.settings.again and is_current(record, job):
        return
    save_record(folder, name, record_findings(job, analyse(job)))


def record_findings(job: Job, found: Findings) -> dict[str, Any]:
    systems = {system.name: system.describe() for system in found.systems}
    vectors = next(iter(systems.values()))["recipe"]["vectors"]
    # Repeating the command without the models needs their vectors, whatever was given this time.
    settings = dataclasses.replace(job.settings, vectors=vectors)
    command = command_of(job.experiment, settings)
    seeds = chosen_seeds(job.experiment, job.settings)
    return {
        **describe(command, found.files, seeds, embedded=found.embedded),
        "kind": job.experiment.kind,
        "systems": systems,
        "sentences_asked": list(job.settings.sentences),
        "pictures": list(found.pictures),
        "figures": dict(found.figures),
    }


def is_current(record: Mapping[str, Any], job: Job) -> bool:
    """Return whether a record is for these systems, seeds and sentences, and its pictures exist."""
    settings = job.settings
    if record["sentences_asked"] != list(settings.sentences):
        return False
    if not all((settings.pictures_folder / name).is_file() for name in record["pictures"]):
        return False
    return all(_is_same_system(record, name, job) for name in job.experiment.rows)


def _is_same_system(record: Mapping[str, Any], name: str, job: Job) -> bool:
    (run,) = job.experiment.rows[name].values()
    seeds = chosen_seeds(job.experiment, job.settings)
    known = record["systems"].get(name)
    if known is None or not covers(known, plan(run, job.settings), seeds):
        return False
    folders = {seed: seed_folder(run_folder(run, job.settings), seed) for seed in seeds}
    # Figures are out of date if a model was retrained since.
    return all(
        known["models"][str(seed)] == weights_checksum(folder)
        for seed, folder in folders.items()
        if weights_path(folder).is_file()
    )


def collect_test_answers(job: Job) -> tuple[list[SystemAnswers], Findings, Corpus]:
    """Return the answers of all systems to the test sentences, and findings to fill in."""
    corpus = job.load_corpus()
    if not corpus.splits.get("test"):
        raise ConfigError(f"the corpus {corpus.name} has no test sentences to analyse")
    systems = job.train()
    answers = [collect_answers(system.name, system.models(), corpus.test) for system in systems]
    found = Findings(systems, {}, data_files(job.recipe), corpus.name)
    return answers, found, corpus
