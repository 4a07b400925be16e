"""A recipe and a directory in, a trained reranker with its scores and records out; the whole of `rerank train`."""

from __future__ import annotations

import dataclasses
import json
import platform
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lexitree.errors import ConfigError, FileError, OnError
from lexitree.files import atomic_write
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.lexicon.vectors import build_table, read_vectors, wanted_forms, with_length
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.model_config import DEFAULT_WORD_SIZE
from lexitree.models.word_table import WordTable
from lexitree.ops.threads import one_thread
from lexitree.tasks.parse.data import find_data_file
from lexitree.tasks.rerank.config import RerankerConfig
from lexitree.tasks.rerank.data import RerankData, load_rerank_data
from lexitree.tasks.rerank.examples import BinaryList, ListExample, frequent_labels, make_list_example
from lexitree.tasks.rerank.model import RerankerModel
from lexitree.tasks.rerank.recipe import RerankRecipe
from lexitree.tasks.rerank.reranker import Reranker
from lexitree.tasks.rerank.saved_reranker import save_reranker
from lexitree.tasks.rerank.scores import RerankScores, score_choices
from lexitree.tasks.rerank.scoring import score_lists
from lexitree.tasks.rerank.task import RerankEpoch, RerankListeners, RerankTrainer
from lexitree.trees.brackets import ReadReport
from lexitree.version import __version__

MODEL_FOLDER, RESULT_FILE = "model", "result.json"


@dataclass(frozen=True, slots=True)
class RerankRun:
    """What a finished run leaves."""

    folder: Path
    history: Sequence[RerankEpoch]
    best: RerankEpoch
    choices: Sequence[int]
    """The place of the chosen candidate of each test list, in the order of the list."""
    test: RerankScores | None
    """None where there are no test lists."""


@one_thread()
def train_reranker(
    recipe: RerankRecipe,
    folder: str | Path,
    *,
    lists: RerankData | None = None,
    data: str | Path | None = None,
    device: str = "cpu",
    backend: str = "auto",
    minutes: float | None = None,
    resume: bool = False,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    listeners: RerankListeners | None = None,
) -> RerankRun:
    """Train by a recipe, into a directory: checkpoint, metrics, the best reranker and its scores.

    `lists` are taken instead of those that the recipe names. With `on_error="skip"` damaged ones are left out, and
    noted in the report. With `resume` a run that was cut goes on from its last epoch; without it a directory that
    already holds a run is left alone.
    """
    folder = Path(folder)
    _claim_folder(folder, resume=resume)
    lists = lists or load_rerank_data(recipe, data, on_error=on_error, report=report)
    torch.manual_seed(recipe.training.seed)
    model = build_reranker(recipe, lists, data, backend=backend).to(device)
    parts = {part: _number(model, found) for part, found in lists.parts.items()}
    fingerprint = _fingerprint(recipe, model, [*parts["train"], *parts["dev"]])
    trainer = RerankTrainer(
        model,
        parts["train"],
        parts["dev"],
        recipe.training,
        folder=folder,
        fingerprint=fingerprint,
        listeners=listeners,
    )
    trainer.run(minutes=minutes)
    model.config = dataclasses.replace(model.config, base_weight=trainer.best.base_weight)
    save_reranker(Reranker(model), folder / MODEL_FOLDER, training=_training_record(recipe, lists, trainer))
    choices, test = _score_test(model, parts["test"])
    run = RerankRun(folder, trainer.history, trainer.best, choices, test)
    _write_result(run, recipe, model, lists)
    return run


def _config(recipe: RerankRecipe, labels: tuple[str, ...], **sizes: int) -> RerankerConfig:
    return RerankerConfig.from_dict({**recipe.model, **sizes, "labels": labels})


def _number(model: RerankerModel, lists: Sequence[BinaryList]) -> list[ListExample]:
    return [make_list_example(each, model.lexicon, model.config.labels) for each in lists]


def build_reranker(
    recipe: RerankRecipe, lists: RerankData, data: str | Path | None = None, *, backend: str = "auto"
) -> RerankerModel:
    """A fresh reranker: labels of the training lists, vectors of the recipe's file."""
    lexicon = _build_lexicon(recipe, lists, data)
    labels = frequent_labels(lists.train, recipe.training.min_label_count)
    return RerankerModel(_config(recipe, labels, word_size=lexicon.word_size), lexicon, backend=backend)


def _build_lexicon(recipe: RerankRecipe, lists: RerankData, data: str | Path | None) -> WordTable:
    if recipe.vectors is None:
        if recipe.vector_length:
            raise ConfigError("there are no vectors to be scaled", remedy="Name a file of them: --vectors.")
        if not recipe.training.train_words:
            raise ConfigError(
                "word vectors that start random must be trained",
                remedy="Name a file of vectors (--vectors), or train them (--set training.train_words=true).",
            )
        trees = [each.source.candidates[0].tree for each in lists.train]
        return WordTable.random(Vocabulary.from_trees(trees, min_count=recipe.min_count), DEFAULT_WORD_SIZE)
    words = (word for part in lists.parts.values() for each in part for word in each.words)
    wanted = None if recipe.all_vectors else wanted_forms(words)
    vectors = read_vectors(find_data_file(recipe.vectors, data), wanted)
    if recipe.vector_length:
        vectors = with_length(vectors, recipe.vector_length)
    vocabulary, table = build_table(vectors)
    return WordTable(vocabulary, torch.from_numpy(table))


def _score_test(
    model: RerankerModel, examples: Sequence[ListExample]
) -> tuple[list[int], RerankScores | None]:
    if not examples:
        return [], None
    scored = list(score_lists(model, examples))
    choices = [each.choose(model.config.base_weight) for each in scored]
    return choices, score_choices(scored, choices)


def _claim_folder(folder: Path, *, resume: bool) -> None:
    if not resume and any((folder / name).exists() for name in (CHECKPOINT_FILE, RESULT_FILE, MODEL_FOLDER)):
        raise FileError(
            folder, "already holds a run", remedy="Go on with it by --resume, or choose another directory."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot be made ({error.strerror or error})") from error


def _fingerprint(
    recipe: RerankRecipe, model: RerankerModel, examples: Sequence[ListExample]
) -> dict[str, Any]:
    """The settings of a run, and checksums of its word vectors and lists; more epochs are welcome."""
    settings = recipe.training.as_dict()
    del settings["epochs"]
    lists = 0
    for example in examples:
        for array in (example.word_index, example.label_index, example.base_scores):
            lists = zlib.crc32(array.tobytes(), lists)
    table = next(model.lexicon.parameters()).numpy(force=True)
    return {
        **settings,
        **model.config.as_dict(),
        "checksum of the word vectors": zlib.crc32(table.tobytes()),
        "checksum of the lists": lists,
    }


def _training_record(recipe: RerankRecipe, lists: RerankData, trainer: RerankTrainer) -> dict[str, Any]:
    """What a reader of the card wants to know."""
    return {
        "lists": len(lists.train),
        "vectors": Path(recipe.vectors).name if recipe.vectors else "none (random)",
        "best_epoch": trainer.best.epoch,
        "epochs_run": len(trainer.history),
        "dev_f1": trainer.best.dev_f1,
        **recipe.training.as_dict(),
    }


def _write_result(run: RerankRun, recipe: RerankRecipe, model: RerankerModel, lists: RerankData) -> None:
    record = {
        "recipe": recipe.as_dict(),
        "model": model.config.as_dict(),
        "num_parameters": model.num_parameters(),
        "lists": lists.sizes(),
        "environment": {
            "lexitree": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if model.device.type == "cuda" else platform.machine(),
            "backend": model.what_runs,
        },
        "best_epoch": run.best.epoch,
        "base_weight": run.best.base_weight,
        "dev_f1": run.best.dev_f1,
        "test": run.test.as_dict() if run.test else None,
        "test_choices": list(run.choices),
        "seconds": sum(epoch.seconds for epoch in run.history),
        "epochs": [epoch.as_dict() for epoch in run.history],
    }
    with atomic_write(run.folder / RESULT_FILE) as stream:
        json.dump(record, stream, indent=2)
        stream.write("\n")
