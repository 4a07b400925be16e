"""Recipes for rerankers: everything that determines a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from lexitree.errors import ConfigError
from lexitree.learning.schedule import Averaging, Decay, Epochs, LexicalSettings, SeededRecipe, TrainWords
from lexitree.models.model_config import DEFAULT_WORD_SIZE, BiasInit, ModelConfig
from lexitree.ops.weights import HeadMethod
from lexitree.settings import MAX_BATCH, MAX_COUNT, MAX_SIZE, MAX_STEP, Setting, Settings
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
    word_size: Annotated[int, Setting("Size of the word vectors.", at_least=1, at_most=MAX_SIZE)] = (
        DEFAULT_WORD_SIZE
    )
    hidden: Annotated[
        int, Setting("Size of the states, in each direction.", at_least=1, at_most=MAX_SIZE)
    ] = 150
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
            at_most=MAX_COUNT,
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
class RerankTraining(LexicalSettings):
    """How a reranker is trained."""

    epochs: Epochs = 15
    batch_size: Annotated[int, Setting("Lists per update.", at_least=1, at_most=MAX_BATCH)] = 16
    decay: Decay = 1e-4
    averaging: Averaging = 0.998
    train_words: TrainWords = False
    margin: Annotated[
        float,
        Setting(
            "Margin by which the best candidate must win, per wrong constituent of the other candidate.",
            at_least=0,
            at_most=MAX_STEP,
        ),
    ] = 0.5
    base_weight: Annotated[
        float,
        Setting(
            "Weight of the parser's score in training; the final weight is chosen on development lists.",
            at_least=0,
            at_most=MAX_STEP,
        ),
    ] = 1.0
    min_label_count: Annotated[
        int,
        Setting(
            "Labels that are rarer among the candidates are treated as one.", at_least=1, at_most=MAX_COUNT
        ),
    ] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRecipe(SeededRecipe):
    """What to train on what, in plain values that can be stored, compared and sent to other processes."""

    lists: Annotated[
        tuple[str, ...], Setting("Files of lists to train on, by path or below the data folder.")
    ] = ()
    dev: Annotated[
        tuple[str, ...], Setting("Files of lists for development; default: some training lists are held out.")
    ] = ()
    test: Annotated[tuple[str, ...], Setting("Files of lists to score the trained reranker on.")] = ()
    held_out: Annotated[
        float,
        Setting(
            "Share of the training lists held out for development, if no files are given for it.",
            at_least=0,
            below=1,
        ),
    ] = 0.1
    vectors: Annotated[
        str | None, Setting("File of word vectors, by path or below the data folder; default: random.")
    ] = None
    all_vectors: Annotated[
        bool,
        Setting(
            "Keep all vectors of the file, not only those of training words and of the first 100,000 rows: larger,"
            " but better on other texts."
        ),
    ] = False
    vector_length: Annotated[
        float, Setting("Scale all vectors to this length; 0 leaves them as they are.", at_least=0, below=1e3)
    ] = 0.0
    min_count: Annotated[
        int,
        Setting("Without vectors: rarer training words count as unknown.", at_least=1, at_most=MAX_COUNT),
    ] = 2
    model: Annotated[
        Mapping[str, Any],
        Setting("Shape of the model.", table=RerankerConfig, derived=("labels", "word_size", "base_weight")),
    ] = field(default_factory=dict[str, Any])
    training: Annotated[RerankTraining, Setting("How to train.")] = field(default_factory=RerankTraining)

    @property
    def direction(self) -> Direction:
        """How phrases of three and more children are split."""
        return RerankerConfig.from_dict({**self.model, "labels": (OTHER_LABEL,)}).binarization
