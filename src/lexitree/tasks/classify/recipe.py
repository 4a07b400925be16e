"""A recipe (TOML or options) in, everything that determines a run out: corpus, vectors, model and training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args

from lexitree.errors import ConfigError, FileError
from lexitree.files import read_toml
from lexitree.tasks.classify.config import TrainingConfig
from lexitree.tasks.classify.parsed_corpus import Parses

MAX_LENGTH = 1e3
"""No vectors that anybody trains are as long as that: what is longer is a slip of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to train on what, in plain values, so that it can be stored, compared and sent to other processes."""

    corpus: str = "mini-reviews"
    """The name of a corpus, or the path of a treebank."""
    data: str | None = None
    """The folder with real corpora; default: $LEXITREE_DATA."""
    encoding: str = "utf-8"
    """How the corpus files are encoded."""
    on_error: str = "raise"
    """What happens at a malformed tree or row of vectors: `raise` or `skip`."""
    strip_traces: bool = False
    """Take the empty elements (`-NONE-`) off Penn trees."""
    strip_function_tags: bool = False
    """Cut the labels of Penn trees down to their category: NP-SBJ-1 is NP."""
    parser: str = ""
    """A parser whose trees are learnt from, such as `builtin`; without it, the corpus's own alone."""
    parses: str = "replace"
    """Whether its trees stand in for the corpus's own (`replace`) or join those of the training split (`add`)."""
    vectors: str | None = None
    """A file of word vectors; without it they start random."""
    all_vectors: bool = False
    """Keep every word of the vectors, not only those of the corpus: larger, better on other texts."""
    vector_length: float = 0.0
    """Scale all vectors of the file to this length; 0: leave them as they are."""
    min_count: int = 1
    """Without vectors: rarer training words are unknown."""
    encoder: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """A transformer that gives words vectors in their context, see TransformerConfig; `vectors` then stand beside."""
    teacher: str = ""
    """A saved model or a run, or the runs of several seeds: its probabilities are learnt beside the labels."""
    teacher_trees: Sequence[str] = ()
    """Files of trees that only the teacher labels, by their paths or below `data`."""
    model: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the model, see ModelConfig; labels and word size follow from corpus and vectors."""
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise ConfigError(f"{name} has a value of the wrong kind: {getattr(self, name)!r}")
        if not 0 <= self.vector_length < MAX_LENGTH:
            raise ConfigError(
                f"vector_length must be at least 0 and below {MAX_LENGTH:g}, not {self.vector_length}"
            )
        if self.min_count < 1:
            raise ConfigError(f"min_count must be at least 1, not {self.min_count}")
        if self.on_error not in ("raise", "skip"):
            raise ConfigError(f"on_error must be raise or skip, not {self.on_error!r}")
        if self.parses not in get_args(Parses):
            raise ConfigError(f"parses must be replace or add, not {self.parses!r}")
        for name in ("labels", "finer_labels", "label_names"):
            if name in self.model:
                raise ConfigError(f"{name} come from the corpus and cannot be set")
        self._check_teacher()

    def _check_teacher(self) -> None:
        # What came from a file can hold anything.
        paths = cast(Sequence[object], self.teacher_trees)
        if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
            raise ConfigError(f"teacher_trees is a list of files, not {self.teacher_trees!r}")
        if self.teacher_trees and not self.teacher:
            raise ConfigError(
                "there are trees for a teacher, but no teacher", remedy="Name a saved model: --teacher."
            )
        if self.teacher and self.training.distinct_phrases:
            raise ConfigError(
                "distinct_phrases goes by labels, and a teacher says something else of a phrase wherever it occurs",
                remedy="Leave one of them out.",
            )

    def with_seed(self, seed: int) -> Recipe:
        """The same recipe with another seed."""
        return dataclasses.replace(self, training=dataclasses.replace(self.training, seed=seed))

    def as_dict(self) -> dict[str, Any]:
        return {
            **dataclasses.asdict(self),
            "teacher_trees": list(self.teacher_trees),
            "encoder": dict(self.encoder),
            "model": dict(self.model),
            "training": self.training.as_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ConfigError(f"unknown settings in a recipe: {', '.join(unknown)}")
        training: object = values.get("training", {})
        if not isinstance(training, Mapping):
            raise ConfigError(f"training is a table of settings, not {training!r}")
        parsed = TrainingConfig.from_dict(cast(Mapping[str, Any], training))
        settings: dict[str, Any] = {**values, "training": parsed}
        if isinstance(trees := settings.get("teacher_trees"), list):
            settings["teacher_trees"] = tuple(cast(list[Any], trees))
        return cls(**settings)


_KINDS: dict[str, type | UnionType] = {
    "corpus": str,
    "data": str | None,
    "encoding": str,
    "on_error": str,
    "strip_traces": bool,
    "strip_function_tags": bool,
    "parser": str,
    "parses": str,
    "vectors": str | None,
    "all_vectors": bool,
    "vector_length": int | float,
    "min_count": int,
    "encoder": Mapping,
    "teacher": str,
    "teacher_trees": Sequence,
    "model": Mapping,
}


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a TOML file with the tables [model] and [training]."""
    values = read_toml(path)
    try:
        return Recipe.from_dict(values)
    except ConfigError as error:
        raise FileError(path, f"is not a recipe: {error}") from error
