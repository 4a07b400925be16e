"""A recipe and a directory in, a trained parser with its scores and records out; the whole of `parser train`."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError, FileError
from lexitree.files import atomic_write
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.lexicon.vocabulary import UNK, Vocabulary, count_words
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import GENERIC_STYLE, ParserConfig
from lexitree.parsers.saved_parser import load_parser, save_parser
from lexitree.parsers.word_features import SENTENCE_END, SENTENCE_START
from lexitree.tasks.parse.data import ParserData, Treebank, file_checksum, find_data_file, load_parser_data
from lexitree.tasks.parse.examples import count_labels, make_parser_examples
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.scores import ParserScores, score_parser
from lexitree.tasks.parse.task import ParserEpoch, ParserListeners, ParserTrainer
from lexitree.tasks.parse.vector_table import reduced_vectors
from lexitree.version import __version__

MODEL_FOLDER, RESULT_FILE = "model", "result.json"
ORACLE_K = 8


@dataclass(frozen=True, slots=True)
class ParserRun:
    """What a run leaves."""

    folder: Path
    history: Sequence[ParserEpoch]
    test: Mapping[str, Mapping[str, Any]]
    """The scores of each test treebank, in its own style where there is one; see `score_tests`."""

    @property
    def best(self) -> ParserEpoch:
        return next(record for record in reversed(self.history) if record.is_best)


def train_parser(
    recipe: ParserRecipe,
    folder: str | Path,
    *,
    banks: ParserData | None = None,
    data: str | Path | None = None,
    device: str = "cpu",
    minutes: float | None = None,
    resume: bool = False,
    listeners: ParserListeners | None = None,
) -> ParserRun:
    """Train by a recipe, into a directory: checkpoint, metrics, the best parser and its scores on all test treebanks.

    `banks` are trained on instead of the recipe's whole treebanks. With `resume` a run that was cut, or that ran out
    of `minutes`, goes on from its last epoch. The minutes are those of training: reading the data and scoring the
    tests come on top.
    """
    folder = Path(folder)
    _claim_folder(folder, resume=resume)
    banks = banks or load_parser_data(recipe, data)
    torch.manual_seed(recipe.training.seed)
    model = build_parser_model(recipe, banks, data).to(device)
    trainer = make_trainer(recipe, model, banks, folder, listeners)

    def save(**scores: Any) -> None:
        record = {**_training_record(recipe, banks, trainer.history), **scores}
        save_parser(NeuralParser(model), folder / MODEL_FOLDER, training=record)

    def keep() -> None:
        save()
        if listeners is not None:
            listeners.on_best()

    # Each time there is a better one: a run that is killed leaves a parser, too.
    trainer.listeners = dataclasses.replace(trainer.listeners, on_best=keep)
    history = trainer.run(minutes=minutes)
    save()
    # What is scored is what was saved, with its fewer digits.
    test = score_tests(load_parser(folder / MODEL_FOLDER, device=device), banks.test)
    # Its card has them as well.
    save(test_f1={name: scores["f1"] for name, scores in test.items()})
    run = ParserRun(folder, history, test)
    _write_result(run, recipe, model, banks, data)
    return run


def build_parser_model(
    recipe: ParserRecipe, banks: ParserData, data: str | Path | None = None
) -> ParserModel:
    """A fresh parser: labels, tags and words of the training trees, vectors of the recipe's file."""
    trees = [tree for bank in banks.train for tree in bank.trees]
    labels, tags = count_labels(trees)
    counts = count_words(trees)
    settings: dict[str, Any] = dict(recipe.model)
    vector_words, vectors = _read_vector_table(recipe, counts, data)
    settings["vector_size"] = vectors.shape[1]
    config = ParserConfig(labels=_by_count(labels), tags=_by_count(tags), styles=recipe.styles, **settings)
    # A text may say anything, even what stands for something else here.
    marks = (SENTENCE_START, SENTENCE_END)
    frequent = [word for word in _by_count(counts) if counts[word] >= recipe.min_count]
    trained_words = Vocabulary([*marks, *(word for word in frequent if word not in (UNK, *marks))])
    model = ParserModel(config, vector_words, trained_words)
    model.set_vectors(torch.from_numpy(vectors))
    return model


def _read_vector_table(
    recipe: ParserRecipe, counts: Mapping[str, int], data: str | Path | None
) -> tuple[Vocabulary, FloatArray]:
    size: int = recipe.model.get("vector_size", 0)
    if not recipe.vectors:
        if size or recipe.num_vectors:
            raise ConfigError(
                "there are no vectors to be reduced", remedy="Name a file of them: vectors = ..."
            )
        return Vocabulary([]), np.zeros((1, 0), np.float32)
    path = find_data_file(recipe.vectors, data)
    # A word that is only looked up in lower case counts for that form.
    wanted: Counter[str] = Counter(counts)
    for word, count in counts.items():
        wanted[word.lower()] += count
    return reduced_vectors(path, wanted, num_words=recipe.num_vectors, size=size)


def _by_count(counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def make_trainer(
    recipe: ParserRecipe,
    model: ParserModel,
    banks: ParserData,
    folder: Path | None = None,
    listeners: ParserListeners | None = None,
) -> ParserTrainer:
    """A trainer that scores the development treebanks after each epoch, each in its own style."""
    trees = (tree for bank in banks.train for tree in bank.trees)
    # Epochs count: the learning rate falls towards the last one.
    fingerprint = {**recipe.as_dict(), "files": dict(banks.checksums), "vector table": _table_sum(model)}
    return ParserTrainer(
        model,
        make_parser_examples(model, banks.train, recipe.training.max_length),
        [bank.weight for bank in banks.train],
        count_words(trees),
        recipe.training,
        lambda: {bank.name: score_bank(model, bank).as_dict()["f1"] for bank in banks.dev},
        folder=folder,
        fingerprint=fingerprint,
        listeners=listeners,
    )


def _table_sum(model: ParserModel) -> str:
    return f"{float(model.vectors.double().abs().sum()):.6g}"


def score_bank(model: ParserModel, bank: Treebank, *, k: int = 1, generic: bool = False) -> ParserScores:
    """The scores of a treebank, parsed in its own style where the parser knows it, else in the generic one."""
    is_known = bank.style in model.config.styles and not generic
    parser = NeuralParser(model, style=bank.style if is_known else GENERIC_STYLE)
    return score_parser(parser, bank.trees, k=k)


def score_tests(parser: NeuralParser, banks: Sequence[Treebank]) -> dict[str, dict[str, Any]]:
    """F1, tags, complete match and the oracle among 8, in a treebank's own style and in the generic one."""
    return {
        bank.name: {
            "style": bank.style if bank.style in parser.model.config.styles else GENERIC_STYLE,
            **score_bank(parser.model, bank, k=ORACLE_K).as_dict(),
            "generic_f1": score_bank(parser.model, bank, generic=True).as_dict()["f1"],
        }
        for bank in banks
    }


def _claim_folder(folder: Path, *, resume: bool) -> None:
    if not resume and any((folder / name).exists() for name in (CHECKPOINT_FILE, RESULT_FILE, MODEL_FOLDER)):
        raise FileError(
            folder, "already holds a run", remedy="Go on with it by --resume, or choose another directory."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot be made ({error.strerror or error})") from error


def _training_record(
    recipe: ParserRecipe, banks: ParserData, history: Sequence[ParserEpoch]
) -> dict[str, Any]:
    """What a reader of the card wants to know."""
    best = next(record for record in reversed(history) if record.is_best)
    return {
        "treebanks": {bank.name: len(bank.trees) for bank in banks.train},
        "vectors": Path(recipe.vectors).name if recipe.vectors else "none",
        "best_epoch": best.epoch,
        "epochs_run": len(history),
        "dev_f1": best.dev_f1,
        **dataclasses.asdict(recipe.training),
    }


def _write_result(
    run: ParserRun, recipe: ParserRecipe, model: ParserModel, banks: ParserData, data: str | Path | None
) -> None:
    vectors = {recipe.vectors: file_checksum(find_data_file(recipe.vectors, data))} if recipe.vectors else {}
    record = {
        "recipe": recipe.as_dict(),
        "model": model.config.as_dict(),
        "num_parameters": model.num_parameters(),
        "num_bytes": sum(path.stat().st_size for path in (run.folder / MODEL_FOLDER).iterdir()),
        "trees": banks.sizes(),
        "checksums": {**banks.checksums, **vectors},
        "left_out_as_tested": dict(banks.left_out),
        "environment": {
            "lexitree": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if model.device.type == "cuda" else platform.machine(),
        },
        "best_epoch": run.best.epoch,
        "dev_f1": run.best.dev_f1,
        "dev": dict(run.best.dev),
        "test": run.test,
        "seconds": sum(epoch.seconds for epoch in run.history),
        "epochs": [epoch.as_dict() for epoch in run.history],
    }
    with atomic_write(run.folder / RESULT_FILE) as stream:
        json.dump(record, stream, indent=2)
        stream.write("\n")
