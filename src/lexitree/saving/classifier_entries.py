"""What config.json says of a classifier besides its settings: how it reads texts, and what it needs of others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from lexitree.errors import ConfigError, LexitreeError, ModelFileError
from lexitree.models.model_config import ModelConfig, TextReading
from lexitree.models.registries import ENCODERS, HEAD_METHODS
from lexitree.plugins import Kind, Source
from lexitree.saving.model_folder import CHECKSUM, CONFIG_FILE, PLUGINS, ModelFolder, config_checksum
from lexitree.writing import atomic_write

READING = "text"
"""The entry that says how a model that was trained on texts reads them."""
ENCODER = "encoder"
"""The entry that describes the transformer of a model that has one."""


def read_reading(folder: ModelFolder) -> TextReading | None:
    """How a model that was trained on texts reads them; None for one that was trained on trees."""
    values: object = folder.values.get(READING)
    if values is None:
        return None
    try:
        settings = dict(cast(Mapping[str, Any], values))
        if settings.pop("format") != 1:
            raise ConfigError("unknown format")
        return TextReading.from_dict(settings)
    except (LexitreeError, TypeError, ValueError, KeyError) as error:
        raise ModelFileError(
            folder.path / CONFIG_FILE,
            f"does not say how the model reads texts ({error})",
            remedy="Upgrade lexitree, or copy the model again.",
        ) from error


def needed_plugins(config: ModelConfig) -> list[tuple[str, str, Source]]:
    """What a model needs of other packages: of which kind, by which name, from where."""
    parts = ((ENCODERS, config.model), (HEAD_METHODS, config.head_method))
    found = [(registry.kind, name, registry.source(name)) for registry, name in parts]
    return [(kind, name, source) for kind, name, source in found if source is not None]


def plugins_entry(config: ModelConfig) -> dict[str, list[dict[str, str]]]:
    """What config.json says of that; nothing if the model needs no other package."""
    needed = [
        {"kind": kind, "name": name, **source.as_dict()} for kind, name, source in needed_plugins(config)
    ]
    return {PLUGINS: needed} if needed else {}


def refuse_missing_plugins(folder: ModelFolder) -> None:
    """Say which packages are missing, before their settings look wrong. Nothing is imported by what the file says."""
    known = {registry.kind: registry for registry in (ENCODERS, HEAD_METHODS)}
    for needed in folder.plugins:
        registry = known.get(cast(Kind, needed.get("kind")))
        if registry is None or needed.get("name") in registry:
            continue
        what, package, version = (needed.get(each, "") for each in ("name", "package", "version"))
        owner = f"of the package {package} {version}" if package else f"of the module {needed.get('module')}"
        raise ModelFileError(
            folder.path,
            f"needs the {registry.kind} {what!r} {owner.strip()}, which is not installed",
            remedy=f"Install it: pip install {package}" if package else "Import the module first.",
        )


def describe_encoder(values: Mapping[str, Any]) -> str:
    """Say in words what config.json says of a transformer."""
    revision = f", revision {values['revision']}" if values.get("revision") else ""
    what = "trained with the model" if values.get("trained", True) else "not trained further"
    return f"{values.get('name')}{revision}, {what}"


def store_settings(folder: ModelFolder, settings: Mapping[str, Any], training: Mapping[str, Any]) -> None:
    """Change some settings of a saved model, and add to its training record; its weights stay as they are.

    Args:
        folder: The model.
        settings: The settings that change.
        training: The entries of the training record that are added or replaced.

    Raises:
        FileError: If the folder cannot be written.
    """
    values = dict(folder.values)
    values["model"] = {**values["model"], **settings}
    values["training"] = {**folder.training, **training}
    if CHECKSUM in values:
        values[CHECKSUM] = config_checksum(values)
    with atomic_write(folder.path / CONFIG_FILE) as stream:
        stream.write(json.dumps(values, indent=2, ensure_ascii=False) + "\n")
