"""A recipe and a directory in, a trained model with its scores and records out; the whole of `lexitree train`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from lexitree.batch.examples import Example
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import find_entry, load_corpus
from lexitree.corpora.treebank import chosen_strips
from lexitree.errors import ConfigError, FileError
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.files import atomic_write
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.loop import Trainer, TrainingResult
from lexitree.learning.observers import METRICS_FILE, Observer, ObserverGroup, TensorBoardObserver
from lexitree.learning.run_folder import MODEL_FOLDER, RESULT_FILE, describe_environment
from lexitree.models.catalog import with_model_defaults
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.ops.precision import check_precision, products_in
from lexitree.ops.threads import use_cores
from lexitree.parsers.adapters.opening import open_parser
from lexitree.tasks.classify.keeping import ModelKeeper
from lexitree.tasks.classify.lexicons import build_lexicon
from lexitree.tasks.classify.parsed_corpus import Parses, read_unlabelled, with_parses, with_unlabelled
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.task import make_fingerprint
from lexitree.tasks.classify.teaching import (
    LESSONS_FILE,
    give_lessons,
    learn_from,
    read_lessons,
    save_lessons,
)
from lexitree.trees.binarize import Direction


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a finished run leaves: its best epoch, its scores and where the model is."""

    folder: Path
    training: TrainingResult
    dev: Evaluation
    test: Evaluation | None

    def as_dict(self) -> dict[str, Any]:
        best = self.training.best
        return {
            "best_epoch": best.epoch,
            "dev_root": self.dev.root.accuracy,
            "dev_phrase": self.dev.phrase.accuracy if self.dev.phrase else None,
            "test_root": self.test.root.accuracy if self.test else None,
            "test_phrase": self.test.phrase.accuracy if self.test and self.test.phrase else None,
            "test_root_answers": self.test.root_answers_text if self.test else None,
            "test_root_gold": self.test.root_gold_text if self.test else None,
            "seconds": self.training.seconds,
            "epochs": [record.as_dict() for record in self.training.history],
        }


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    corpus: Corpus | None = None,
    device: str = "cpu",
    backend: str = "auto",
    threads: int = 1,
    precision: str = "float32",
    resume: bool = False,
    lessons: Path | None = None,
    observer: Observer | None = None,
) -> RunResult:
    """Train by a recipe, into a directory: checkpoint, metrics, the best model and its scores.

    With `resume` a run that was cut goes on from its last epoch; without it a directory that already holds a
    run is left alone. One thread is the default: the products are small, and seeds make better use of several
    cores. A second thread helps the models with two directions; the weights do not depend on their number. A
    transformer under the trees makes use of as many as there are, and its weights depend on them by rounding.
    `precision="tf32"` lets a GPU multiply with fewer digits, and faster. `lessons` is a file of `make_lessons`;
    without it, a recipe's teacher is asked at the start.
    """
    folder = Path(folder)
    check_precision(precision, training=True)
    _claim_folder(folder, resume=resume)
    with use_cores(threads, wide_products=bool(recipe.encoder)), products_in(precision):
        corpus = corpus or load_recipe_corpus(recipe)
        _check_corpus(corpus)
        torch.manual_seed(recipe.training.seed)
        model = build_model(recipe, corpus, backend=backend).to(device)
        splits = {
            name: model.prepare(trees, training=name == "train") for name, trees in corpus.splits.items()
        }
        taught = None
        if recipe.teacher:
            path = lessons or _own_lessons(recipe, corpus, folder, resume, device, backend)
            taught = read_lessons(path, recipe.teacher)
            splits["train"] = learn_from(taught, splits["train"], recipe.training.teacher_weight)
        keeper = ModelKeeper(folder, recipe, model, corpus, taught)
        training = _run_trainer(recipe, folder, model, keeper, splits, observer)
        test = splits.get("test")
        result = RunResult(
            folder, training, evaluate(model, splits["dev"]), evaluate(model, test) if test else None
        )
        kept = ("best_epoch", "dev_root", "dev_phrase", "test_root", "test_phrase")
        scores = result.as_dict()
        keeper.save({name: scores[name] for name in kept})
        _write_result(result, recipe, model, corpus)
    return result


def _own_lessons(
    recipe: Recipe, corpus: Corpus, folder: Path, resume: bool, device: str, backend: str
) -> Path:
    """The lessons of a run for itself: those it began with, or new ones."""
    path = folder / LESSONS_FILE
    if not (resume and path.exists()):
        make_lessons(recipe, corpus, path, device=device, backend=backend)
    return path


def make_lessons(
    recipe: Recipe, corpus: Corpus, path: Path, *, device: str = "cpu", backend: str = "auto"
) -> None:
    """Let the teacher of a recipe label the training trees, for as many runs of the recipe as there will be."""
    config = ModelConfig.from_dict(_model_settings(recipe, corpus))
    save_lessons(give_lessons(recipe.teacher, config, corpus.train, device=device, backend=backend), path)


def _run_trainer(
    recipe: Recipe,
    folder: Path,
    model: TreeClassifier,
    keeper: ModelKeeper,
    splits: Mapping[str, Sequence[Example]],
    observer: Observer | None,
) -> TrainingResult:
    observers: list[Observer] = [keeper]
    if observer:
        observers.append(observer)
    if TensorBoardObserver.is_available():
        observers.append(TensorBoardObserver(folder / "tensorboard"))
    group = ObserverGroup(observers)
    trainer = Trainer(
        model,
        splits["train"],
        splits["dev"],
        recipe.training,
        folder=folder,
        fingerprint=make_fingerprint(recipe, model, [*splits["train"], *splits["dev"]]),
        observer=group,
    )
    try:
        return trainer.run()
    finally:
        group.close()


def load_recipe_corpus(recipe: Recipe) -> Corpus:
    """The corpus a recipe names."""
    # Beside a named corpus, which has nothing to skip, `skip` can only mean the rows of the vectors.
    rows_only = recipe.vectors is not None and find_entry(recipe.corpus) is not None
    on_error = "skip" if recipe.on_error == "skip" and not rows_only else "raise"
    corpus = load_corpus(
        recipe.corpus,
        data=recipe.data,
        encoding=recipe.encoding,
        on_error=on_error,
        strip=chosen_strips(traces=recipe.strip_traces, function_tags=recipe.strip_function_tags),
        supervision=recipe.model.get("supervision"),
    )
    if recipe.parser:
        corpus = _with_parses(corpus, recipe)
    if recipe.teacher_trees:
        trees = read_unlabelled(recipe.teacher_trees, recipe.data)
        corpus = with_unlabelled(corpus, trees, direction=_parse_direction(recipe))
    return corpus


def _parse_direction(recipe: Recipe) -> Direction:
    """How the model will split the parses of raw text, which is how it should meet them in training."""
    asked = {name: recipe.model[name] for name in ("binarization",) if name in recipe.model}
    return ModelConfig(labels=("any",), **asked).parse_binarization


def _with_parses(corpus: Corpus, recipe: Recipe) -> Corpus:
    with ExitStack() as stack:
        parser = open_parser(recipe.parser)
        if isinstance(parser, AbstractContextManager):
            stack.enter_context(cast(AbstractContextManager[object], parser))
        return with_parses(
            corpus, parser, parses=cast(Parses, recipe.parses), direction=_parse_direction(recipe)
        )


def build_model(recipe: Recipe, corpus: Corpus, *, backend: str = "auto") -> TreeClassifier:
    """A fresh model for a corpus, with its vocabulary and word vectors."""
    settings = _model_settings(recipe, corpus)
    # What is wrong with the settings is said before a file of vectors is read.
    ModelConfig.from_dict(settings)
    settings = with_model_defaults(settings)
    lexicon = build_lexicon(recipe, corpus, settings)
    config = ModelConfig.from_dict({**settings, "word_size": lexicon.word_size})
    return TreeClassifier(config, lexicon, backend=backend)


def _model_settings(recipe: Recipe, corpus: Corpus) -> dict[str, Any]:
    """The settings of a recipe's model with what the corpus says of its labels."""
    return {
        "supervision": corpus.supervision,
        **recipe.model,
        **corpus.label_set.as_dict(),
    }


def _claim_folder(folder: Path, *, resume: bool) -> None:
    if resume and not (folder / CHECKPOINT_FILE).exists() and (folder / RESULT_FILE).exists():
        raise FileError(folder, "has results but no checkpoint to go on from")
    if not resume and any((folder / name).exists() for name in (CHECKPOINT_FILE, RESULT_FILE, MODEL_FOLDER)):
        raise FileError(
            folder, "already holds a run", remedy="Go on with it by --resume, or choose another directory."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot be made ({error.strerror or error})") from error
    if resume:
        _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    """What a killed run was just writing: never needed again, and as large as a checkpoint."""
    for name in (CHECKPOINT_FILE, METRICS_FILE, RESULT_FILE, MODEL_FOLDER, LESSONS_FILE):
        # Nothing but our own names: the directory may be one that holds other things as well.
        for path in (*folder.glob(f".{name}.*.part"), *folder.glob(f".{name}.*.old")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _check_corpus(corpus: Corpus) -> None:
    for split in ("train", "dev"):
        if not corpus.splits.get(split):
            raise ConfigError(f"the corpus {corpus.name} has no {split} trees")
    if not any(tree.label for tree in corpus.dev):
        raise ConfigError(
            f"no sentence of the {corpus.name} development split has a label at its root, so no epoch can be chosen",
            remedy="Label the roots: the best epoch is the one that labels most development sentences right.",
        )


def _write_result(result: RunResult, recipe: Recipe, model: TreeClassifier, corpus: Corpus) -> None:
    scores = result.as_dict()
    record = {
        "recipe": recipe.as_dict(),
        "model": model.config.as_dict(),
        "num_parameters": model.num_parameters(),
        "corpus": {name: len(trees) for name, trees in corpus.splits.items()},
        "environment": describe_environment(model),
        **scores,
    }
    with atomic_write(result.folder / RESULT_FILE) as stream:
        json.dump(record, stream, indent=2)
        stream.write("\n")
