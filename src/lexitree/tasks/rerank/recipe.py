"""A recipe (TOML or options) in, everything that determines a reranker out: lists, vectors, model and training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from lexitree.errors import ConfigError, FileError
from lexitree.files import read_toml
from lexitree.tasks.rerank.config import OTHER_LABEL, RerankerConfig, RerankTraining
from lexitree.trees.binarize import Direction

MAX_LENGTH = 1e3
"""No vectors that anybody trains are as long as that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRecipe:
    """What to train on what, in plain values, so that it can be stored, compared and sent to other processes."""

    lists: tuple[str, ...] = ()
    """Files of lists to train on, by their paths or below the data folder."""
    dev: tuple[str, ...] = ()
    """Files of lists for development; without them, part of the training lists is held out."""
    test: tuple[str, ...] = ()
    """Files of lists that the finished reranker is scored on."""
    held_out: float = 0.1
    """The share of the training lists that is held out for development, where no files are given for it."""
    vectors: str | None = None
    """A file of word vectors, by its path or below the data folder; without it they start random."""
    all_vectors: bool = False
    """Keep every word of the vectors, not only those of the lists: larger, better on other texts."""
    vector_length: float = 0.0
    """Scale all vectors of the file to this length; 0: leave them as they are."""
    min_count: int = 2
    """Without vectors: rarer training words are unknown."""
    model: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the model, see RerankerConfig; labels, word size and base weight follow from lists and vectors."""
    training: RerankTraining = field(default_factory=RerankTraining)

    def __post_init__(self) -> None:
        for name in ("lists", "dev", "test"):
            listed: object = getattr(self, name)
            if not isinstance(listed, list | tuple) or not _are_texts(cast(tuple[object, ...], listed)):
                raise ConfigError(f"{name} must be a list of file names, not {listed!r}")
            object.__setattr__(self, name, tuple(cast(tuple[str, ...], listed)))
        for name, least, below in (
            ("held_out", 0, 1),
            ("vector_length", 0, MAX_LENGTH),
            ("min_count", 1, 1e9),
        ):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < below:
                raise ConfigError(f"{name} must be a number from {least:g} to below {below:g}, not {value!r}")
        for name in ("labels", "word_size", "base_weight"):
            if name in self.model:
                raise ConfigError(f"{name} of a reranker comes from its lists and vectors and cannot be set")
        # What is wrong with the settings is said before anything is read.
        RerankerConfig.from_dict({**self.model, "labels": (OTHER_LABEL,)})

    @property
    def direction(self) -> Direction:
        """How phrases of three and more parts are split."""
        return RerankerConfig.from_dict({**self.model, "labels": (OTHER_LABEL,)}).binarization

    def with_seed(self, seed: int) -> RerankRecipe:
        """The same recipe with another seed."""
        return dataclasses.replace(self, training=dataclasses.replace(self.training, seed=seed))

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "model": dict(self.model), "training": self.training.as_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RerankRecipe:
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ConfigError(f"unknown settings in a recipe: {', '.join(unknown)}")
        for name in ("model", "training"):
            if not isinstance(values.get(name, {}), Mapping):
                raise ConfigError(f"{name} is a table of settings, not {values[name]!r}")
        settings: dict[str, Any] = {
            **values,
            "training": RerankTraining.from_dict(values.get("training", {})),
        }
        return cls(**settings)


def _are_texts(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, str) for value in values)


def read_rerank_recipe(path: str | Path) -> RerankRecipe:
    """Read a recipe from a TOML file with the tables [model] and [training]."""
    try:
        return RerankRecipe.from_dict(read_toml(path))
    except (ConfigError, TypeError) as error:
        raise FileError(path, f"is not a recipe of a reranker: {error}") from error
