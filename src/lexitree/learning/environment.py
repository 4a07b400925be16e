"""A model where it is in; what the figures of a run depend on beside its settings out: versions and machine."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import torch

from lexitree.lexicon.transformer import TransformerLexicon
from lexitree.models.classifier import TreeClassifier
from lexitree.ops.threads import num_cores
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
        "backend": model.backend.name,
        "precision": "float32" if torch.get_float32_matmul_precision() == "highest" else "tf32",
    }
