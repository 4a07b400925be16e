"""The shape of a reranker, and how one is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lexitree.errors import ConfigError
from lexitree.models.cells import BiasInit
from lexitree.models.model_config import DEFAULT_WORD_SIZE, ModelConfig
from lexitree.ops.weights import HeadMethod
from lexitree.settings import Setting, Settings
from lexitree.tasks.classify.config import TrainingConfig
from lexitree.trees.binarize import Direction

RERANKERS = ("contree", "contree-lex", "bicontree")
"""The models that can rerank: those of the paper that read trees from the words upwards."""

OTHER_LABEL = "?"
"""Stands for all labels that are too rare in training to be learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerConfig(Settings):
    """The shape of a reranker."""

    model: Annotated[str, Setting("The tree LSTM.", choices=RERANKERS)] = "contree-lex"
    labels: Annotated[
        tuple[str, ...],
        Setting(
            "Labels of phrases that it knows: chains joined (S+VP), @NP for a part of a phrase that was split,"
            ' and "" for a word that is not a phrase of its own.',
            unique=True,
        ),
    ]
    word_size: Annotated[int, Setting("Size of the word vectors.", at_least=1)] = DEFAULT_WORD_SIZE
    hidden: Annotated[int, Setting("Size of the states, in each direction.", at_least=1)] = 150
    head_method: Annotated[
        HeadMethod, Setting("Where a phrase's head vector comes from: learned gate, left, right or average.")
    ] = "G"
    score_words: Annotated[
        bool, Setting("Score phrases of a single word, and words that are not phrases, like other phrases.")
    ] = True
    dropout: Annotated[
        float,
        Setting("Dropout on the word vectors, the same for all trees of a list.", at_least=0, below=1),
    ] = 0.5
    bias_init: Annotated[BiasInit, Setting("Initial biases: zero, or random as in the authors' code.")] = (
        "zero"
    )
    binarization: Annotated[
        Direction,
        Setting("How phrases of three and more children are split: from the left, right or around the head."),
    ] = "head"
    base_weight: Annotated[
        float,
        Setting(
            "Weight of the parser's score beside that of the tree model; chosen on development lists.",
            at_least=0,
        ),
    ] = 1.0

    def _check_together(self) -> None:
        if not self.labels:
            raise ConfigError("a reranker needs labels of phrases")

    @property
    def encoder(self) -> ModelConfig:
        """The configuration of a classifier with the same tree LSTM."""
        return ModelConfig(
            model=self.model,
            labels=self.labels,
            word_size=self.word_size,
            hidden=self.hidden,
            head_method=self.head_method,
            dropout=self.dropout,
            bias_init=self.bias_init,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankTraining(Settings):
    """How a reranker is trained."""

    epochs: Annotated[int, Setting("Passes over the training lists.", at_least=1)] = 15
    batch_lists: Annotated[int, Setting("Lists per update.", at_least=1)] = 16
    learning_rate: Annotated[float, Setting("Adam's step size.", above=0, at_most=1e3)] = 1e-3
    decay: Annotated[
        float,
        Setting(
            "Weight decay for each list of an update: the regularization of the margin loss.",
            at_least=0,
            below=1,
        ),
    ] = 1e-4
    averaging: Annotated[
        float,
        Setting(
            "Score and save a moving average of the weights with this decay; 0 uses the weights themselves.",
            at_least=0,
            below=1,
        ),
    ] = 0.998
    margin: Annotated[
        float,
        Setting(
            "Margin by which the best candidate must win, per wrong constituent of the other candidate.",
            at_least=0,
        ),
    ] = 0.5
    base_weight: Annotated[
        float,
        Setting(
            "Weight of the parser's score in training; the final weight is chosen on development lists.",
            at_least=0,
        ),
    ] = 1.0
    train_words: Annotated[bool, Setting("Fine-tune the word vectors.")] = False
    min_label_count: Annotated[
        int,
        Setting("Labels that are rarer among the candidates are treated as one.", at_least=1),
    ] = 5
    seed: Annotated[
        int,
        Setting(
            "Determines the initial weights, the order of the lists and dropout.", at_least=0, at_most=1e18
        ),
    ] = 1

    def optimizer(self) -> TrainingConfig:
        """The settings that the optimizer reads."""
        return TrainingConfig(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            decay=self.decay,
            averaging=self.averaging,
            train_words=self.train_words,
            seed=self.seed,
        )
