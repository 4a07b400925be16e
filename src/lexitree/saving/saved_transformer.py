"""A model's transformer in and out of the model's directory: its weights, or no more than its name and revision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexitree.errors import LexitreeError, MissingExtraError, ModelFileError
from lexitree.lexicon.pieces import Unit
from lexitree.models.encoder_files import KNOWN_ENCODERS, locate_encoder, read_encoder, write_encoder
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.models.word_table import WordTable
from lexitree.saving.model_folder import ENCODER_FOLDER
from lexitree.saving.quantized import shrink_tensors

PREFIX = "lexicon.encoder."
"""How the names of a transformer's weights begin among those of a model."""

COMMIT = re.compile("[0-9a-f]{40}")
"""A revision that stays what it is; branches and tags move on."""


def save_encoder(lexicon: TransformerLexicon, folder: Path, *, short: bool = False) -> dict[str, Any]:
    """Write a model's transformer into the model's directory, and return what its config.json says of it.

    One that was not trained and that the hub has under a fixed commit is not written: its name is enough. With
    `short` weights have two bytes a number.
    """
    config = lexicon.config
    is_trained = lexicon.was_trained or not lexicon.is_frozen
    is_saved = is_trained or not COMMIT.fullmatch(config.revision or "")
    if is_saved:
        weights = shrink_tensors(lexicon.encoder.state_dict(), (), "float16") if short else None
        write_encoder(lexicon.encoder, lexicon.splitter.tokenizer, folder / ENCODER_FOLDER, weights=weights)
    return {**config.as_dict(), "name": _public_name(config), "trained": is_trained, "saved": is_saved}


def _public_name(config: TransformerConfig) -> str:
    """The name that says something elsewhere, too: where a directory lay is nobody else's concern."""
    if config.revision:
        return locate_encoder(config.name, config.revision)
    return config.name if config.name in KNOWN_ENCODERS else Path(config.name).resolve().name


def describe_encoder(values: Mapping[str, Any]) -> str:
    """What config.json says of a transformer, in words."""
    revision = f", revision {values['revision']}" if values.get("revision") else ""
    what = "trained with the model" if values.get("trained", True) else "as it came, not trained"
    return f"{values.get('name')}{revision}, {what}"


def open_saved_encoder(
    folder: Path, values: Mapping[str, Any], table: WordTable | None, unit: Unit
) -> TransformerLexicon:
    """The inverse of `save_encoder`."""
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
        # That of the same name elsewhere is another: this one was trained.
        raise ModelFileError(
            inside, "is missing, and with it the model's transformer", remedy="Copy the model again."
        )
    encoder, tokenizer = read_encoder(str(inside))
    return TransformerLexicon(config, encoder, tokenizer, table=table, unit=unit)
