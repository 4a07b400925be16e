"""How a model is trained: the paper's protocol as defaults, contradictions rejected when built."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lexitree.errors import ConfigError

MAX_STEP = 1e3
"""A larger learning rate is a slip of the pen, and would overflow before any loss could show it."""

DecayKind = Literal["decoupled", "l2"]
Schedule = Literal["constant", "linear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """The settings of one training run; the defaults are the paper's protocol with mini-batches of 25."""

    epochs: int = 30
    """How many times every tree is seen."""
    batch_size: int = 25
    """Trees an update; 1 is the authors' one-sentence updates."""
    learning_rate: float = 1e-3
    """Adam's step size; after the warm-up, where there is a schedule."""
    schedule: Schedule = "constant"
    """How the step sizes go on after the warm-up: as they are, or along a line to zero at the last update."""
    warm_up: float = 0.0
    """The share of all updates in which the step sizes rise from zero."""
    clip: float = 0.0
    """The largest norm of a gradient, all weights but word vectors taken together; 0: any."""
    beta1: float = 0.9
    """Adam's decay of the first moment."""
    beta2: float = 0.999
    """Adam's decay of the second moment."""
    epsilon: float = 1e-8
    """Adam's guard against division by zero."""
    decay: float = 1e-6
    """How much all weights shrink for each sentence of an update (decoupled), or the factor of the L2 term."""
    decay_kind: DecayKind = "decoupled"
    """`decoupled`: theta -= decay * theta as the authors' code does; `l2`: the term of the printed objective."""
    train_words: bool = True
    """Whether the word vectors are fine-tuned."""
    word_rate: float = 1.0
    """The step size of the word vectors, as a share of the learning rate."""
    encoder_rate: float = 3e-5
    """The step size of a transformer under the tree; 0: it stays as it is."""
    layer_decay: float = 1.0
    """The step size of each layer of a transformer, as a share of that of the layer above."""
    root_weight: float = 1.0
    """How much the label of a whole sentence counts, where that of any other phrase counts 1."""
    teacher_weight: float = 0.5
    """Where there is a teacher and a node has a label: how much the teacher counts, and the label the rest."""
    distinct_phrases: bool = False
    """Whether a model of sequences is trained on each distinct phrase once an epoch, or wherever it occurs."""
    averaging: float = 0.0
    """How much of the average of all weights so far stays at an update; that average is what is scored and kept.
    0: the weights themselves are."""
    seed: int = 1
    """Decides the initial weights, the order of the trees and the dropout."""

    def __post_init__(self) -> None:
        for setting in dataclasses.fields(self):
            _check_kind(setting.name, getattr(self, setting.name), setting.default)
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("learning_rate", "epsilon", "word_rate", "root_weight"):
            if not 0 < getattr(self, name) <= MAX_STEP:
                raise ConfigError(
                    f"{name} must be above 0 and at most {MAX_STEP:g}, not {getattr(self, name)}"
                )
        for name in ("beta1", "beta2", "decay", "averaging", "warm_up", "encoder_rate"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")
        if self.decay_kind not in get_args(DecayKind):
            raise ConfigError(f"decay_kind must be decoupled or l2, not {self.decay_kind!r}")
        if self.schedule not in get_args(Schedule):
            raise ConfigError(f"schedule must be constant or linear, not {self.schedule!r}")
        if not 0 < self.layer_decay <= 1:
            raise ConfigError(f"layer_decay must be above 0 and at most 1, not {self.layer_decay}")
        if not 0 <= self.teacher_weight <= 1:
            raise ConfigError(f"teacher_weight must be at least 0 and at most 1, not {self.teacher_weight}")
        if not 0 <= self.clip <= MAX_STEP:
            raise ConfigError(f"clip must be at least 0 and at most {MAX_STEP:g}, not {self.clip}")
        if self.seed < 0:
            raise ConfigError(f"seed must not be negative, as {self.seed} is")

    @property
    def has_constant_rates(self) -> bool:
        """Whether all updates have the same step sizes."""
        return self.schedule == "constant" and self.warm_up == 0 and self.clip == 0

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingConfig:
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ConfigError(f"unknown training settings: {', '.join(unknown)}")
        return cls(**values)


def _check_kind(name: str, value: object, default: object) -> None:
    """A recipe can hold anything: what is no number fails here, not in the middle of a run."""
    kind = type(default)
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or isinstance(value, bool) != (kind is bool):
        raise ConfigError(f"{name} must be {_KIND_NAMES[kind]}, not {value!r}")


_KIND_NAMES: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}
