"""A model's transformer in and out of the model's directory: its weights, or no more than its name and revision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexitree.errors import LexitreeError, ModelFileError
from lexitree.lexicon.encoder_files import locate_encoder, read_encoder, write_encoder
from lexitree.lexicon.pieces import Unit
from lexitree.lexicon.table import WordTable
from lexitree.lexicon.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.models.model_files import ENCODER_FOLDER

PREFIX = "lexicon.encoder."
"""How the names of a transformer's weights begin among those of a model."""


def save_encoder(lexicon: TransformerLexicon, folder: Path) -> dict[str, Any]:
    """Write a model's transformer into the model's directory, and return what its config.json says of it.

    One that was not trained and that the hub has under a fixed commit is not written: its name is enough.
    """
    values = lexicon.config.as_dict()
    by_name = (
        lexicon.is_frozen and lexicon.config.revision and not Path(locate_encoder(values["name"])).is_dir()
    )
    if not by_name:
        write_encoder(lexicon.encoder, lexicon.splitter.tokenizer, folder / ENCODER_FOLDER)
        # Where it lay on the machine that trained it is nobody else's concern.
        values["name"] = Path(values["name"]).name
    return values


def open_saved_encoder(
    folder: Path, values: Mapping[str, Any], table: WordTable | None, unit: Unit
) -> TransformerLexicon:
    """The inverse of `save_encoder`."""
    try:
        config = TransformerConfig(**values)
        if not (folder / ENCODER_FOLDER).is_dir():
            return open_transformer(config, table=table, unit=unit)
        encoder, tokenizer = read_encoder(str(folder / ENCODER_FOLDER))
        return TransformerLexicon(config, encoder, tokenizer, table=table, unit=unit)
    except TypeError as error:
        raise ModelFileError(
            folder, f"config.json does not say which transformer it has ({error})"
        ) from error
    except ModelFileError:
        raise
    except LexitreeError as error:
        raise ModelFileError(
            folder, f"its transformer cannot be read: {error.message}", remedy=error.remedy
        ) from error
