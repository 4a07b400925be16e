"""Rerankers in and out of directories: safetensors, config.json, vocabulary.json and a card; nothing is pickled."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor

from lexitree.errors import ConfigError, LexitreeError, ModelFileError
from lexitree.files import atomic_folder
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.ops.threads import one_thread
from lexitree.saving.model_folder import (
    CARD_FILE,
    CONFIG_FILE,
    FORMAT,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    locate_model,
    read_config_file,
)
from lexitree.saving.pretrained import refuse_other_content
from lexitree.tasks.rerank.card import reranker_card
from lexitree.tasks.rerank.config import RerankerConfig
from lexitree.tasks.rerank.model import RerankerModel
from lexitree.tasks.rerank.reranker import Reranker
from lexitree.version import __version__

KIND = "reranker"
TABLE = "lexicon.vectors"
RELOAD = "Copy the reranker again, or train it anew."


def save_reranker(
    reranker: Reranker, folder: str | Path, *, training: Mapping[str, Any] | None = None
) -> Path:
    """Write a reranker to a directory, whole or not at all.

    `training` (data, scores, settings) goes into its card; without it, what the reranker was loaded with.
    """
    folder = Path(folder)
    record = dict(reranker.training_record if training is None else training)
    refuse_other_content(folder)
    with atomic_folder(folder, SafetensorError) as temporary:
        _write_files(reranker.model, temporary, record)
        for path in temporary.iterdir():
            path.chmod(0o644)
    return folder


def _write_files(model: RerankerModel, folder: Path, training: dict[str, Any]) -> None:
    if not isinstance(model.lexicon, WordTable):
        raise ConfigError(f"a reranker with a {type(model.lexicon).__name__} cannot be saved in this format")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, folder / WEIGHTS_FILE, metadata={"format": "pt"})
    config = {
        "library": "lexitree",
        "format": FORMAT,
        "kind": KIND,
        "version": __version__,
        "model": model.config.as_dict(),
        "training": training,
    }
    texts = {
        VOCABULARY_FILE: model.lexicon.vocabulary.to_json(),
        CONFIG_FILE: json.dumps(config, indent=2, ensure_ascii=False) + "\n",
        CARD_FILE: reranker_card(model.config, training, model.num_parameters()),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


@one_thread()
def load_reranker(
    name: str | Path,
    *,
    device: str | torch.device = "cpu",
    backend: str = "auto",
    base_weight: float | None = None,
) -> Reranker:
    """Read a reranker from a directory; `base_weight` is another weight of the parser's scores than the saved one."""
    folder = locate_model(name)
    config, values = _read_config(folder)
    if base_weight is not None:
        config = dataclasses.replace(config, base_weight=base_weight)
    vocabulary = _read_vocabulary(folder / VOCABULARY_FILE)
    tensors = _read_tensors(folder / WEIGHTS_FILE)
    table = tensors.get(TABLE)
    if table is None or table.ndim != 2 or len(table) != vocabulary.num_rows:
        raise ModelFileError(
            folder, f"{WEIGHTS_FILE} and {VOCABULARY_FILE} do not belong together", remedy=RELOAD
        )
    try:
        with torch.device("meta"):
            model = RerankerModel(config, WordTable(vocabulary, torch.empty(table.shape)), backend=backend)
        model.load_state_dict(tensors, assign=True)
    except (RuntimeError, TypeError, ConfigError) as error:
        problem = " ".join(str(error).split())[:300]
        raise ModelFileError(folder, f"{WEIGHTS_FILE} does not fit {CONFIG_FILE} ({problem})") from error
    reranker = Reranker(model.requires_grad_(True).to(device))
    reranker.training_record = values.get("training") or {}
    return reranker


def _read_config(folder: Path) -> tuple[RerankerConfig, dict[str, Any]]:
    values = read_config_file(folder)
    if values.get("kind") != KIND:
        raise ModelFileError(
            folder,
            "is a saved model but no reranker",
            remedy="Train a reranker with `lexitree rerank train`.",
        )
    try:
        return RerankerConfig.from_dict(values["model"]), values
    except (LexitreeError, TypeError) as error:
        raise ModelFileError(folder / CONFIG_FILE, f"is not a reranker's ({error})") from error


def _read_vocabulary(path: Path) -> Vocabulary:
    try:
        return Vocabulary.from_json(path.read_bytes(), path)
    except OSError as error:
        raise ModelFileError(path, f"cannot be read ({error.strerror or error})", remedy=RELOAD) from error


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(path, f"is missing, damaged or cut off ({error})", remedy=RELOAD) from error
    if any(tensor.dtype != torch.float32 for tensor in tensors.values()):
        raise ModelFileError(path, "must hold floating-point numbers of 32 bits", remedy=RELOAD)
    return tensors
