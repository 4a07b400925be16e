"""A recipe (TOML) in, everything that determines a parser out: treebanks, vectors, model and training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from lexitree.errors import ConfigError, FileError
from lexitree.files import read_toml
from lexitree.parsers.parser_config import GENERIC_STYLE, ParserConfig

Part = Literal["train", "dev", "test"]
Hyphens = Literal["split", "both"]

SMALL_SIZES = {
    "vector_size": 80,
    "word_size": 64,
    "affix_size": 64,
    "affix_rows": 1 << 13,
    "style_size": 16,
    "hidden": 200,
    "layers": 2,
    "span_size": 200,
}
"""The sizes of a parser that is to travel: with 50,000 vectors, about 15 MB."""

_KIND_NAMES: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "two whole numbers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreebankPlan:
    """Which trees of a file serve for what."""

    name: str
    """How its scores are called."""
    path: str
    """A file below the data folder, or `mini-questions/train` for the embedded ones."""
    part: str = "train"
    """What it serves for: `train`, `dev` or `test`."""
    style: str = GENERIC_STYLE
    """The conventions it follows; treebanks annotated alike share a style."""
    weight: float = 1.0
    """How often each of its trees is seen in an epoch; 0.5 takes half of them, other ones each time."""
    held_out: float = 0.0
    """The share of its trees that is kept from training, for development."""
    first: int = 0
    """The number of its first tree in the file, from 0 ..."""
    last: int = 0
    """... and of the one after its last; 0: up to the end of the file."""
    hyphens: str = "split"
    """Of a treebank that splits words at hyphens: `both` adds its trees with such words whole; see `join_hyphens`."""
    files: str = ""
    """In a file of lines `name<TAB>tree`: how the names of those that belong to it begin."""
    recurring_in: tuple[int, ...] = ()
    """First and last number of other trees of the file: sentences that recur there, but for case and punctuation,
    are left out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "recurring_in", tuple(self.recurring_in))
        _check_kinds(self)
        if self.part not in get_args(Part):
            raise ConfigError(f"{self.name}: part must be train, dev or test, not {self.part!r}")
        if not 0 <= self.held_out < 1 or not 0 < self.weight <= 100:
            raise ConfigError(
                f"{self.name}: held_out must be at least 0 and below 1, weight above 0 and at most 100"
            )
        if self.hyphens not in get_args(Hyphens):
            raise ConfigError(f"{self.name}: hyphens must be split or both, not {self.hyphens!r}")
        if self.part != "train" and (self.held_out or self.weight != 1 or self.hyphens != "split"):
            raise ConfigError(
                f"{self.name}: only a training part has a weight, holds trees out or adds some with whole words"
            )
        if self.first < 0 or self.last < 0 or (self.last and self.last <= self.first):
            raise ConfigError(f"{self.name}: trees {self.first} to {self.last} are none")
        if len(self.recurring_in) not in (0, 2):
            raise ConfigError(f"{self.name}: recurring_in must be two whole numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserTraining:
    """How a parser is trained."""

    epochs: int = 30
    """How many times the trees are seen; the learning rate falls towards the last."""
    batch_words: int = 1000
    """About how many words an update sees."""
    learning_rate: float = 2e-3
    """Adam's largest step size."""
    warm_up: int = 200
    """After how many updates that is reached."""
    final_rate: float = 0.02
    """The share of it that is left at the end."""
    beta2: float = 0.95
    """Adam's decay of the second moment."""
    decay: float = 1e-4
    """How much weights shrink at an update, as a share of the step size."""
    clip: float = 5.0
    """The largest length of a gradient; longer ones are shortened."""
    averaging: float = 0.998
    """How much of the average of all weights so far stays at an update; the average is what is kept. 0: none."""
    patience: int = 10
    """After so many epochs without a better one, training ends."""
    tag_weight: float = 1.0
    """How much the tags count beside the phrases."""
    word_dropout: float = 0.25
    """A word seen n times counts as unknown in a share x / (x + n) of cases; this is x."""
    vector_dropout: float = 0.05
    """How often a word counts as unknown with its fixed vector too."""
    style_dropout: float = 0.4
    """How often a sentence counts as one of no treebank in particular."""
    max_length: int = 150
    """Longer sentences are not trained on: they are few, and would need most of the memory."""
    seed: int = 1
    """Decides the initial weights, what is held out, the order of the trees and the dropout."""

    def __post_init__(self) -> None:
        _check_kinds(self)
        for name in ("epochs", "batch_words", "patience", "max_length"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) <= 1e3:
                raise ConfigError(f"{name} must be above 0 and at most 1,000, not {getattr(self, name)}")
        for name in ("beta2", "averaging", "vector_dropout", "style_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")
        for name in ("warm_up", "final_rate", "decay", "tag_weight", "word_dropout", "seed"):
            if not 0 <= getattr(self, name) < 2**62:
                raise ConfigError(f"{name} must not be negative, as {getattr(self, name)} is")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserRecipe:
    """What to train on what, in plain values."""

    treebanks: tuple[TreebankPlan, ...]
    vectors: str = ""
    """A file of word vectors, below the data folder or anywhere; "": none are used."""
    num_vectors: int = 0
    """How many vectors are kept: first those of training words, then in the file's order; 0: all."""
    min_count: int = 2
    """Rarer training words have no trained vector of their own."""
    model: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sizes, see ParserConfig. `vector_size` is that to which the vectors are reduced; 0: they stay as they are."""
    training: ParserTraining = field(default_factory=ParserTraining)

    def __post_init__(self) -> None:
        _check_kinds(self, but=("treebanks", "model", "training"))
        if not any(plan.part == "train" for plan in self.treebanks):
            raise ConfigError("there is no treebank to be trained on")
        if not any(plan.part == "dev" or plan.held_out for plan in self.treebanks):
            raise ConfigError("there are no trees for development", remedy="Give one a part or `held_out`.")
        if len({plan.name for plan in self.treebanks}) != len(self.treebanks):
            raise ConfigError("two treebanks have the same name")
        for name in ("labels", "tags", "styles"):
            if name in self.model:
                raise ConfigError(f"{name} come from the treebanks and cannot be set")
        ParserConfig.from_dict({"labels": ("S",), "tags": ("NN",), "styles": self.styles, **self.model})

    @property
    def styles(self) -> tuple[str, ...]:
        """The styles of the treebanks that are trained on."""
        found = {plan.style: None for plan in self.treebanks if plan.part == "train"}
        return tuple(style for style in found if style != GENERIC_STYLE)

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "model": dict(self.model)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ParserRecipe:
        _refuse_unknown(cls, values, "a parser's recipe")
        plans: object = values.get("treebanks", [])
        training: object = values.get("training", {})
        if not isinstance(plans, list | tuple) or not isinstance(training, Mapping):
            raise ConfigError("treebanks is a list of tables, training a table")
        settings: dict[str, Any] = {
            **values,
            "treebanks": tuple(_read_table(TreebankPlan, plan) for plan in cast(list[object], plans)),
            "training": _read_table(ParserTraining, cast(object, training)),
        }
        return cls(**settings)


def read_parser_recipe(path: str | Path) -> ParserRecipe:
    """Read a recipe from a TOML file with tables [[treebanks]], [model] and [training]."""
    values = read_toml(path)
    try:
        return ParserRecipe.from_dict(values)
    except (ConfigError, TypeError) as error:
        raise FileError(path, f"is not a parser's recipe: {error}") from error


def _read_table(kind: type[Any], values: object) -> Any:
    if not isinstance(values, Mapping):
        raise ConfigError(f"a table of settings is needed, not {values!r}")
    table = cast(Mapping[str, Any], values)
    _refuse_unknown(kind, table, "a treebank" if kind is TreebankPlan else "training")
    missing = {"name", "path"} - set(table) if kind is TreebankPlan else set[str]()
    if missing:
        raise ConfigError(f"a treebank lacks its {' and its '.join(sorted(missing))}")
    return kind(**table)


def _refuse_unknown(kind: type[Any], values: Mapping[str, Any], what: str) -> None:
    unknown = sorted(set(values) - {setting.name for setting in dataclasses.fields(kind)})
    if unknown:
        raise ConfigError(f"unknown settings of {what}: {', '.join(unknown)}")


def _check_kinds(settings: Any, but: tuple[str, ...] = ()) -> None:
    """A recipe can hold anything: what is of the wrong kind fails here, not in the middle of a run."""
    for setting in dataclasses.fields(settings):
        if setting.name in but:
            continue
        value: object = getattr(settings, setting.name)
        kind: type = str if setting.default is dataclasses.MISSING else type(cast(object, setting.default))
        fits = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
        if fits and kind is tuple:
            fits = all(isinstance(number, int) for number in cast(tuple[object, ...], value))
        if not fits:
            raise ConfigError(f"{setting.name} must be {_KIND_NAMES[kind]}, not {value!r}")
