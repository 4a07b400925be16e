"""Training a sentence model from a recipe into a folder, with one seed or several: what `lexitree train` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import find_entry
from lexitree.errors import ConfigError, FileError
from lexitree.learning.distributed import OneProcess, join_processes, own_device
from lexitree.learning.observers import Observer
from lexitree.learning.run_folder import ALREADY_THERE, LESSONS_FILE, claim_folder
from lexitree.learning.seeds import OnEvent, SeedSummary, run_seeds
from lexitree.models.model_config import ModelConfig
from lexitree.ops.devices import check_precision, products_in
from lexitree.ops.threads import use_cores
from lexitree.tasks.classify.building import add_further, build_model, load_recipe_corpus, model_settings
from lexitree.tasks.classify.prepared_run import PreparedRun, RunResult
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.task import SCORES, score_name
from lexitree.tasks.classify.teaching import give_lessons, read_lessons, save_lessons


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    corpus: Corpus | None = None,
    device: str = "auto",
    backend: str = "auto",
    threads: int = 1,
    precision: str = "float32",
    minutes: float | None = None,
    resume: bool = False,
    lessons: Path | None = None,
    observer: Observer | None = None,
) -> RunResult:
    """Train a model by a recipe, into a folder: checkpoint, metrics, the best model and its scores.

    Args:
        recipe: What to train on what.
        folder: Where the run goes.
        corpus: Trained on instead of the corpus that the recipe names.
        device: Where the model is trained, such as `cpu` or `cuda`; `auto` is a GPU if there is one.
        backend: The implementation of the tree operations.
        threads: CPU threads. One is best for most models: their products are small, and several seeds make better use
            of several cores. A second one helps models with two directions. The weights do not depend on the number,
            except under a transformer, which uses as many threads as there are.
        precision: `tf32` lets a GPU multiply faster, with fewer digits.
        minutes: Begin no epoch that would end later.
        resume: Continue an interrupted run from its last epoch.
        lessons: A file of `make_lessons`; without it, a recipe's teacher is asked first.
        observer: Is told of every batch and epoch.

    Raises:
        FileError: If the folder holds a run that is not to be resumed, or another process trains into it.
        ConfigError: If settings contradict each other or do not fit the corpus.
        TrainingDivergedError: If the loss is no longer finite.
    """
    check_precision(precision, training=True)
    device = own_device(device)
    with (
        join_processes() as processes,
        ExitStack() as claim,
        use_cores(threads, wide_products=bool(recipe.encoder)),
        products_in(precision),
    ):
        folder = processes.from_first(lambda: claim.enter_context(claim_folder(folder, resume=resume)))
        recipe, corpus = _read_corpus(recipe, corpus, processes)
        torch.manual_seed(recipe.training.seed)
        model = processes.from_first(lambda: build_model(recipe, corpus, backend=backend)).to(device)
        run = PreparedRun.prepare(recipe, corpus, model, folder, processes)
        if recipe.teacher:
            ask = partial(_own_lessons, recipe, corpus, folder, resume, device, backend)
            run.learn_from(processes.from_first(lambda: read_lessons(lessons or ask(), recipe.teacher)))
        return run.train(observer=observer, minutes=minutes)


def train_seeds(
    recipe: Recipe,
    seeds: Sequence[int],
    folder: str | Path,
    *,
    corpus: Corpus | None = None,
    jobs: int | None = None,
    on_event: OnEvent | None = None,
    **options: Any,
) -> SeedSummary:
    """Train a recipe once for each seed, each in a process and a folder of its own.

    Args:
        recipe: What to train on what; every process reads the corpus for itself.
        seeds: The seeds.
        folder: Where the runs go, into `seed-1` and so on.
        corpus: The corpus of the recipe, if it has been read already; a teacher labels it once for all seeds.
        jobs: How many are trained at the same time; None: as many as there are cores.
        on_event: Is told of the progress of all seeds.
        options: Passed on to `train`.
    """
    folder = Path(folder)
    if recipe.teacher:
        with use_cores(options.get("threads", 1)), products_in(options.get("precision", "float32")):
            options["lessons"] = _common_lessons(recipe, corpus, folder, options)
    # Seeds are compared by the first.
    scores = tuple(dict.fromkeys((score_name(recipe.training), *SCORES)))
    return run_seeds(
        train, recipe, seeds, folder, scores=scores, jobs=jobs, options=options, on_event=on_event
    )


def _common_lessons(recipe: Recipe, corpus: Corpus | None, folder: Path, options: dict[str, Any]) -> Path:
    path = folder / LESSONS_FILE
    if path.exists() and not options.get("resume"):
        raise FileError(folder, "already holds runs", remedy=ALREADY_THERE)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        where = {name: options[name] for name in ("device", "backend") if name in options}
        make_lessons(recipe, corpus or load_recipe_corpus(recipe), path, **where)
    return path


def _own_lessons(
    recipe: Recipe, corpus: Corpus, folder: Path, resume: bool, device: str, backend: str
) -> Path:
    """The lessons of a single run: those it began with, or new ones."""
    path = folder / LESSONS_FILE
    if not (resume and path.exists()):
        make_lessons(recipe, corpus, path, device=device, backend=backend)
    return path


def make_lessons(
    recipe: Recipe, corpus: Corpus, path: Path, *, device: str = "auto", backend: str = "auto"
) -> None:
    """Let the teacher of a recipe label the training trees once, for any number of runs of the recipe."""
    config = ModelConfig.from_dict(model_settings(recipe, corpus))
    save_lessons(give_lessons(recipe.teacher, config, corpus.train, device=device, backend=backend), path)


def _read_corpus(recipe: Recipe, given: Corpus | None, processes: OneProcess) -> tuple[Recipe, Corpus]:
    """The corpus with those that the recipe lists besides, and the recipe with its name."""
    if given is None:
        corpus = processes.from_first(lambda: load_recipe_corpus(recipe))
    else:
        recipe = _with_corpus_name(recipe, given)
        corpus = processes.from_first(lambda: add_further(given, recipe))
    _check_corpus(corpus)
    return recipe, corpus


def _with_corpus_name(recipe: Recipe, corpus: Corpus) -> Recipe:
    """The recipe with the name of the corpus that is trained on, unless it names that corpus already."""
    entry = find_entry(recipe.corpus)
    path = Path(recipe.corpus).resolve()
    names = {entry.name} if entry else {path.name, path.stem}
    return recipe if corpus.name in names else dataclasses.replace(recipe, corpus=corpus.name)


def _check_corpus(corpus: Corpus) -> None:
    for split in ("train", "dev"):
        # Of a table of texts, nothing need be held out.
        if not corpus.splits.get(split) and not (split == "dev" and corpus.texts):
            raise ConfigError(f"the corpus {corpus.name} has no {split} trees")
    if corpus.dev and not any(tree.label for tree in corpus.dev):
        raise ConfigError(
            f"no sentence of the {corpus.name} development split has a label at its root, so no epoch can be chosen",
            remedy="Label the roots: the best epoch is the one that labels most development sentences correctly.",
        )
