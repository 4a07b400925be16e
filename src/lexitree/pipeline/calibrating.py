"""Calibrates a model: finds the temperature of its probabilities on labelled texts, and stores it with the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from lexitree.corpora.text_files import read_texts
from lexitree.corpora.text_tables import TableSettings
from lexitree.errors import ConfigError, OnError
from lexitree.evaluation.calibration import (
    RatedTexts,
    cross_fitted,
    expected_calibration_error,
    fit_temperature,
)
from lexitree.models.model_config import ModelConfig
from lexitree.pipeline.loading import load
from lexitree.pipeline.table_scores import with_label_ids
from lexitree.saving.classifier_entries import store_settings
from lexitree.saving.model_folder import ModelFolder

MIN_TEXTS = 20


@dataclass(frozen=True, slots=True)
class Calibration:
    """The temperature of a model, and how good its probabilities are with and without it."""

    temperature: float
    num_texts: int
    error_before: float
    """The expected calibration error of the model as it was."""
    error: float
    """The same with temperatures, each half of the texts scored at the one that fits the other half."""

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values for JSON."""
        return {
            "temperature": self.temperature,
            "texts": self.num_texts,
            "calibration_error_before": self.error_before,
            "calibration_error": self.error,
        }


def calibrate(
    model: str | Path,
    tables: Sequence[str | Path],
    *,
    labels: int | None = None,
    settings: TableSettings | None = None,
    num_rows: int | None = None,
    parser: str | None = None,
    device: str = "auto",
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    store: bool = True,
) -> Calibration:
    """Fit the temperature of a saved model on labelled texts that it was not trained on.

    Args:
        model: The folder of the model, which gets the temperature.
        tables: Tables of texts with labels; see `read_texts`.
        labels: How many labels the tables have, if fewer than the model: 3 or 2 for the sides of its scale.
        settings: The columns of the tables, and whether texts are single sentences.
        num_rows: How many rows of each table are read; by default all.
        parser: The parser, if the model has none of its own.
        device: Where the model runs.
        encoding: The encoding of the tables.
        on_error: Whether to "raise" at a malformed row or to "skip" it.
        store: Whether to write the temperature into the folder of the model.

    Raises:
        ConfigError: There are too few texts, or the model is not in a folder that could be changed.
        LabelError: A label is not one of the model's.
    """
    folder = ModelFolder.find(model)
    if store and not Path(model).is_dir():
        raise ConfigError(
            f"{model} is not a folder, which could get the temperature",
            remedy="Name a folder, or leave the model as it is: --dry-run (store=False).",
        )
    config = folder.settings(ModelConfig.from_dict)
    answers = config.label_set if labels is None else config.label_set.with_grain(labels)
    read = [
        read_texts(table, settings, encoding=encoding, on_error=on_error).rows[:num_rows] for table in tables
    ]
    rows = with_label_ids(list(chain.from_iterable(read)), answers)
    finest = len(config.label_set.trained_ids)
    with load(model, reads="text", parser=parser, device=device, labels=finest) as pipe:
        is_one = settings is not None and settings.layout == "one"
        documents = list(pipe.stream([row.text for row in rows], one_sentence=is_one))
    texts = RatedTexts.of(documents, answers.score_groups, [answers.ids.index(row.label) for row in rows])
    if len(texts) < MIN_TEXTS:
        raise ConfigError(f"a temperature needs at least {MIN_TEXTS} texts, and there are {len(texts)}")
    found = Calibration(
        # Probabilities are at the temperature that the model has.
        config.temperature * fit_temperature(texts),
        len(texts),
        expected_calibration_error(texts.probabilities(), texts.gold),
        expected_calibration_error(cross_fitted(texts), texts.gold),
    )
    if store:
        about = {
            "calibrated_on": f"{len(texts):,} texts",
            "calibration_error": found.error,
            "calibration_error_before": found.error_before,
        }
        store_settings(folder, {"temperature": found.temperature}, about)
    return found
