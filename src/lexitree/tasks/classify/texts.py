"""Trains a model on texts and labels from Python: `train_texts`, and `fine_tune`, which starts from another model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from lexitree.corpora.text_tables import texts_from_columns
from lexitree.parsers.protocol import Parser
from lexitree.saving.shipped import BUILTIN_PARSER, DEFAULT_MODEL
from lexitree.tasks.classify.prepared_run import RunResult
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import train
from lexitree.tasks.classify.starting import fine_tuning_recipe
from lexitree.tasks.classify.text_corpus import corpus_from_texts, opened_parser


def train_texts(
    texts: Iterable[object],
    labels: Iterable[object],
    folder: str | Path,
    *,
    start: str | None = None,
    dev: float = 0.1,
    test: float = 0.1,
    recipe: Recipe | None = None,
    settings: Mapping[str, Any] | None = None,
    parser: Parser | str = BUILTIN_PARSER,
    **options: Any,
) -> RunResult:
    """Train a model on texts and labels.

        run = lexitree.train_texts(frame["comment"], frame["kind"], "runs/tickets")
        pipe = lexitree.load(run.model_folder)

    Sentences are found, tokenized and parsed as in prediction. In training, every sentence of a text has the label of
    the text; a text is scored as a whole, by the mean of its sentences' probabilities, as a `Document` is.

    Args:
        texts: The texts: a list, or a column of pandas, polars, NumPy or a Hugging Face dataset.
        labels: Their labels: strings, numbers or truth values.
        folder: Where the run goes; see `train`.
        start: A model to start from; see `fine_tune`.
        dev: The share of the texts that chooses the best epoch; with 0, the model learns from all of them, and the
            last epoch is kept.
        test: The share that only the final model is scored on; may be 0.
        recipe: Settings of model and training; by default those of `Recipe`, or the smaller steps for `start`.
        settings: Some settings by dotted name, such as `{"training.epochs": 5, "model.hidden": 75}`.
        parser: A parser, or the name of one (see `open_parser`). A model with the built-in parser reads texts without
            being told of it.
        **options: Passed on to `train`: `device`, `observer`, `threads`, `minutes` and others.

    Returns:
        The finished run with its scores; `run.model_folder` is the model.

    Raises:
        TableError: A row has no text or no label; the error gives its number, from 1.
        LabelError: All labels are the same, or there are too few texts to hold any out.
        FileError: The folder holds a run already.
    """
    given = recipe or (fine_tuning_recipe(start) if start else Recipe())
    wanted = given.with_values(
        {
            "table.dev": dev,
            "table.test": test,
            "parser": parser if isinstance(parser, str) else "",
            **({"start": start} if start else {}),
            **(settings or {}),
        }
    )
    rows = texts_from_columns(texts, labels)
    opened = opened_parser(parser) if isinstance(parser, str) else nullcontext(parser)
    with opened as reader:
        corpus = corpus_from_texts({"train": rows}, reader, wanted.table, parser_name=wanted.parser)
    return train(wanted, folder, corpus=corpus, **options)


def fine_tune(
    texts: Iterable[object],
    labels: Iterable[object],
    folder: str | Path,
    *,
    start: str = DEFAULT_MODEL,
    **options: Any,
) -> RunResult:
    """Train a model on texts and labels, starting from another model; a few dozen texts can be enough.

    It begins with the word vectors, recurrences and head words of the other model. Its output layer is new, but for
    labels of the same name. Steps are small, word vectors stay as they are, and training stops when the development
    texts are no longer labelled better.

    Args:
        texts: The texts; see `train_texts`.
        labels: Their labels.
        folder: Where the run goes.
        start: A model of the package, a folder, or a name on the Hugging Face hub.
        **options: Those of `train_texts`.

    Returns:
        The finished run with its scores; `run.model_folder` is the model.
    """
    return train_texts(texts, labels, folder, start=start, **options)
