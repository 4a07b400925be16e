"""Small models of every kind, and saved models and checkpoints with something changed in their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from lexitree.learning.checkpoint import Checkpoint, save_checkpoint
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.span_network import SpanNetwork
from lexitree.saving.model_folder import checksum, config_checksum
from tests.tiny import tiny_model


def tiny_parser(hidden: int = 8, **settings: Any) -> NeuralParser:
    """A parser that has learned nothing."""
    sizes: dict[str, Any] = {"affix_rows": 16, "layers": 1, "span_size": 8, "vector_size": 6}
    config = ParserConfig(labels=("S",), tags=("NN",), hidden=hidden, **sizes, **settings)
    model = ParserModel(config, Vocabulary(["a", "b"]), Vocabulary(["a"]))
    model.set_vectors(torch.randn(3, 6, generator=torch.Generator().manual_seed(1)))
    return NeuralParser(model)


MAKERS: dict[str, Callable[..., Any]] = {
    "classifier": tiny_model,
    "parser": tiny_parser,
}
DATA_FILES = {
    "classifier": ["vocabulary.json", "model.safetensors"],
    "parser": ["vocabulary.json", "trained_words.json", "model.safetensors", "vectors.safetensors"],
}
"""The files of each kind besides config.json and the card."""


def make(kind: str, hidden: int = 8) -> Any:
    return MAKERS[kind](hidden=hidden)


def hidden_of(model: Any) -> int:
    return getattr(model, "model", model).config.hidden


def torch_network_of(model: Any) -> nn.Module:
    """What can be trained of a model."""
    network = getattr(model, "model", model)
    return network.torch_network("A test") if isinstance(network, SpanNetwork) else network


def tensors_of(model: Any) -> dict[str, torch.Tensor]:
    """All weights of a model, with the fixed vectors of a parser."""
    network = torch_network_of(model)
    fixed = {"vectors": network.vectors} if isinstance(network, ParserModel) else {}
    return {**network.state_dict(), **fixed}


def edit_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change config.json, and its own checksum with it."""
    values = json.loads((folder / "config.json").read_text())
    change(values)
    if "checksum" in values:
        values["checksum"] = config_checksum(values)
    (folder / "config.json").write_text(json.dumps(values))


def seal(folder: Path) -> None:
    """Make the checksums those of the files as they are now."""
    others = [path for path in folder.rglob("*") if path.is_file() and path.name != "README.md"]
    checksums = {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in others
        if path != folder / "config.json"
    }
    edit_config(folder, lambda values: values.update(checksums=checksums))


def seal_checkpoint(path: Path) -> None:
    """Make the checksum of a checkpoint that of its tensors and its record as they are now."""
    with safe_open(path, "pt") as file:
        record = json.loads(file.metadata()["record"])
    groups: dict[str, dict[str, torch.Tensor]] = {"weights": {}, "best_weights": {}, "optimizer": {}}
    for name, tensor in load_file(path).items():
        group, _, rest = name.partition("/")
        groups[group][rest] = tensor
    record.pop("checksum", None)
    save_checkpoint(path, Checkpoint(**groups, record=record))


def edit_weights(
    folder: Path, change: Callable[[dict[str, torch.Tensor]], object], name: str = "model.safetensors"
) -> None:
    tensors = load_file(folder / name)
    change(tensors)
    # Into a new file: the tensors still live in the old one.
    save_file(tensors, folder / "new")
    (folder / "new").replace(folder / name)
    seal(folder)
