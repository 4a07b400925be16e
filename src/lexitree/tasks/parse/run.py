"""Training a parser from a recipe into a folder: what `lexitree parser train` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lexitree.learning.loop import Trainer, TrainingResult
from lexitree.learning.observers import Observer
from lexitree.learning.run_folder import (
    MODEL_FOLDER,
    FinishedRun,
    claim_folder,
    describe_environment,
    run_observers,
    write_result,
)
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.saved_parser import load_parser
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.parse.building import build_parser_model
from lexitree.tasks.parse.data import ParserData, file_checksum, find_data_file, load_parser_data
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.scores import score_tests
from lexitree.tasks.parse.task import ParserTask


@dataclass(frozen=True, slots=True)
class ParserRun(FinishedRun):
    """A finished run with the test scores of its best parser."""

    test: Mapping[str, Mapping[str, Any]]
    """By treebank; see `score_tests`."""


def train_parser(
    recipe: ParserRecipe,
    folder: str | Path,
    *,
    banks: ParserData | None = None,
    data: str | Path | None = None,
    device: str = "cpu",
    minutes: float | None = None,
    resume: bool = False,
    observer: Observer | None = None,
) -> ParserRun:
    """Train a parser by a recipe, into a folder: checkpoint, metrics, the best parser and its test scores.

    Args:
        recipe: What to train on what.
        folder: Where the run goes.
        banks: Trained on instead of the treebanks that the recipe names.
        data: The data folder.
        device: Where the parser is trained, such as `cpu` or `cuda`.
        minutes: Begin no epoch that would end later; reading the data and scoring the tests come on top.
        resume: Continue an interrupted run from its last epoch.
        observer: Is told of every batch and epoch.

    Raises:
        FileError: If the folder holds a run that is not to be resumed.
        TrainingDivergedError: If the loss is no longer finite.
    """
    folder = claim_folder(folder, resume=resume)
    banks = banks or load_parser_data(recipe, data)
    torch.manual_seed(recipe.training.seed)
    model = build_parser_model(recipe, banks, data).to(device)
    task = ParserTask(model, banks, recipe.training)

    def save(training: TrainingResult, **scores: Any) -> None:
        record = {**_about_training(recipe, banks, training), **scores}
        save_model(NeuralParser(model), folder / MODEL_FOLDER, training=record)

    with run_observers(folder, observer) as observers:
        trainer = Trainer(task, folder=folder, observer=observers, save_best=save)
        training = trainer.run(minutes=minutes)
    save(training)
    # What is scored is what was saved, with its fewer digits; then its card has the scores as well.
    test = score_tests(load_parser(folder / MODEL_FOLDER, device=device), banks.test)
    save(training, test_f1={name: scores["f1"] for name, scores in test.items()})
    run = ParserRun(folder, training, test)
    _write_result(run, recipe, model, banks, data)
    return run


def _about_training(recipe: ParserRecipe, banks: ParserData, training: TrainingResult) -> dict[str, Any]:
    """What the card of the parser tells about its training."""
    return {
        "treebanks": {bank.name: len(bank.trees) for bank in banks.train},
        "vectors": Path(recipe.vectors).name if recipe.vectors else "none",
        "best_epoch": training.best.epoch,
        "epochs_run": len(training.history),
        "dev_f1": training.best.scores["dev_f1"],
        **recipe.training.as_dict(),
    }


def _write_result(
    run: ParserRun, recipe: ParserRecipe, model: ParserModel, banks: ParserData, data: str | Path | None
) -> None:
    vectors = {recipe.vectors: file_checksum(find_data_file(recipe.vectors, data))} if recipe.vectors else {}
    write_result(
        run,
        recipe=recipe.as_dict(),
        model=model.config.as_dict(),
        num_parameters=model.num_parameters(),
        environment=describe_environment(model.device),
        num_bytes=sum(path.stat().st_size for path in (run.folder / MODEL_FOLDER).iterdir()),
        trees=banks.sizes(),
        checksums={**banks.checksums, **vectors},
        left_out_as_tested=dict(banks.left_out),
        dev_f1=run.best.scores["dev_f1"],
        dev=run.best.scores["dev"],
        test=run.test,
    )
