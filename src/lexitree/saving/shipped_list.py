"""Lists the models that come with this version, as their own files describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from lexitree.models.model_config import ModelConfig
from lexitree.saving import shipped
from lexitree.saving.model_folder import CLASSIFIER, ModelFolder

_SCORES = ("test_root", "test_phrase", "dev_root", "dev_phrase", "test_f1", "dev_f1")
"""The entries of a training record that say how good a model is."""


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A shipped model, as its own files describe it."""

    name: str
    num_bytes: int
    """The size of its files; a model that uses another's weights is small."""
    weights_of: str | None
    answers: tuple[str, ...]
    """The names of its labels; empty for the parser."""
    scores: Mapping[str, float]
    is_installed: bool = True
    package: str | None = None
    """The package that it comes with, if that is not lexitree."""


def list_shipped() -> list[ShippedModel]:
    """List the models that come with this version, and those with packages of their own.

    Of a model that is not installed, only the name and the package are known.
    """
    missing = [
        ShippedModel(name, 0, None, (), {}, is_installed=False, package=shipped.SEPARATE[name])
        for name in shipped.missing_names()
    ]
    return [*map(_describe, shipped.shipped_names()), *missing]


def _describe(name: str) -> ShippedModel:
    folder, source = ModelFolder(shipped.shipped_folder(name)), shipped.SHIPPED_MODELS.source(name)
    is_classifier = folder.kind == CLASSIFIER
    return ShippedModel(
        name,
        folder.num_bytes,
        folder.values.get("weights_of"),
        folder.settings(ModelConfig.from_dict).label_set.names if is_classifier else (),
        dict(_scores(folder.training)),
        package=source and source.package,
    )


def _scores(training: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The scores of a training record; those of several test treebanks one by one."""
    for kind in _SCORES:
        found: object = training.get(kind)
        if isinstance(found, Mapping):
            yield from ((f"{kind} {name}", score) for name, score in cast(Mapping[str, float], found).items())
        elif isinstance(found, int | float):
            yield kind, float(found)
