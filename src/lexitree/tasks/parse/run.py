"""Trains a parser from a recipe into a folder: what `lexitree parser train` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError
from lexitree.learning.distributed import refuse_several_processes
from lexitree.learning.loop import TrainingResult
from lexitree.learning.observers import Observer
from lexitree.learning.provenance import checksum
from lexitree.learning.run_folder import MODEL_FOLDER, FinishedRun, claim_folder, run_in_folder, write_result
from lexitree.lexicon.vector_files import read_vectors
from lexitree.lexicon.vocabulary import UNK, Vocabulary, count_words
from lexitree.ops.devices import choose_device
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.saved_parser import load_parser
from lexitree.parsers.word_features import SENTENCE_END, SENTENCE_START
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.parse.data import ParserData, find_data_file, load_parser_data
from lexitree.tasks.parse.examples import count_labels
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.task import ParserTask, score_tests
from lexitree.trees.brackets import surface_form


def build_parser_model(
    recipe: ParserRecipe, banks: ParserData, data: str | Path | None = None
) -> ParserModel:
    """Build a fresh parser: labels, tags and words of the training trees, vectors of the recipe's file."""
    trees = [tree for bank in banks.train for tree in bank.trees]
    labels, tags = count_labels(trees)
    counts = count_words(trees)
    settings: dict[str, Any] = dict(recipe.model)
    vector_words, vectors = _read_vector_table(recipe, counts, data)
    settings["vector_size"] = vectors.shape[1]
    config = ParserConfig(labels=_by_count(labels), tags=_by_count(tags), styles=recipe.styles, **settings)
    # A text can contain anything, even the marks that are used here.
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
            raise ConfigError("there are no vectors to reduce", remedy="Name a file of them: vectors = ...")
        return Vocabulary([]), np.zeros((1, 0), np.float32)
    path = find_data_file(recipe.vectors, data)
    # A word that is only looked up in lower case counts for that form.
    wanted: Counter[str] = Counter(counts)
    for word, count in counts.items():
        wanted[word.lower()] += count
    return reduced_vectors(path, wanted, num_words=recipe.num_vectors, size=size)


def _by_count(counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def reduced_vectors(
    path: Path, counts: Mapping[str, int], *, num_words: int = 0, size: int = 0
) -> tuple[Vocabulary, FloatArray]:  # [1 + words, size]
    """The table of vectors that a parser carries: fewer words and dimensions, centred and of unit variance.

    Args:
        path: The file of vectors.
        counts: How often training words occur; the most frequent are kept first.
        num_words: How many words are kept (0: all).
        size: The number of principal components that are kept (0: all dimensions as they are).

    Returns:
        The words, and their table after a row of zeros for unknown words.
    """
    vectors = read_vectors(path)
    # A word that is never looked up as it is written, such as -LRB-, would be useless.
    reachable = [row for row, word in enumerate(vectors.words) if word != UNK and surface_form(word) == word]
    ranked = sorted(reachable, key=lambda row: -counts.get(vectors.words[row], 0))
    kept = ranked[: num_words or len(ranked)]
    table = _reduce(vectors.vectors[kept], size)
    words = Vocabulary(vectors.words[row] for row in kept)
    return words, np.concatenate([np.zeros((1, table.shape[1]), np.float32), table])


def _reduce(vectors: FloatArray, size: int) -> FloatArray:
    if size > vectors.shape[1]:
        raise ConfigError(
            f"the vectors have {vectors.shape[1]} dimensions, fewer than {size}",
            remedy="Set vector_size to that number or less.",
        )
    centred = vectors - vectors.mean(0, dtype=np.float64).astype(np.float32)
    if size:
        covariance = centred.T.astype(np.float64) @ centred
        _, directions = np.linalg.eigh(covariance)
        centred = centred @ _with_sign(directions[:, ::-1][:, :size]).astype(np.float32)
    return centred / max(float(centred.std()), 1e-8)


def _with_sign(directions: np.ndarray) -> np.ndarray:
    """Principal directions have no sign: choose the one that makes the largest number positive."""
    largest = np.abs(directions).argmax(0)
    return directions * np.sign(directions[largest, np.arange(directions.shape[1])])


@dataclass(frozen=True, slots=True, repr=False)
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
    device: str = "auto",
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
        device: Where the parser is trained, such as `cpu` or `cuda`; `auto` is a GPU if there is one.
        minutes: Begin no epoch that would end later; reading the data and scoring the tests come on top.
        resume: Continue an interrupted run from its last epoch.
        observer: Is told of every batch and epoch.

    Raises:
        FileError: If the folder holds a run that is not to be resumed, or another process trains into it.
        TrainingDivergedError: If the loss is no longer finite.
    """
    refuse_several_processes("parsers")
    with claim_folder(folder, resume=resume) as folder:
        banks = banks or load_parser_data(recipe, data)
        torch.manual_seed(recipe.training.seed)
        model = build_parser_model(recipe, banks, data).to(choose_device(device))
        task = ParserTask(model, banks, recipe.training)

        def save(training: TrainingResult, **scores: Any) -> None:
            record = {**_about_training(recipe, banks, training), **scores}
            save_model(NeuralParser(model), folder / MODEL_FOLDER, training=record)

        training = run_in_folder(task, folder, save, observer=observer, minutes=minutes)
        save(training)
        # What is scored is what was saved, with its fewer digits; then its card has the scores as well.
        saved = load_parser(folder / MODEL_FOLDER, device=device, library="torch")
        test = score_tests(saved, banks.test)
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
    vectors = {recipe.vectors: checksum(find_data_file(recipe.vectors, data))} if recipe.vectors else {}
    write_result(
        run,
        recipe,
        model,
        environment={},
        num_bytes=sum(path.stat().st_size for path in (run.folder / MODEL_FOLDER).iterdir()),
        trees=banks.sizes(),
        checksums={**banks.checksums, **vectors},
        left_out_as_tested=dict(banks.left_out),
        dev_f1=run.best.scores["dev_f1"],
        dev=run.best.scores["dev"],
        test=run.test,
    )
