"""The shape of a classifier: everything needed to build it again, and nothing about its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from lexitree.corpora.corpus import Supervision
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.lexicon.normal_forms import Lookup
from lexitree.models.cells import BiasInit
from lexitree.models.head_methods import HEAD_METHODS, check_candidates
from lexitree.ops.weights import HeadCandidates
from lexitree.settings import MAX_SIZE, MAX_STEP, Setting, Settings
from lexitree.text import Layout
from lexitree.trees.binarize import Direction

DEFAULT_MODEL = "bicontree"
DEFAULT_WORD_SIZE = 300
DEFAULT_BINARIZATION: Direction = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReading(Settings):
    """How a model that was trained on texts reads them."""

    parser: Annotated[str, Setting("Parser of its sentences, as `open_parser` names it.")] = ""
    layout: Annotated[Layout, Setting("How sentences are found; see `split_sentences`.")] = "text"
    text: Annotated[str, Setting("Column of the texts in the table that it was trained on.")] = ""
    label: Annotated[str, Setting("Column of the labels.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig(Settings):
    """The shape of a model; the defaults are the paper's for sentiment."""

    model: Annotated[str, Setting("Name of the model, one of `lexitree models`.")] = DEFAULT_MODEL
    labels: Annotated[
        tuple[str, ...], Setting("Labels it predicts, in the order of their probabilities.", unique=True)
    ]
    finer_labels: Annotated[
        Mapping[str, str],
        Setting(
            "Labels it is trained with, in the order of its scores, if these are finer than those it predicts:"
            ' each with the label that it counts for, or "" for none.'
        ),
    ] = field(default_factory=dict[str, str])
    label_names: Annotated[
        Mapping[str, str], Setting("Names shown to people, for labels that are shown by another name.")
    ] = field(default_factory=dict[str, str])
    word_size: Annotated[
        int, Setting("Size of the word vectors, unless a file decides it.", at_least=1, at_most=MAX_SIZE)
    ] = DEFAULT_WORD_SIZE
    hidden: Annotated[
        int, Setting("Size of the states h and c, in each direction.", at_least=1, at_most=MAX_SIZE)
    ] = 150
    output: Annotated[
        int,
        Setting(
            "Size of the layer between states and label scores; 0 for none.", at_least=0, at_most=MAX_SIZE
        ),
    ] = 128
    head_method: Annotated[
        str,
        Setting(
            "Where a phrase's head vector comes from: learned gate, left, right or average.",
            choices=HEAD_METHODS,
        ),
    ] = "G"
    head_candidates: Annotated[
        HeadCandidates,
        Setting(
            "Words that may be the head of a phrase that has others: all; words, which punctuation is not; or content"
            " words, which leaves out articles, pronouns, prepositions, conjunctions and auxiliaries."
        ),
    ] = "all"
    share_topdown_inputs: Annotated[
        bool,
        Setting(
            "Left and right children share W_x and b top-down, as the paper's parameter counts say; false"
            " follows its equations."
        ),
    ] = True
    dropout: Annotated[float, Setting("Dropout on the word vectors.", at_least=0, below=1)] = 0.5
    state_dropout: Annotated[
        float, Setting("Dropout on the states before the label scores.", at_least=0, below=1)
    ] = 0.0
    weight_dropout: Annotated[
        float,
        Setting("Dropout on the weights between states, drawn once per update.", at_least=0, below=1),
    ] = 0.0
    bias_init: Annotated[BiasInit, Setting("Initial biases: random as in the authors' code, or zero.")] = (
        "uniform"
    )
    temperature: Annotated[
        float,
        Setting(
            "What scores are divided by for probabilities; `lexitree calibrate` finds it.",
            above=0,
            at_most=MAX_STEP,
        ),
    ] = 1.0
    binarization: Annotated[
        Direction,
        Setting("How phrases of three and more children are split: from the left, right or around the head."),
    ] = DEFAULT_BINARIZATION
    lookup: Annotated[
        Lookup,
        Setting(
            "How words find their vectors: as written, else in lower case (written); also by their normal forms,"
            " soooo as so (typed); or so, and in lower case first (folded)."
        ),
    ] = "written"
    supervision: Annotated[
        Supervision,
        Setting(
            "Train on all phrases or on whole sentences; a recipe's default is how the corpus is labelled."
        ),
    ] = "all"

    @classmethod
    def for_values(cls, values: Mapping[str, Any]) -> type[Self]:
        """The settings class of the model that the values name: one of another package may have more settings."""
        # Models are built from these settings, so their module imports this one.
        from lexitree.models.catalog import encoder_class

        name = values.get("model", DEFAULT_MODEL)
        found = encoder_class(name).config_class if isinstance(name, str) else cls
        return found if issubclass(found, cls) else cls

    def _check_together(self) -> None:
        if not self.labels:
            raise ConfigError("a model needs at least one label")
        check_candidates(self.head_candidates, self.head_method)
        # It checks the labels against each other.
        _ = self.label_set
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
