"""How a classifier is trained; the defaults follow the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from lexitree.settings import Setting, Settings

_MAX_STEP = 1e3
"""A larger step is a typing error, and would overflow before any loss could show it."""

DecayKind = Literal["decoupled", "l2"]
Schedule = Literal["constant", "linear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig(Settings):
    """The settings of one training run; the defaults are the paper's protocol with mini-batches of 25."""

    epochs: Annotated[int, Setting("Passes over the training trees.", at_least=1)] = 30
    batch_size: Annotated[int, Setting("Trees per update (the paper uses 1).", at_least=1)] = 25
    learning_rate: Annotated[
        float, Setting("Adam's step size, after the warm-up if there is one.", above=0, at_most=_MAX_STEP)
    ] = 1e-3
    schedule: Annotated[
        Schedule,
        Setting("Step sizes after the warm-up: constant, or falling linearly to zero at the last update."),
    ] = "constant"
    warm_up: Annotated[
        float, Setting("Share of all updates in which the step sizes rise from zero.", at_least=0, below=1)
    ] = 0.0
    clip: Annotated[
        float,
        Setting(
            "Largest gradient norm, over all weights except word vectors; 0 does not clip.",
            at_least=0,
            at_most=_MAX_STEP,
        ),
    ] = 0.0
    beta1: Annotated[float, Setting("Adam's decay of the first moment.", at_least=0, below=1)] = 0.9
    beta2: Annotated[float, Setting("Adam's decay of the second moment.", at_least=0, below=1)] = 0.999
    epsilon: Annotated[
        float, Setting("Adam's guard against division by zero.", above=0, at_most=_MAX_STEP)
    ] = 1e-8
    decay: Annotated[
        float,
        Setting(
            "Weight decay for each sentence of an update (decoupled), or the factor of the L2 term.",
            at_least=0,
            below=1,
        ),
    ] = 1e-6
    decay_kind: Annotated[
        DecayKind,
        Setting("Shrink the weights as the authors' code does (decoupled), or add the paper's L2 term."),
    ] = "decoupled"
    train_words: Annotated[bool, Setting("Fine-tune the word vectors.")] = True
    word_rate: Annotated[
        float,
        Setting(
            "Step size of the word vectors, as a share of the learning rate.", above=0, at_most=_MAX_STEP
        ),
    ] = 1.0
    encoder_rate: Annotated[
        float,
        Setting("Step size of a transformer under the tree; 0 freezes it.", at_least=0, below=1),
    ] = 3e-5
    layer_decay: Annotated[
        float,
        Setting(
            "Step size of each transformer layer, as a share of that of the layer above.",
            above=0,
            at_most=1,
        ),
    ] = 1.0
    root_weight: Annotated[
        float,
        Setting(
            "Weight of a sentence's own label in the loss; other phrases count 1.",
            above=0,
            at_most=_MAX_STEP,
        ),
    ] = 1.0
    teacher_weight: Annotated[
        float,
        Setting(
            "With a teacher: its share in the loss of a labelled node; the label has the rest.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.5
    distinct_phrases: Annotated[
        bool,
        Setting("Train a sequence model on each distinct phrase once per epoch, not wherever it occurs."),
    ] = False
    averaging: Annotated[
        float,
        Setting(
            "Score and save a moving average of the weights with this decay (0.999 remembers about 1,000"
            " updates); 0 uses the weights themselves.",
            at_least=0,
            below=1,
        ),
    ] = 0.0
    seed: Annotated[
        int,
        Setting(
            "Determines the initial weights, the order of the trees and dropout.", at_least=0, at_most=1e18
        ),
    ] = 1

    @property
    def has_constant_rates(self) -> bool:
        """Whether all updates have the same step sizes."""
        return self.schedule == "constant" and self.warm_up == 0 and self.clip == 0
