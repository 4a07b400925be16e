"""Saving and loading the transformer of a classifier: its weights, or only its name and revision on the hub."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lexitree.errors import LexitreeError, MissingExtraError, ModelFileError
from lexitree.lexicon.pieces import Unit
from lexitree.models.encoder_files import KNOWN_ENCODERS, locate_encoder, read_encoder, write_encoder
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.models.word_table import WordTable
from lexitree.saving.model_folder import ENCODER_FOLDER
from lexitree.saving.quantized import TableForm, shrink_tensors

PREFIX = "lexicon.encoder."
"""The prefix of a transformer's weights among those of a model."""

_COMMIT = re.compile("[0-9a-f]{40}")
"""A revision that never changes, unlike branches and tags."""


def encoder_entry(lexicon: TransformerLexicon) -> dict[str, Any]:
    """Describe a transformer for config.json.

    A transformer that was not trained and that the hub has under a fixed commit need not be saved: its name will do.
    """
    config = lexicon.config
    is_trained = lexicon.was_trained or not lexicon.is_frozen
    is_saved = is_trained or not _COMMIT.fullmatch(config.revision or "")
    return {**config.as_dict(), "name": _public_name(config), "trained": is_trained, "saved": is_saved}


def encoder_writer(lexicon: TransformerLexicon) -> Callable[[Path, TableForm], None]:
    """A function that writes a transformer to a folder; with a short form, in half precision."""

    def write(folder: Path, table: TableForm) -> None:
        is_short = table != "float32"
        weights = shrink_tensors(lexicon.encoder.state_dict(), (), "float16") if is_short else None
        write_encoder(lexicon.encoder, lexicon.splitter.tokenizer, folder, weights=weights)

    return write


def _public_name(config: TransformerConfig) -> str:
    """The name that means something on other machines; the path of a local folder does not."""
    if config.revision:
        return locate_encoder(config.name, config.revision)
    return config.name if config.name in KNOWN_ENCODERS else Path(config.name).resolve().name


def describe_encoder(values: Mapping[str, Any]) -> str:
    """Say in words what config.json says of a transformer."""
    revision = f", revision {values['revision']}" if values.get("revision") else ""
    what = "trained with the model" if values.get("trained", True) else "not trained further"
    return f"{values.get('name')}{revision}, {what}"


def open_saved_encoder(
    folder: Path, values: Mapping[str, Any], table: WordTable | None, unit: Unit
) -> TransformerLexicon:
    """Open the transformer that an entry of config.json describes.

    Args:
        folder: The folder of the model.
        values: The entry of config.json.
        table: The word vectors beside it, if the model has any.
        unit: What it gives vectors of.
    """
    settings = {"trained": True, "saved": (folder / ENCODER_FOLDER).is_dir(), **values}
    is_trained, is_saved = settings.pop("trained"), settings.pop("saved")
    try:
        config = TransformerConfig.from_dict(settings)
        lexicon = _open(folder, config, is_saved, table, unit)
    except (ModelFileError, MissingExtraError):
        raise
    except LexitreeError as error:
        raise ModelFileError(
            folder, f"its transformer cannot be read: {error.message}", remedy=error.remedy
        ) from error
    lexicon.was_trained = bool(is_trained)
    return lexicon


def _open(
    folder: Path, config: TransformerConfig, is_saved: object, table: WordTable | None, unit: Unit
) -> TransformerLexicon:
    if not is_saved:
        return open_transformer(config, table=table, unit=unit)
    inside = folder / ENCODER_FOLDER
    if not inside.is_dir():
        # The hub may have one of this name, but not the one that was trained with the model.
        raise ModelFileError(
            inside, "is missing, and with it the model's transformer", remedy="Copy the model again."
        )
    encoder, tokenizer = read_encoder(str(inside))
    return TransformerLexicon(config, encoder, tokenizer, table=table, unit=unit)
