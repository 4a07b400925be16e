"""The training settings that all tasks share, and the learning-rate schedule that follows from them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from lexitree.settings import MAX_COUNT, MAX_SEED, MAX_STEP, Setting, Settings

Schedule = Literal["constant", "linear", "cosine"]
DecayKind = Literal["decoupled", "adamw", "l2"]


# The tasks change some of the defaults: with its type and help under one name, a setting is declared once.
Epochs = Annotated[int, Setting("Passes over the training data.", at_least=1, at_most=MAX_COUNT)]
LearningRate = Annotated[
    float, Setting("Adam's step size; the largest, if there is a schedule.", above=0, at_most=MAX_STEP)
]
ScheduleKind = Annotated[
    Schedule,
    Setting(
        "Step sizes over time: constant, linear (falling to zero after the warm-up) or cosine (falling to final_rate"
        " from the first update on)."
    ),
]
WarmUp = Annotated[
    float, Setting("Share of all updates in which the step sizes rise from zero.", at_least=0, below=1)
]
FinalRate = Annotated[
    float,
    Setting("Share of the learning rate that is left at the end of a cosine.", at_least=0, at_most=1),
]
Clip = Annotated[
    float,
    Setting(
        "Largest gradient norm, over all weights except word vectors; 0 does not clip.",
        at_least=0,
        at_most=MAX_STEP,
    ),
]
Beta2 = Annotated[float, Setting("Adam's decay of the second moment.", at_least=0, below=1)]
Decay = Annotated[float, Setting("Weight decay; see decay_kind.", at_least=0, below=1)]
DecayRule = Annotated[
    DecayKind,
    Setting(
        "Shrink the weights by decay for each example of an update, as the authors' code does (decoupled), or by"
        " decay times the step size (adamw), or add the paper's L2 term (l2)."
    ),
]
Averaging = Annotated[
    float,
    Setting(
        "Score and save a moving average of the weights with this decay (0.999 remembers about 1,000 updates); 0 uses"
        " the weights themselves.",
        at_least=0,
        below=1,
    ),
]
Patience = Annotated[
    int,
    Setting(
        "Stop after this many epochs without improvement; 0 never stops early.", at_least=0, at_most=MAX_COUNT
    ),
]
TrainWords = Annotated[bool, Setting("Fine-tune the word vectors.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings(Settings):
    """How any model is trained; each task adds its own settings and chooses its own defaults."""

    epochs: Epochs = 30
    learning_rate: LearningRate = 1e-3
    schedule: ScheduleKind = "constant"
    warm_up: WarmUp = 0.0
    final_rate: FinalRate = 0.0
    clip: Clip = 0.0
    beta1: Annotated[float, Setting("Adam's decay of the first moment.", at_least=0, below=1)] = 0.9
    beta2: Beta2 = 0.999
    epsilon: Annotated[
        float, Setting("Adam's guard against division by zero.", above=0, at_most=MAX_STEP)
    ] = 1e-8
    decay: Decay = 1e-6
    decay_kind: DecayRule = "decoupled"
    averaging: Averaging = 0.0
    patience: Patience = 0
    seed: Annotated[
        int,
        Setting(
            "Determines everything random: initial weights, order of the examples, dropout, what is held out.",
            at_least=0,
            at_most=MAX_SEED,
        ),
    ] = 1

    @property
    def rate_depends_on_epochs(self) -> bool:
        """Whether the learning rate follows the share of the run that is done."""
        return self.schedule != "constant" or self.warm_up > 0

    def fingerprint(self) -> dict[str, Any]:
        """The settings that a run must keep when it is resumed; more epochs are fine if the rate allows it."""
        settings = self.as_dict()
        epochs = settings.pop("epochs")
        del settings["patience"]
        return {**settings, **({"epochs of the schedule": epochs} if self.rate_depends_on_epochs else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalSettings(TrainingSettings):
    """How a model with word vectors, and perhaps a transformer under them, is trained."""

    train_words: TrainWords = True
    word_rate: Annotated[
        float,
        Setting("Step size of the word vectors, as a share of the learning rate.", above=0, at_most=MAX_STEP),
    ] = 1.0
    encoder_rate: Annotated[
        float, Setting("Step size of a transformer under the tree; 0 freezes it.", at_least=0, below=1)
    ] = 3e-5
    layer_decay: Annotated[
        float,
        Setting(
            "Step size of each transformer layer, as a share of that of the layer above.", above=0, at_most=1
        ),
    ] = 1.0


class SeededRecipe(Settings):
    """A recipe that can be trained with several seeds."""

    __slots__ = ()
    training: Any

    def with_seed(self, seed: int) -> Self:
        """The same recipe with another seed."""
        return dataclasses.replace(self, training=dataclasses.replace(self.training, seed=seed))


def rate_scale(config: TrainingSettings, number: int, num_updates: int) -> float:
    """The share of the learning rate that an update takes.

    Args:
        config: The settings of the run.
        number: The number of the update in the whole run, from 1.
        num_updates: The number of updates of the whole run.
    """
    num_rising = round(config.warm_up * num_updates)
    rise = number / num_rising if number <= num_rising else 1.0
    if config.schedule == "cosine":
        done = (number - 1) / num_updates
        return rise * (config.final_rate + (1 - config.final_rate) * 0.5 * (1 + math.cos(math.pi * done)))
    if config.schedule == "constant" or number <= num_rising:
        return rise
    # The last update still takes a step.
    return max(0, num_updates + 1 - number) / max(1, num_updates + 1 - num_rising)
