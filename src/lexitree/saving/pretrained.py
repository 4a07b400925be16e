"""Models in and out of directories: safetensors, config.json, vocabulary.json and a card; nothing is pickled."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file  # pyright: ignore[reportUnknownVariableType]

from lexitree.errors import ConfigError, FileError, LexitreeError, ModelFileError, import_extra
from lexitree.files import atomic_folder
from lexitree.lexicon.pieces import Unit
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.catalog import encoder_class
from lexitree.models.classifier import TreeClassifier
from lexitree.models.guesses import VectorGuesser
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerLexicon
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.saving.card import model_card
from lexitree.saving.model_folder import (
    CARD_FILE,
    CONFIG_FILE,
    ENCODER_FOLDER,
    FILES,
    FORMAT,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    locate_model,
    read_config_file,
    weights_folder,
)
from lexitree.saving.quantized import TableForm, restore_tensors, shrink_tensors
from lexitree.saving.saved_transformer import PREFIX, describe_encoder, open_saved_encoder, save_encoder
from lexitree.version import __version__

TABLES = ("lexicon.vectors", "lexicon.table.vectors", "lexicon.guesser.group_vectors")
"""The weights that are most of a model's size: a row of numbers for each word or group of letters."""

OTHER_KINDS = {"parser": "lexitree parser", "reranker": "lexitree rerank"}
"""What else is saved in such directories, and the command that reads it."""


def save_pretrained(
    model: TreeClassifier,
    folder: str | Path,
    *,
    training: Mapping[str, Any] | None = None,
    table: TableForm = "float32",
) -> Path:
    """Write a model to a directory, whole or not at all.

    `training` (data, scores, settings) goes into its card; without it, what the model was loaded with. `table` is how
    word vectors are written: as they are (float32), or with two bytes a number (float16) or one (int8); all other
    weights then have two, those of a transformer too. Read back, a model computes in 32 bits as before.
    """
    folder = Path(folder)
    record = dict(model.training_record if training is None else training)
    refuse_other_content(folder)
    with atomic_folder(folder, SafetensorError) as temporary:
        _write_files(model, temporary, record, table)
        # Safetensors writes for the owner's eyes only; whoever may read the directory may read the model.
        (temporary / WEIGHTS_FILE).chmod(0o644)
    return folder


def _write_files(
    model: TreeClassifier, folder: Path, training: dict[str, Any], table: TableForm = "float32"
) -> None:
    about: dict[str, Any] = {} if table == "float32" else {"table": table}
    if isinstance(model.lexicon, TransformerLexicon):
        about["encoder"] = save_encoder(model.lexicon, folder, short=table != "float32")
    own = {name: each for name, each in model.state_dict().items() if not name.startswith(PREFIX)}
    tensors = shrink_tensors(own, TABLES, table)
    save_file(tensors, folder / WEIGHTS_FILE, metadata={"format": "pt"})
    if (words := _word_table(model.lexicon)) is not None:
        (folder / VOCABULARY_FILE).write_text(words.vocabulary.to_json(), encoding="utf-8")
    write_description(model, folder, training, **about)


def write_description(
    model: TreeClassifier, folder: Path, training: Mapping[str, Any], **about_weights: Any
) -> None:
    """Write what a model is, for programs (config.json) and for people (its card)."""
    config = {
        "library": "lexitree",
        "format": FORMAT,
        "version": __version__,
        **about_weights,
        "model": model.config.as_dict(),
        "training": training,
    }
    (folder / CONFIG_FILE).write_text(
        json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    encoder = about_weights.get("encoder")
    card = model_card(
        model.config,
        training,
        model.num_parameters(),
        transformer=describe_encoder(encoder) if encoder else "",
    )
    (folder / CARD_FILE).write_text(card, encoding="utf-8")


def _word_table(lexicon: Lexicon) -> WordTable | None:
    """The table of static vectors, if the lexicon is or has one."""
    if isinstance(lexicon, TransformerLexicon):
        return lexicon.table
    if not isinstance(lexicon, WordTable):
        raise ConfigError(f"a model with a {type(lexicon).__name__} cannot be saved in this format")
    return lexicon


def refuse_other_content(folder: Path) -> None:
    """Saving replaces the whole directory, so there must be nothing but an older model in it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileError(folder, "is a file, and a model is a directory")
    present = {path.name for path in folder.iterdir()}
    others = sorted(present - {*FILES, ENCODER_FOLDER})
    if others or (present and not _is_model(folder)):
        names = ", ".join((others or sorted(present))[:3])
        raise FileError(
            folder,
            f"holds other things than a lexitree model: {names}",
            remedy="Choose another directory, or move them away; nothing was changed.",
        )


def _is_model(folder: Path) -> bool:
    try:
        return bool(read_config_file(folder))
    except ModelFileError:
        return False


def from_pretrained(
    name: str | Path,
    *,
    device: str | torch.device = "cpu",
    backend: str = "auto",
    revision: str | None = None,
) -> TreeClassifier:
    """Read a model: from a directory, by its name in the package or, as `owner/name`, from the Hugging Face hub."""
    folder = locate_model(name, revision=revision)
    config = read_config(folder)
    record: dict[str, Any] = read_config_file(folder).get("training") or {}
    folder = weights_folder(folder)
    values = read_config_file(folder)
    tensors = _read_weights(folder / WEIGHTS_FILE, values.get("table", "float32"))
    try:
        lexicon = _empty_lexicon(folder, values, tensors, encoder_class(config.model).reads)
        with torch.device("meta"):
            model = TreeClassifier(config, lexicon, backend=backend)
        _fill(model, tensors)
    except (RuntimeError, TypeError, ValueError, ConfigError) as error:
        problem = " ".join(str(error).split())[:300]
        raise ModelFileError(folder, f"{WEIGHTS_FILE} does not fit {CONFIG_FILE} ({problem})") from error
    model.requires_grad_(True)
    if isinstance(lexicon, TransformerLexicon) and not lexicon.was_trained:
        lexicon.choose_trained(words=True, encoder=False)
    model.training_record = record
    return model.to(device).eval()


def _fill(model: TreeClassifier, tensors: Mapping[str, torch.Tensor]) -> None:
    """Give a model its weights; its transformer, if it has one, has them already."""
    found: Any = model.load_state_dict(tensors, strict=False, assign=True)
    wrong = [*found.unexpected_keys, *(name for name in found.missing_keys if not name.startswith(PREFIX))]
    if wrong:
        raise ValueError(f"weights that are missing or too many: {', '.join(wrong[:3])}")
    # A transformer is read in 32 bits.
    model.to(model.scorer.label_bias.dtype)


def _empty_lexicon(
    folder: Path, values: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], unit: Unit
) -> Lexicon:
    """A lexicon whose weights are still to be read, but for those of a transformer."""
    encoder: object = values.get("encoder")
    if encoder is None:
        return _empty_table(folder, tensors, "lexicon.vectors")
    has_table = "lexicon.table.vectors" in tensors
    table = _empty_table(folder, tensors, "lexicon.table.vectors") if has_table else None
    if not isinstance(encoder, dict):
        raise ModelFileError(folder / CONFIG_FILE, "does not say which transformer the model has")
    return open_saved_encoder(folder, cast(dict[str, Any], encoder), table, unit)


def _empty_table(folder: Path, tensors: Mapping[str, torch.Tensor], name: str) -> WordTable:
    vocabulary = _read_vocabulary(folder / VOCABULARY_FILE)
    vectors = tensors.get(name)
    if vectors is None or vectors.ndim != 2 or len(vectors) != vocabulary.num_rows:
        raise ModelFileError(folder, f"{WEIGHTS_FILE} and {VOCABULARY_FILE} do not belong together")
    with torch.device("meta"):
        return WordTable(vocabulary, torch.empty(vectors.shape), _empty_guesser(tensors))


def _empty_guesser(tensors: Mapping[str, torch.Tensor]) -> VectorGuesser | None:
    """A guesser of the sizes that were saved, if one was."""
    prefix = "lexicon.guesser."
    sizes = {
        name.removeprefix(prefix): each.shape for name, each in tensors.items() if name.startswith(prefix)
    }
    return VectorGuesser(**{name: torch.empty(size) for name, size in sizes.items()}) if sizes else None


def read_config(folder: Path) -> ModelConfig:
    """The shape of a saved model."""
    values = read_config_file(folder)
    if (kind := values.get("kind")) in OTHER_KINDS:
        raise ModelFileError(
            folder, f"is a {kind}, and not a model that labels", remedy=f"See `{OTHER_KINDS[kind]}`."
        )
    try:
        return ModelConfig.from_dict(values["model"])
    except (LexitreeError, TypeError) as error:
        raise ModelFileError(folder / CONFIG_FILE, f"is not a model's ({error})") from error


def _read_vocabulary(path: Path) -> Vocabulary:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ModelFileError(path, f"cannot be read ({error.strerror or error})") from error
    return Vocabulary.from_json(text, path)


def _read_weights(path: Path, form: TableForm) -> dict[str, torch.Tensor]:
    """The weights in the precision they were saved with or, if they are in a short form, in 32 bits."""
    tensors = _read_tensors(path)
    if form != "float32":
        try:
            return restore_tensors(tensors)
        except ValueError as error:
            raise ModelFileError(path, f"is not in the form that {CONFIG_FILE} says ({error})") from error
    kinds = {tensor.dtype for tensor in tensors.values()}
    if len(kinds) != 1 or not kinds.pop().is_floating_point:
        raise ModelFileError(path, "must hold floating-point numbers of one kind")
    return tensors


def _read_tensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise ModelFileError(path, "is missing") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            path, f"is damaged or cut off ({error})", remedy="Copy or download the model again."
        ) from error


def push_to_hub(
    model: TreeClassifier, name: str, *, private: bool = False, revision: str | None = None
) -> str:
    """Upload a model to the Hugging Face hub as `owner/name`; its address."""
    hub = import_extra("huggingface_hub", extra="hub", purpose="Uploading to the hub")
    try:
        api = hub.HfApi()
        api.create_repo(name, private=private, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = save_pretrained(model, Path(scratch) / "model")
            return str(api.upload_folder(repo_id=name, folder_path=folder, revision=revision))
    except LexitreeError:
        raise
    except Exception as error:  # as above, the client's errors are many
        raise ModelFileError(
            name,
            f"could not be uploaded to the hub ({type(error).__name__}: {error})",
            remedy="Check the name, the network and your login (huggingface-cli login).",
        ) from error
