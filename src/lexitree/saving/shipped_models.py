"""The models that come with the package: what there is, with sizes and scores, and how one answers for another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.files import atomic_folder
from lexitree.models.classifier import TreeClassifier
from lexitree.saving import shipped
from lexitree.saving.model_folder import read_config_file
from lexitree.saving.pretrained import read_config, refuse_other_content, write_description

SCORES = ("test_root", "test_phrase", "dev_root", "dev_phrase", "test_f1", "dev_f1")
"""What a training record may say of how good a model is."""


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A model of the package, as its own files describe it."""

    name: str
    num_bytes: int
    """Its files; a model that has another's weights is small."""
    weights_of: str | None
    answers: tuple[str, ...]
    """The labels it answers with, as people read them; none for the parser."""
    scores: Mapping[str, float]


def list_shipped() -> list[ShippedModel]:
    """The models that this version comes with."""
    return [_describe(name, shipped.shipped_folder(name)) for name in shipped.shipped_names()]


def _describe(name: str, folder: Path) -> ShippedModel:
    values = read_config_file(folder)
    training: dict[str, Any] = values.get("training") or {}
    config = None if values.get("kind") == "parser" else read_config(folder)
    return ShippedModel(
        name,
        sum(path.stat().st_size for path in folder.iterdir()),
        values.get("weights_of"),
        config.label_set.names if config else (),
        dict(_scores(training)),
    )


def _scores(training: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The scores of a training record; those of several test treebanks one by one."""
    for kind in SCORES:
        found: object = training.get(kind)
        if isinstance(found, Mapping):
            yield from ((f"{kind} {name}", score) for name, score in cast(Mapping[str, float], found).items())
        elif isinstance(found, int | float):
            yield kind, float(found)


def with_answers_of(model: TreeClassifier, corpus: Corpus) -> None:
    """Let a model answer with the labels of a corpus, for which its own count: five of sentiment for two."""
    trained = model.config.label_set.trained_ids
    if tuple(corpus.label_set.finer) != trained:
        raise ConfigError(
            f"the model's labels ({', '.join(trained)}) are not those that count for the answers"
            f" of {corpus.name} ({', '.join(corpus.label_set.finer) or 'none'})"
        )
    model.config = dataclasses.replace(model.config, **corpus.label_set.as_dict())


def save_answers(model: TreeClassifier, weights_of: str, name: str, training: Mapping[str, Any]) -> Path:
    """Write a model of the package that has another's weights and differs in its answers only."""
    if weights_of not in shipped.NAMES or name not in shipped.NAMES or name == weights_of:
        raise ConfigError(
            f"{name} cannot have the weights of {weights_of}: both must be models of the package"
        )
    folder = shipped.FOLDER / name
    refuse_other_content(folder)
    with atomic_folder(folder) as temporary:
        write_description(model, temporary, dict(training), weights_of=weights_of)
    return folder
