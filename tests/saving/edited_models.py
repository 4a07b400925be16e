"""Saved models with something changed in their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file


def edit_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads((folder / "config.json").read_text())
    change(values)
    (folder / "config.json").write_text(json.dumps(values))


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    # Into a new file: the tensors still live in the old one.
    save_file(tensors, folder / "new")
    (folder / "new").replace(folder / "model.safetensors")
