"""Training a reranker from a recipe into a folder, with one seed or several: what `lexitree rerank train` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lexitree.errors import ConfigError, OnError
from lexitree.learning.distributed import refuse_several_processes
from lexitree.learning.loop import TrainingResult
from lexitree.learning.observers import Observer
from lexitree.learning.run_folder import MODEL_FOLDER, FinishedRun, claim_folder, run_in_folder, write_result
from lexitree.lexicon.vector_files import read_vectors, wanted_forms, with_length
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.catalog import check_memory
from lexitree.models.model_config import DEFAULT_WORD_SIZE
from lexitree.models.word_table import NUM_FIRST, WordTable
from lexitree.ops.devices import choose_device
from lexitree.ops.openmp import one_thread
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.parse.data import find_data_file
from lexitree.trees.brackets import ReadReport
from lexitree_paper.rerank.data import RerankData, load_rerank_data
from lexitree_paper.rerank.examples import BinaryList, ListExample, frequent_labels, make_list_example
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RerankerConfig, RerankRecipe
from lexitree_paper.rerank.reranker import Reranker
from lexitree_paper.rerank.scores import RerankScores, score_model
from lexitree_paper.rerank.task import RerankingTask

SCORES = ("dev_f1", "test_f1")
"""What a result has; seeds are compared by the first."""


@dataclass(frozen=True, slots=True, repr=False)
class RerankRun(FinishedRun):
    """A finished run with the test scores of its best reranker."""

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
    device: str = "auto",
    backend: str = "auto",
    minutes: float | None = None,
    resume: bool = False,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    observer: Observer | None = None,
) -> RerankRun:
    """Train a reranker by a recipe, into a folder: checkpoint, metrics, the best reranker and its scores.

    Args:
        recipe: What to train on what.
        folder: Where the run goes.
        lists: Trained on instead of the lists that the recipe names.
        data: The data folder.
        device: Where the reranker is trained, such as `cpu` or `cuda`; `auto` is a GPU if there is one.
        backend: The implementation of the tree operations.
        minutes: Begin no epoch that would end later.
        resume: Continue an interrupted run from its last epoch.
        on_error: Whether a damaged list is an error or is skipped.
        report: Is told of the lists that are skipped.
        observer: Is told of every batch and epoch.

    Raises:
        FileError: If the folder holds a run that is not to be resumed, or another process trains into it.
        TrainingDivergedError: If the loss is no longer finite.
    """
    refuse_several_processes("rerankers")
    with claim_folder(folder, resume=resume) as folder:
        lists = lists or load_rerank_data(recipe, data, on_error=on_error, report=report)
        torch.manual_seed(recipe.training.seed)
        model = build_reranker(recipe, lists, data, backend=backend).to(choose_device(device))
        parts = {part: _number(model, found) for part, found in lists.parts.items()}
        task = RerankingTask(model, parts["train"], parts["dev"], recipe.training)

        def save(training: TrainingResult) -> None:
            # The weight of the parser's score belongs to the weights of the model.
            model.config = dataclasses.replace(model.config, base_weight=training.best.scores["base_weight"])
            record = _about_training(recipe, lists, training)
            save_model(Reranker(model), folder / MODEL_FOLDER, training=record)

        training = run_in_folder(task, folder, save, observer=observer, minutes=minutes)
        save(training)
        choices, test = score_model(model, parts["test"]) if parts["test"] else ([], None)
        run = RerankRun(folder, training, choices, test)
        _write_result(run, recipe, model, lists)
        return run


def _number(model: RerankerModel, lists: Sequence[BinaryList]) -> list[ListExample]:
    return [make_list_example(each, model.lexicon, model.config.labels) for each in lists]


def build_reranker(
    recipe: RerankRecipe, lists: RerankData, data: str | Path | None = None, *, backend: str = "auto"
) -> RerankerModel:
    """Build a fresh reranker: labels of the training lists, vectors of the recipe's file."""
    lexicon = _build_lexicon(recipe, lists, data)
    labels = frequent_labels(lists.train, recipe.training.min_label_count)
    sizes = {"labels": labels, "word_size": lexicon.word_size}
    config = RerankerConfig.from_dict({**recipe.model, **sizes})
    check_memory(config.encoder)
    return RerankerModel(config, lexicon, backend=backend)


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
    trained = {word for each in lists.train for word in each.words}
    wanted = None if recipe.all_vectors else wanted_forms(trained)
    vectors = read_vectors(find_data_file(recipe.vectors, data), wanted, num_first=NUM_FIRST)
    if recipe.vector_length:
        vectors = with_length(vectors, recipe.vector_length)
    return WordTable.from_vectors(vectors, trained)


def _about_training(recipe: RerankRecipe, lists: RerankData, training: TrainingResult) -> dict[str, Any]:
    """What the card of the reranker tells about its training."""
    return {
        "lists": len(lists.train),
        "vectors": Path(recipe.vectors).name if recipe.vectors else "none (random)",
        "best_epoch": training.best.epoch,
        "epochs_run": len(training.history),
        "dev_f1": training.best.scores["dev_f1"],
        **recipe.training.as_dict(),
    }


def _write_result(run: RerankRun, recipe: RerankRecipe, model: RerankerModel, lists: RerankData) -> None:
    write_result(
        run,
        recipe,
        model,
        environment={"backend": model.what_runs},
        lists=lists.sizes(),
        base_weight=run.best.scores["base_weight"],
        dev_f1=run.best.scores["dev_f1"],
        test_f1=run.test.chosen.f1 if run.test else None,
        test=run.test.as_dict() if run.test else None,
        test_choices=list(run.choices),
    )
