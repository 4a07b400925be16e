"""What a reranker is made of and how it is trained: contradictions are rejected when it is built."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from lexitree.errors import ConfigError
from lexitree.models.cells import BiasInit
from lexitree.models.model_config import DEFAULT_WORD_SIZE, ModelConfig
from lexitree.ops.weights import HeadMethod
from lexitree.tasks.classify.config import TrainingConfig
from lexitree.trees.binarize import Direction

RERANKERS = ("contree", "contree-lex", "bicontree")
"""The models that can rerank: those of the paper that read trees from the words upwards."""

OTHER_LABEL = "?"
"""Stands for all labels that were too rare in training to be learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerConfig:
    """The shape of a reranker."""

    model: str = "contree-lex"
    """The tree LSTM: `contree`, `contree-lex` or `bicontree`."""
    labels: tuple[str, ...]
    """The labels of phrases that it knows: chains joined (`S+VP`), `@NP` inside of a phrase that was split, "" for a
    word that is no phrase of its own."""
    word_size: int = DEFAULT_WORD_SIZE
    """The size of the word vectors."""
    hidden: int = 150
    """The size of the states, in each direction."""
    head_method: HeadMethod = "G"
    """How a phrase gets its head vector: learned gate, left, right, average."""
    score_words: bool = True
    """Whether phrases of one word, and words that are none, have a score like other phrases."""
    dropout: float = 0.5
    """The share of each word vector that is dropped in training, the same for all trees of a list."""
    bias_init: BiasInit = "zero"
    """Biases start at zero, or random as in the authors' code."""
    binarization: Direction = "head"
    """How phrases of three and more parts are split."""
    base_weight: float = 1.0
    """How much the parser's score counts beside the tree model's; chosen on development lists."""

    def __post_init__(self) -> None:
        for name in ("hidden", "word_size"):
            _check_number(name, getattr(self, name), int, 1)
        _check_number("dropout", self.dropout, float, 0, below=1)
        _check_number("base_weight", self.base_weight, float, 0)
        if not self.labels or not all(isinstance(cast(object, label), str) for label in self.labels):
            raise ConfigError("a reranker needs the labels of phrases, as texts")
        if len(set(self.labels)) != len(self.labels):
            raise ConfigError("no label may stand there twice")
        _check_choice("model", self.model, RERANKERS)
        _check_choice("head_method", self.head_method, get_args(HeadMethod))
        _check_choice("bias_init", self.bias_init, get_args(BiasInit))
        _check_choice("binarization", self.binarization, get_args(Direction))

    @property
    def encoder(self) -> ModelConfig:
        """The same as the configuration of a tree LSTM that labels phrases."""
        return ModelConfig(
            model=self.model,
            labels=self.labels,
            word_size=self.word_size,
            hidden=self.hidden,
            head_method=self.head_method,
            dropout=self.dropout,
            bias_init=self.bias_init,
        )

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "labels": list(self.labels)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RerankerConfig:
        _refuse_unknown(cls, values, "a reranker")
        labels: object = values.get("labels", ())
        if not isinstance(labels, list | tuple):
            raise ConfigError(f"labels must be a list of texts, not {labels!r:.60}")
        settings: dict[str, Any] = {**values, "labels": tuple(cast(list[Any], labels))}
        return cls(**settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankTraining:
    """How a reranker is trained."""

    epochs: int = 15
    """How many times every list is seen."""
    batch_lists: int = 16
    """Lists an update."""
    learning_rate: float = 1e-3
    """Adam's step size."""
    decay: float = 1e-4
    """How much all weights shrink for each list of an update: the regularisation of the margin loss."""
    averaging: float = 0.998
    """How much of the average of all weights so far stays at an update; the average is what is kept. 0: none."""
    margin: float = 0.5
    """By how much the best candidate must win for each wrong constituent of another one."""
    base_weight: float = 1.0
    """How much the parser's score counts in training; what counts afterwards is chosen on development lists."""
    train_words: bool = False
    """Whether the word vectors are fine-tuned."""
    min_label_count: int = 5
    """Labels that are rarer among the candidates are all one to the model."""
    seed: int = 1
    """Decides the initial weights, the order of the lists and the dropout."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_lists", "min_label_count"):
            _check_number(name, getattr(self, name), int, 1)
        _check_number("seed", self.seed, int, 0)
        for name in ("margin", "base_weight"):
            _check_number(name, getattr(self, name), float, 0)
        if not isinstance(cast(object, self.train_words), bool):
            raise ConfigError(f"train_words must be true or false, not {self.train_words!r}")
        self.optimizer()

    def optimizer(self) -> TrainingConfig:
        """What the optimizer has to know."""
        return TrainingConfig(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            decay=self.decay,
            averaging=self.averaging,
            train_words=self.train_words,
            seed=self.seed,
        )

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RerankTraining:
        _refuse_unknown(cls, values, "training")
        return cls(**values)


def _refuse_unknown(kind: type[Any], values: Mapping[str, Any], what: str) -> None:
    unknown = sorted(set(values) - {field.name for field in dataclasses.fields(kind)})
    if unknown:
        raise ConfigError(f"unknown settings of {what}: {', '.join(unknown)}")


def _check_number(name: str, value: object, kind: type, least: float, *, below: float = 1e9) -> None:
    """A file can hold anything: what is no number fails here, not in the middle of a run."""
    fits = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    if not fits or not least <= cast(float, value) < below:
        what = "a number" if kind is float else "a whole number"
        raise ConfigError(f"{name} must be {what} from {least:g} to below {below:g}, not {value!r}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
