"""Recipes for parsers: everything that determines a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from lexitree.errors import ConfigError
from lexitree.learning.schedule import (
    Averaging,
    Beta2,
    Clip,
    Decay,
    DecayRule,
    FinalRate,
    LearningRate,
    Patience,
    ScheduleKind,
    TrainingSettings,
    WarmUp,
)
from lexitree.parsers.parser_config import GENERIC_STYLE, ParserConfig
from lexitree.settings import MAX_BATCH, MAX_COUNT, MAX_STEP, Setting, Settings

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
"""The sizes of a parser small enough to ship: about 15 MB with 50,000 vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreebankPlan(Settings):
    """Which trees of a file to use, and for what."""

    name: Annotated[str, Setting("Name under which its scores are reported.")]
    path: Annotated[
        str, Setting("File below the data folder, or mini-questions/train for the embedded trees.")
    ]
    part: Annotated[Part, Setting("What the trees are for.")] = "train"
    style: Annotated[
        str, Setting("Annotation conventions it follows; treebanks annotated alike share a style.")
    ] = GENERIC_STYLE
    weight: Annotated[
        float,
        Setting(
            "How often each tree is seen per epoch; 0.5 takes a different half each time.",
            above=0,
            at_most=100,
        ),
    ] = 1.0
    held_out: Annotated[
        float,
        Setting("Share of the trees that is held out of training, for development.", at_least=0, below=1),
    ] = 0.0
    first: Annotated[
        int, Setting("Index of its first tree in the file, from 0.", at_least=0, at_most=MAX_COUNT)
    ] = 0
    last: Annotated[
        int,
        Setting(
            "Index after its last tree in the file; 0 for the end of the file.",
            at_least=0,
            at_most=MAX_COUNT,
        ),
    ] = 0
    hyphens: Annotated[
        Hyphens,
        Setting("For treebanks that split words at hyphens: both adds the trees with such words joined."),
    ] = "split"
    files: Annotated[
        str, Setting("In a file of `name<TAB>tree` lines: use the trees whose names begin like this.")
    ] = ""
    recurring_in: Annotated[
        tuple[int, ...],
        Setting(
            "First and last index of other trees of the file: sentences that recur there, ignoring case and"
            " punctuation, are skipped.",
            at_least=0,
            at_most=MAX_COUNT,
        ),
    ] = ()

    def _check_together(self) -> None:
        if self.part != "train" and (self.held_out or self.weight != 1 or self.hyphens != "split"):
            raise ConfigError(
                f"{self.name}: only a training treebank can have a weight, held_out trees or joined hyphens"
            )
        if self.last and self.last <= self.first:
            raise ConfigError(f"{self.name}: there are no trees from {self.first} to {self.last}")
        if len(self.recurring_in) not in (0, 2):
            raise ConfigError(f"{self.name}: recurring_in must be two whole numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserTraining(TrainingSettings):
    """How a parser is trained."""

    batch_words: Annotated[
        int, Setting("Approximate number of words per update.", at_least=1, at_most=MAX_BATCH)
    ] = 1000
    learning_rate: LearningRate = 2e-3
    schedule: ScheduleKind = "cosine"
    warm_up: WarmUp = 0.02
    final_rate: FinalRate = 0.02
    beta2: Beta2 = 0.95
    decay: Decay = 1e-4
    decay_kind: DecayRule = "adamw"
    clip: Clip = 5.0
    averaging: Averaging = 0.998
    patience: Patience = 10
    tag_weight: Annotated[
        float,
        Setting("Weight of the tags in the loss; phrases count 1.", at_least=0, at_most=MAX_STEP),
    ] = 1.0
    word_dropout: Annotated[
        float,
        Setting(
            "A word seen n times is replaced by the unknown word with probability x / (x + n); this is x.",
            at_least=0,
            at_most=MAX_COUNT,
        ),
    ] = 0.25
    vector_dropout: Annotated[
        float, Setting("How often a word loses its fixed vector as well.", at_least=0, below=1)
    ] = 0.05
    style_dropout: Annotated[
        float, Setting("How often a sentence is read in the generic style.", at_least=0, below=1)
    ] = 0.4
    max_length: Annotated[
        int,
        Setting(
            "Skip longer training sentences: they are few, and need most of the memory.",
            at_least=1,
            at_most=MAX_COUNT,
        ),
    ] = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserRecipe(Settings):
    """What to train on what, in plain values."""

    treebanks: Annotated[tuple[TreebankPlan, ...], Setting("Treebanks to train on and to score.")]
    vectors: Annotated[
        str, Setting("File of word vectors, by path or below the data folder; default: none.")
    ] = ""
    num_vectors: Annotated[
        int,
        Setting(
            "Number of vectors to keep, those of training words first; 0 keeps all.",
            at_least=0,
            at_most=MAX_COUNT,
        ),
    ] = 0
    min_count: Annotated[
        int,
        Setting("Rarer training words have no trained vector of their own.", at_least=0, at_most=MAX_COUNT),
    ] = 2
    model: Annotated[
        Mapping[str, Any],
        Setting(
            "Sizes of the parser. `vector_size` is the size that the vectors are reduced to; 0 keeps theirs.",
            table=ParserConfig,
            derived=("labels", "tags", "styles"),
        ),
    ] = field(default_factory=dict[str, Any])
    training: Annotated[ParserTraining, Setting("How to train.")] = field(default_factory=ParserTraining)

    def _check_together(self) -> None:
        if not any(plan.part == "train" for plan in self.treebanks):
            raise ConfigError("there is no treebank to train on")
        if not any(plan.part == "dev" or plan.held_out for plan in self.treebanks):
            raise ConfigError(
                "there are no trees for development", remedy='Give a treebank part = "dev" or held_out.'
            )
        if len({plan.name for plan in self.treebanks}) != len(self.treebanks):
            raise ConfigError("two treebanks have the same name")
        ParserConfig.from_dict({"labels": ("S",), "tags": ("NN",), "styles": self.styles, **self.model})

    @property
    def styles(self) -> tuple[str, ...]:
        """The styles of the treebanks that are trained on."""
        found = {plan.style: None for plan in self.treebanks if plan.part == "train"}
        return tuple(style for style in found if style != GENERIC_STYLE)


def small_sizes(recipe: ParserRecipe) -> dict[str, int]:
    """`SMALL_SIZES`, without that of the vectors if a recipe has none."""
    return {name: size for name, size in SMALL_SIZES.items() if recipe.vectors or name != "vector_size"}
