"""Training a sentence model from a recipe into a folder, with one seed or several: what `lexitree train` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import find_entry
from lexitree.errors import ConfigError, FileError
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.learning.distributed import OneProcess, join_processes, own_device
from lexitree.learning.loop import TrainingResult
from lexitree.learning.observers import Observer
from lexitree.learning.run_folder import (
    ALREADY_THERE,
    LESSONS_FILE,
    MODEL_FOLDER,
    FinishedRun,
    claim_folder,
    run_in_folder,
    write_result,
)
from lexitree.learning.seeds import OnEvent, SeedSummary, run_seeds
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerLexicon
from lexitree.ops.devices import check_precision, products_in
from lexitree.ops.threads import use_cores
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.classify.building import (
    add_further,
    build_model,
    choose_vectors,
    load_recipe_corpus,
    model_settings,
)
from lexitree.tasks.classify.more_learning import MoreLearning
from lexitree.tasks.classify.recipe import RANDOM_VECTORS, Recipe
from lexitree.tasks.classify.task import SCORES, ClassifyTask, score_name
from lexitree.tasks.classify.teaching import Lessons, give_lessons, learn_from, read_lessons, save_lessons


@dataclass(frozen=True, slots=True, repr=False)
class RunResult(FinishedRun):
    """A finished run with the scores of its best model."""

    dev: Evaluation | None
    test: Evaluation | None

    def scores(self) -> dict[str, Any]:
        """Accuracies on the development and test splits; None where there are no labels or no split.

        With further corpora, theirs are beside them: `dev_mean` and, by corpus, `dev_more`.
        """
        others = {name: score for name, score in self.best.scores.items() if name not in SCORES}
        return {
            "dev_root": self.dev.root.accuracy if self.dev else None,
            "dev_phrase": self.dev.phrase.accuracy if self.dev and self.dev.phrase else None,
            "test_root": self.test.root.accuracy if self.test else None,
            "test_phrase": self.test.phrase.accuracy if self.test and self.test.phrase else None,
            **others,
        }


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
        if corpus is None:
            corpus = processes.from_first(lambda: load_recipe_corpus(recipe))
        else:
            given, recipe = corpus, _with_corpus_name(recipe, corpus)
            corpus = processes.from_first(lambda: add_further(given, recipe))
        _check_corpus(corpus)
        torch.manual_seed(recipe.training.seed)
        model = processes.from_first(lambda: build_model(recipe, corpus, backend=backend)).to(device)
        splits = {
            name: model.prepare(trees, training=name == "train") for name, trees in corpus.splits.items()
        }
        more = None
        if corpus.further:
            share = 1 - recipe.training.teacher_weight if recipe.teacher else 1.0
            more = MoreLearning.prepare(model, corpus.further, share)
            splits["train"] = more.label_training(splits["train"])
        taught = None
        if recipe.teacher:
            taught = processes.from_first(
                lambda: read_lessons(
                    lessons or _own_lessons(recipe, corpus, folder, resume, device, backend), recipe.teacher
                )
            )
            splits["train"] = learn_from(
                taught, splits["train"], recipe.training.teacher_weight, mixes_labels=more is None
            )
        if processes.is_first and corpus.texts is not None and corpus.texts.record is not None:
            corpus.texts.record.write(folder)
        task = ClassifyTask(
            model,
            splits["train"],
            splits.get("dev", []),
            recipe.training,
            _settings_beside(recipe),
            corpus.document_sizes("dev"),
            more,
            processes,
            augment=recipe.augment,
        )
        about = _about_training(recipe, corpus, taught)

        def save(training: TrainingResult, **scores: Any) -> None:
            record = {**about, "best_epoch": training.best.epoch, **scores, **recipe.training.as_dict()}
            save_model(model, folder / MODEL_FOLDER, training=record)

        def save_best(training: TrainingResult) -> None:
            save(training, **training.best.scores)

        training = run_in_folder(
            task, folder, save_best, observer=observer, minutes=minutes, processes=processes
        )

        def finish() -> RunResult:
            dev, test = (
                evaluate(model, splits[split], document_sizes=corpus.document_sizes(split))
                if splits.get(split)
                else None
                for split in ("dev", "test")
            )
            run = RunResult(folder, training, dev, test)
            save(training, **run.scores())
            _write_result(run, recipe, model, corpus, processes)
            return run

        return processes.from_first(finish)


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


def _settings_beside(recipe: Recipe) -> dict[str, Any]:
    """Settings that results depend on, beside those of the model and of training."""
    # The name of the encoder may change: its weights are in the checksum.
    encoder = {name: value for name, value in recipe.encoder.items() if name not in ("name", "revision")}
    return {
        "vector_length": recipe.vector_length,
        "encoder": encoder,
        **({"teacher": recipe.teacher} if recipe.teacher else {}),
        **({"start": recipe.start} if recipe.start else {}),
        **({"more": [plan.as_dict() for plan in recipe.more]} if recipe.more else {}),
        **({"augment": recipe.augment.as_dict()} if recipe.augment.is_on else {}),
    }


def _about_training(recipe: Recipe, corpus: Corpus, lessons: Lessons | None) -> dict[str, Any]:
    """What the card of the model tells about its data."""
    about: dict[str, Any] = {"corpus": corpus.name, "trees": len(corpus.train)}
    if corpus.further:
        about["more"] = ", ".join(each.name for each in corpus.further)
    if recipe.encoder:
        # A folder by its own name; a name on the hub has two parts, which both count.
        name = Path(recipe.encoder["name"])
        about["encoder"] = name.resolve().name if name.is_dir() else str(name)
    if recipe.start:
        about["start"] = Path(recipe.start).name
    elif recipe.vectors or not recipe.encoder:
        vectors = choose_vectors(recipe, corpus)
        about["vectors"] = "none (random)" if vectors == RANDOM_VECTORS else Path(vectors).name
    if lessons:
        others = [Path(path).name for path in recipe.teacher_trees]
        about |= {"teacher": lessons.about, "teacher_trees": ", ".join(["the training trees", *others])}
    return about


def _write_result(
    run: RunResult, recipe: Recipe, model: TreeClassifier, corpus: Corpus, processes: OneProcess
) -> None:
    has_transformer = isinstance(model.lexicon, TransformerLexicon)
    more: dict[str, Any] = {"transformers": version("transformers")} if has_transformer else {}
    if processes.size > 1:
        more["processes"] = processes.size
    write_result(
        run,
        recipe,
        model,
        environment={"backend": model.what_runs, **more},
        corpus={name: len(trees) for name, trees in corpus.splits.items()},
        **run.scores(),
        test_root_answers=run.test.root_answers_text if run.test else None,
        test_root_gold=run.test.root_gold_text if run.test else None,
    )
