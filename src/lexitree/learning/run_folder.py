"""What a user calls a system in, the folders of its saved models out: one model, a run, or runs of several seeds."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch

from lexitree.models.classifier import TreeClassifier
from lexitree.models.transformer import TransformerLexicon
from lexitree.ops.threads import num_cores
from lexitree.saving.model_folder import CONFIG_FILE
from lexitree.version import __version__


def describe_environment(model: TreeClassifier) -> dict[str, Any]:
    """The machine and the versions a figure depends on."""
    has_transformer = isinstance(model.lexicon, TransformerLexicon)
    return {
        "lexitree": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        **({"transformers": version("transformers")} if has_transformer else {}),
        "device": torch.cuda.get_device_name() if model.device.type == "cuda" else platform.machine(),
        "threads": num_cores(),
        "backend": model.what_runs,
        "precision": "float32" if torch.get_float32_matmul_precision() == "highest" else "tf32",
    }


MODEL_FOLDER, RESULT_FILE = "model", "result.json"
"""What a run leaves in its directory, beside its checkpoint."""
SEED_FOLDERS = "seed-*"
"""The directories of several seeds, within that of them all."""


class NamedFolder(NamedTuple):
    """A folder and what to call it."""

    name: str
    folder: str


def read_result(folder: Path) -> dict[str, Any]:
    """What a finished run has written down."""
    return json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))


def parse_named_folder(text: str) -> NamedFolder:
    """`BiConTree=runs/bi` has its name in front; a path alone is its own name, without the `model` at its end."""
    name, sign, folder = text.partition("=")
    if sign and name and folder and "/" not in name and not Path(text).exists():
        return NamedFolder(name, folder)
    path = Path(text)
    return NamedFolder(str(path.parent if path.name == MODEL_FOLDER and path.parent.name else path), text)


def model_folders(name: str | Path) -> list[str]:
    """The saved models of a system: of each seed in its order, of a run, or the one that was named.

    What is neither a run nor a folder of runs is given back as it is: the folder of a model, or a name on the hub.
    """
    folder = Path(name)
    if (folder / CONFIG_FILE).is_file():
        return [str(name)]
    if (folder / MODEL_FOLDER / CONFIG_FILE).is_file():
        return [str(folder / MODEL_FOLDER)]
    seeds = [path.parent.parent for path in folder.glob(f"{SEED_FOLDERS}/{MODEL_FOLDER}/{CONFIG_FILE}")]
    ordered = sorted(seeds, key=lambda path: (len(path.name), path.name))
    return [str(seed / MODEL_FOLDER) for seed in ordered] or [str(name)]
