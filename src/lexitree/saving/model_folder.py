"""The name of a model in; its directory, here or from the hub, and what its config.json says out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast, get_args

from lexitree.errors import ModelFileError, import_extra
from lexitree.saving import shipped
from lexitree.saving.quantized import TableForm

FORMAT = 1
"""Raised when old programs could no longer read what new ones write."""

WEIGHTS_FILE, CONFIG_FILE, VOCABULARY_FILE, CARD_FILE = (
    "model.safetensors",
    "config.json",
    "vocabulary.json",
    "README.md",
)
FILES = (WEIGHTS_FILE, CONFIG_FILE, VOCABULARY_FILE, CARD_FILE)
ENCODER_FOLDER = "encoder"
"""Where a model has its transformer: a directory as `transformers` writes it, so that its tools can read it too."""


def locate_model(name: str | Path, *, revision: str | None = None) -> Path:
    """The directory of a model: of the package, a local one, or from the hub for a name like `owner/name`.

    A name of the package wins over a directory that is called the same; `./sentiment` is the directory.
    """
    folder = Path(name)
    if shipped.is_shipped(name) or (name in shipped.NAMES and not folder.is_dir()):
        return shipped.shipped_folder(str(name))
    if folder.is_dir():
        return folder
    if folder.exists() or str(name).count("/") != 1 or str(name).startswith((".", "/", "~")):
        raise ModelFileError(name, "there is no such model directory")
    return _download_from_hub(str(name), revision)


def _download_from_hub(name: str, revision: str | None) -> Path:
    hub = import_extra("huggingface_hub", extra="hub", purpose=f"Loading '{name}' from the hub")
    try:
        return Path(
            hub.snapshot_download(name, revision=revision, allow_patterns=[*FILES, f"{ENCODER_FOLDER}/*"])
        )
    except (
        Exception
    ) as error:  # the hub's client raises many kinds, all of them about the network or the name
        raise ModelFileError(
            name,
            f"is neither a directory here nor could be loaded from the hub ({type(error).__name__})",
            remedy="Check the name and the network, or give the path of a saved model.",
        ) from error


def read_config_file(folder: Path) -> dict[str, Any]:
    """All of config.json, checked for what every version has."""
    path = folder / CONFIG_FILE
    try:
        loaded: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        inside = folder / "model"
        remedy = f"Did you mean {inside}?" if (inside / CONFIG_FILE).exists() else ""
        raise ModelFileError(
            folder, f"is not a saved model: it has no {CONFIG_FILE}", remedy=remedy
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(path, f"cannot be read ({error})") from error
    if not isinstance(loaded, dict):
        raise ModelFileError(path, "is not a lexitree model's")
    values = cast(dict[str, Any], loaded)
    if values.get("library") != "lexitree" or not isinstance(values.get("model"), dict):
        raise ModelFileError(path, "is not a lexitree model's")
    if values.get("format") != FORMAT:
        raise ModelFileError(
            path,
            f"has format {values.get('format')!r}; this version reads {FORMAT}",
            remedy="Upgrade lexitree: pip install --upgrade lexitree",
        )
    if values.get("table", "float32") not in get_args(TableForm):
        raise ModelFileError(path, f"has a table in a form that there is not: {values['table']!r:.40}")
    return values


def weights_folder(folder: Path) -> Path:
    """Where a model's weights are: with it, but some models of the package are others' that answer otherwise."""
    other = read_config_file(folder).get("weights_of")
    if other is None:
        return folder
    if folder.resolve().parent != shipped.FOLDER.resolve() or not shipped.is_shipped(other):
        raise ModelFileError(
            folder / CONFIG_FILE,
            f"has no weights of its own, and those of {other!r:.40} are not there",
            remedy="Only models of the package may have each other's.",
        )
    return shipped.shipped_folder(other)
