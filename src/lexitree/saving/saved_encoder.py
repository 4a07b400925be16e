"""How the transformer of a model is saved: its entry in config.json, its files, and opening it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lexitree.errors import LexitreeError, MissingExtraError, ModelFileError
from lexitree.lexicon.pieces import Unit
from lexitree.models.encoder_files import (
    KNOWN_ENCODERS,
    locate_encoder,
    read_encoder,
    write_encoder,
    write_without_weights,
)
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.models.word_table import WordTable
from lexitree.saving.model_folder import CONFIG_FILE, ENCODER_FOLDER, QUANTIZED_ENCODER, ModelFolder
from lexitree.saving.model_kinds import write_tensors
from lexitree.saving.quantized import shrink_encoder, shrink_tensors
from lexitree.saving.stored_arrays import TableForm
from lexitree.saving.torch_weights import read_quantized_encoder

_COMMIT = re.compile("[0-9a-f]{40}")
"""A revision that never changes, unlike branches and tags."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def encoder_entry(lexicon: TransformerLexicon) -> dict[str, Any]:
    """Describe a transformer for config.json.

    A transformer that was not trained and that the hub has under a fixed commit need not be saved: its name will do.
    """
    config = lexicon.config
    is_trained = lexicon.was_trained or not lexicon.is_frozen
    is_saved = is_trained or not _COMMIT.fullmatch(config.revision or "")
    return {**config.as_dict(), "name": _public_name(config), "trained": is_trained, "saved": is_saved}


def encoder_writer(lexicon: TransformerLexicon) -> Callable[[Path, TableForm], None]:
    """A function that writes a transformer to the folder of a model in the form that its tables have."""
    encoder, tokenizer = lexicon.encoder, lexicon.splitter.tokenizer

    def write(folder: Path, table: TableForm) -> None:
        inside = folder / ENCODER_FOLDER
        if table == "int8":
            write_without_weights(encoder, tokenizer, inside)
            write_tensors(shrink_encoder(encoder.state_dict()), folder / QUANTIZED_ENCODER)
        else:
            weights = None if table == "float32" else shrink_tensors(encoder.state_dict(), (), table)
            write_encoder(encoder, tokenizer, inside, weights=weights)

    return write


def _public_name(config: TransformerConfig) -> str:
    """The name that means something on other machines; the path of a local folder does not."""
    if config.revision:
        return locate_encoder(config.name, config.revision)
    return config.name if config.name in KNOWN_ENCODERS else Path(config.name).resolve().name


def open_saved_encoder(
    folder: ModelFolder, values: Mapping[str, Any], table: WordTable | None, unit: Unit
) -> TransformerLexicon:
    """Open the transformer that an entry of config.json describes.

    Args:
        folder: The folder of the model.
        values: The entry of config.json.
        table: The word vectors beside it, if the model has any.
        unit: What it gives vectors of.
    """
    settings = {"trained": True, "saved": (folder.path / ENCODER_FOLDER).is_dir(), **values}
    is_trained, is_saved = settings.pop("trained"), settings.pop("saved")
    try:
        config = TransformerConfig.from_dict(settings)
        if is_saved:
            encoder, tokenizer = read_encoder(
                str(folder.encoder_folder), weights=read_quantized_encoder(folder)
            )
            lexicon = TransformerLexicon(config, encoder, tokenizer, table=table, unit=unit)
        else:
            _refuse_other_names(folder, config)
            lexicon = open_transformer(config, table=table, unit=unit)
    except (ModelFileError, MissingExtraError):
        raise
    except LexitreeError as error:
        raise ModelFileError(
            folder.path, f"its transformer cannot be read: {error.message}", remedy=error.remedy
        ) from error
    lexicon.was_trained = bool(is_trained)
    return lexicon


def _refuse_other_names(folder: ModelFolder, config: TransformerConfig) -> None:
    """A model of somebody else may name a transformer that anybody can get, and no directory of this machine."""
    is_fixed = _HUB_NAME.fullmatch(config.name) and _COMMIT.fullmatch(config.revision or "")
    if not (is_fixed or config.name in KNOWN_ENCODERS) or Path(config.name).is_dir():
        raise ModelFileError(
            folder.path / CONFIG_FILE,
            f"names a transformer that a saved model cannot have: {config.name!r:.80}",
            remedy="It must be in the model's folder, or on the Hugging Face hub as owner/name with a commit.",
        )
