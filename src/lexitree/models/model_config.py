"""What a model is made of: everything that must be known to build it again, and nothing about its training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from lexitree.corpora.corpus import Supervision
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.models.cells import BiasInit
from lexitree.ops.weights import HeadMethod
from lexitree.trees.binarize import Direction

DEFAULT_MODEL = "bicontree"
DEFAULT_WORD_SIZE = 300
DEFAULT_BINARIZATION: Direction = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The shape of a model; the defaults are the paper's for sentiment."""

    model: str = DEFAULT_MODEL
    """The name of the model, one of `lexitree models`."""
    labels: tuple[str, ...]
    """The labels it answers with, in the order of their probabilities."""
    finer_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """The labels it is trained with, where these are finer than its answers: each with the answer it counts for, or
    "" for none, in the order of its scores."""
    label_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """How labels are shown to people, where that differs."""
    word_size: int = DEFAULT_WORD_SIZE
    """The size of the word vectors."""
    hidden: int = 150
    """The size of the states h and c, in each direction."""
    output: int = 128
    """The size of the layer between the states and the label scores; 0 for none."""
    head_method: HeadMethod = "G"
    """How a phrase gets its head vector: learned gate, left, right, average."""
    share_topdown_inputs: bool = True
    """Whether left and right children share W_x and b top-down (the paper's counts) or not (its equations)."""
    dropout: float = 0.5
    """The share of each leaf vector that is dropped in training."""
    state_dropout: float = 0.0
    """The share of each node's states that is dropped in training on their way to the label scores."""
    weight_dropout: float = 0.0
    """The share of the weights between states that is dropped in training, anew at each update."""
    bias_init: BiasInit = "uniform"
    """Biases start random as in the authors' code, or at zero."""
    binarization: Direction = DEFAULT_BINARIZATION
    """How phrases of three and more parts are split on the way in; see `parse_binarization` for those of a parser."""
    supervision: Supervision = "all"
    """Whether it was trained on every phrase or on whole sentences only."""

    def __post_init__(self) -> None:
        for name, least in (("word_size", 1), ("hidden", 1), ("output", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, not {getattr(self, name)}")
        for name in ("dropout", "state_dropout", "weight_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")
        if len(set(self.labels)) != len(self.labels) or not self.labels:
            raise ConfigError("a model needs at least one label, and no label twice")
        # It checks the labels against each other.
        _ = self.label_set
        _check_choice("head_method", self.head_method, get_args(HeadMethod))
        _check_choice("bias_init", self.bias_init, get_args(BiasInit))
        _check_choice("binarization", self.binarization, get_args(Direction))
        _check_choice("supervision", self.supervision, get_args(Supervision))
        if self.binarization == "head" and self.supervision == "all":
            raise ConfigError(
                "head-outward binarization goes by labels such as NP, but here phrases carry the task's labels",
                remedy="Binarize the trees beforehand (lexitree trees binarize), or choose left or right.",
            )

    @property
    def parse_binarization(self) -> Direction:
        """How phrases of a parser's tree are split.

        A model that was trained on parses reads them as in its training. One that was trained on labelled phrases has
        read trees such as SST's, which are split around their heads; unless it was told otherwise, it reads these.
        """
        is_told = self.supervision == "root" or self.binarization != DEFAULT_BINARIZATION
        return self.binarization if is_told else "head"

    @property
    def label_set(self) -> LabelSet:
        """The labels it answers with, their names, and the finer labels it is trained with."""
        return LabelSet(self.labels, self.label_names, self.finer_labels)

    def as_dict(self) -> dict[str, Any]:
        return {
            **dataclasses.asdict(self),
            "labels": list(self.labels),
            "finer_labels": dict(self.finer_labels),
            "label_names": dict(self.label_names),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelConfig:
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(f"unknown settings: {', '.join(unknown)}")
        for field_ in dataclasses.fields(cls):
            if field_.name in values:
                _check_type(field_.name, values[field_.name])
        settings: dict[str, Any] = {**values, "labels": tuple(values.get("labels", ()))}
        return cls(**settings)


def _check_type(name: str, value: object) -> None:
    """Settings may come from a file, where nothing has checked them yet."""
    good = {
        "labels": _is_text_list(value),
        "finer_labels": _is_text_map(value),
        "label_names": _is_text_map(value),
        "word_size": type(value) is int,
        "hidden": type(value) is int,
        "output": type(value) is int,
        "dropout": type(value) in (int, float),
        "state_dropout": type(value) in (int, float),
        "weight_dropout": type(value) in (int, float),
        "share_topdown_inputs": isinstance(value, bool),
    }.get(name, isinstance(value, str))
    if not good:
        raise ConfigError(f"{name} has a value of the wrong kind: {value!r}")


def _is_text_list(value: object) -> bool:
    if not isinstance(value, list | tuple):
        return False
    return all(isinstance(label, str) for label in cast(Sequence[object], value))


def _is_text_map(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    mapping = cast(Mapping[object, object], value)
    return _is_text_list([*mapping, *mapping.values()])


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
