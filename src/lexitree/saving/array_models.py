"""Opens saved classifiers as NumPy arrays, without torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lexitree.models.array_classifier import ArrayClassifier
from lexitree.models.array_encoders import ARRAY_ENCODERS, ARRAY_HEAD_METHODS
from lexitree.models.array_lexicon import ArrayGuesser, ArrayLexicon
from lexitree.models.model_config import DEFAULT_MODEL, ModelConfig
from lexitree.saving.classifier_entries import ENCODER, read_reading, refuse_missing_plugins
from lexitree.saving.model_folder import CLASSIFIER, ModelFolder
from lexitree.saving.stored_arrays import StoredTable

_LEXICON, _GUESSER = "lexicon.", "lexicon.guesser."


def why_not_arrays(folder: ModelFolder) -> str | None:
    """What keeps a saved model from running on NumPy arrays; None if nothing does."""
    if folder.kind != CLASSIFIER:
        return f"it is a {folder.kind}"
    if ENCODER in folder.weights.values:
        return "it has a transformer"
    settings = folder.values["model"]
    if settings.get("model", DEFAULT_MODEL) not in ARRAY_ENCODERS:
        return "its model is of another package"
    if settings.get("head_method", ARRAY_HEAD_METHODS[0]) not in ARRAY_HEAD_METHODS:
        return "its head method is of another package"
    return None


def open_array_classifier(folder: ModelFolder, *, backend: str = "auto") -> ArrayClassifier:
    """Open a classifier for which `why_not_arrays` is None.

    Args:
        folder: The model.
        backend: `auto` (the fastest here), `native` or `numpy`.

    Raises:
        ModelFileError: If it is damaged.
        BackendError: If the backend cannot run here.
    """
    refuse_missing_plugins(folder)
    config = folder.settings(ModelConfig.from_dict)
    tables = folder.weights.tables()
    with folder.weights.must_fit():
        lexicon = _open_lexicon(folder.weights, tables, config)
        others = {name: table for name, table in tables.items() if not name.startswith(_LEXICON)}
        model = ArrayClassifier(config, lexicon, others, backend=backend)
    model.reading = read_reading(folder)
    model.training_record = folder.training
    return model


def _open_lexicon(
    folder: ModelFolder, tables: Mapping[str, StoredTable], config: ModelConfig
) -> ArrayLexicon:
    vocabulary = folder.vocabulary(lookup=config.lookup)
    vectors = tables.get(f"{_LEXICON}vectors")
    if vectors is None or len(vectors.shape) != 2 or vectors.shape[0] != vocabulary.num_rows:
        raise folder.mismatched_words()
    parts = {
        name.removeprefix(_GUESSER): table for name, table in tables.items() if name.startswith(_GUESSER)
    }
    others = {f"{_LEXICON}vectors", *(f"{_GUESSER}{each.name}" for each in dataclasses.fields(ArrayGuesser))}
    if wrong := [name for name in tables if name.startswith(_LEXICON) and name not in others]:
        raise ValueError(f"missing or unknown weights: {', '.join(wrong[:3])}")
    return ArrayLexicon(vocabulary, vectors, _open_guesser(parts) if parts else None)


def _open_guesser(parts: Mapping[str, StoredTable]) -> ArrayGuesser:
    if missing := [each.name for each in dataclasses.fields(ArrayGuesser) if each.name not in parts]:
        raise ValueError(f"missing or unknown weights: {_GUESSER}{missing[0]}")
    return ArrayGuesser(parts["group_vectors"], parts["projection"].all(), parts["mean"].all())
