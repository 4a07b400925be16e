"""The models that come with the package: listing them, and making one that answers with the weights of another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.saving import shipped
from lexitree.saving.model_folder import CLASSIFIER, ModelFolder
from lexitree.saving.model_kinds import write_model
from lexitree.saving.pretrained import KIND

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


def list_shipped() -> list[ShippedModel]:
    """List the models that come with this version."""
    return [_describe(name) for name in shipped.shipped_names()]


def _describe(name: str) -> ShippedModel:
    folder = ModelFolder(shipped.shipped_folder(name))
    is_classifier = folder.kind == CLASSIFIER
    return ShippedModel(
        name,
        sum(path.stat().st_size for path in folder.path.iterdir()),
        folder.values.get("weights_of"),
        folder.settings(ModelConfig.from_dict).label_set.names if is_classifier else (),
        dict(_scores(folder.training)),
    )


def _scores(training: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The scores of a training record; those of several test treebanks one by one."""
    for kind in _SCORES:
        found: object = training.get(kind)
        if isinstance(found, Mapping):
            yield from ((f"{kind} {name}", score) for name, score in cast(Mapping[str, float], found).items())
        elif isinstance(found, int | float):
            yield kind, float(found)


def with_answers_of(model: TreeClassifier, corpus: Corpus) -> None:
    """Let a model answer with the labels of a corpus, which its own labels count for: two sentiments for five.

    Args:
        model: The model, which is changed in place.
        corpus: A corpus whose finer labels are those of the model.

    Raises:
        ConfigError: If the labels of the model are not the finer labels of the corpus.
    """
    trained = model.config.label_set.trained_ids
    if tuple(corpus.label_set.finer) != trained:
        raise ConfigError(
            f"the model's labels ({', '.join(trained)}) are not those that count for the answers"
            f" of {corpus.name} ({', '.join(corpus.label_set.finer) or 'none'})"
        )
    model.config = dataclasses.replace(model.config, **corpus.label_set.as_dict())


def save_answers(model: TreeClassifier, weights_of: str, name: str, training: Mapping[str, Any]) -> Path:
    """Write a shipped model that uses the weights of another and differs only in its answers.

    Args:
        model: The model with its new answers; see `with_answers_of`.
        weights_of: The shipped model whose weights it uses.
        name: Its own name among the shipped models.
        training: The training record.
    """
    if weights_of not in shipped.NAMES or name not in shipped.NAMES or name == weights_of:
        raise ConfigError(f"{name} cannot use the weights of {weights_of}: both must be shipped models")
    parts = KIND.take_apart(model, training)
    return write_model(KIND.name, parts, shipped.FOLDER / name, training, weights_of=weights_of)
