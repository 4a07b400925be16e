"""Recipes for classifiers: everything that determines a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from lexitree.corpora.text_tables import TableSettings
from lexitree.errors import ConfigError, OnError
from lexitree.installation import PAPER, install_package_command
from lexitree.learning.schedule import LexicalSettings, SeededRecipe
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerConfig
from lexitree.plugins import Registry, Source
from lexitree.settings import MAX_BATCH, MAX_COUNT, MAX_STEP, Setting
from lexitree.suggestions import close_names, did_you_mean
from lexitree.tasks.classify.augmentation import AugmentSettings
from lexitree.tasks.classify.more_corpora import CorpusPlan
from lexitree.tasks.classify.parsed_corpus import Parses

RANDOM_VECTORS = "random"
"""What `vectors` may be instead of a file: vectors are drawn by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig(LexicalSettings):
    """How a classifier is trained; the defaults are the paper's protocol with mini-batches of 25."""

    batch_size: Annotated[
        int, Setting("Trees per update (the paper uses 1).", at_least=1, at_most=MAX_BATCH)
    ] = 25
    root_weight: Annotated[
        float,
        Setting(
            "Weight of a sentence's own label in the loss; other phrases count 1.", above=0, at_most=MAX_STEP
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
    class_weights: Annotated[
        Literal["none", "balanced"],
        Setting("Count all labelled phrases alike (none), or all labels alike, however rare (balanced)."),
    ] = "none"
    choose_by: Annotated[
        Literal["main", "mean"],
        Setting(
            "What chooses the best epoch: the development accuracy of the main corpus's sentences (main), or the mean"
            " of it and those of further corpora (mean)."
        ),
    ] = "main"
    head_entropy: Annotated[
        float,
        Setting(
            "Weight in the loss of the entropy of the head gates, per phrase: more makes head words clearer.",
            at_least=0,
            at_most=MAX_STEP,
        ),
    ] = 0.0
    distinct_phrases: Annotated[
        bool,
        Setting("Train a sequence model on each distinct phrase once per epoch, not wherever it occurs."),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(SeededRecipe):
    """What to train on what, in plain values that can be stored, compared and sent to other processes."""

    corpus: Annotated[
        str, Setting("Name of a corpus (see `lexitree data list`), or path of a folder or file.")
    ] = "mini-reviews"
    data: Annotated[str | None, Setting("Folder with downloaded corpora; default: $LEXITREE_DATA.")] = None
    encoding: Annotated[str, Setting("Encoding of the corpus files; it is never guessed.")] = "utf-8"
    on_error: Annotated[
        OnError, Setting("On a malformed tree or row of vectors: stop, or skip and report.")
    ] = "raise"
    strip_traces: Annotated[bool, Setting("Remove the empty elements (-NONE-) of Penn trees.")] = False
    strip_function_tags: Annotated[
        bool, Setting("Shorten labels of Penn trees to their category: NP-SBJ-1 becomes NP.")
    ] = False
    table: Annotated[
        TableSettings, Setting("Columns of a table of texts with labels, and what is held out.")
    ] = field(default_factory=TableSettings)
    more: Annotated[
        tuple[CorpusPlan, ...],
        Setting("Further corpora to learn from, whose labels may be coarser; tables [[more]] in a recipe."),
    ] = ()
    start: Annotated[
        str,
        Setting(
            "Model to start from, such as sentiment, or the folder of one: its word vectors, recurrences and head"
            " words, and what its output layer says about labels of the same name."
        ),
    ] = ""
    parser: Annotated[
        str,
        Setting(
            "Learn from the trees of this parser; default: the corpus's own trees, or builtin for a table of texts."
        ),
    ] = ""
    parses: Annotated[
        Parses,
        Setting("Use the parser's trees in place of the corpus's own, or add them to the training split."),
    ] = "replace"
    vectors: Annotated[
        str | None,
        Setting(
            "File of word vectors: GloVe text (.txt, .gz, .zip), word2vec .bin or .npz; or a model of the package,"
            " such as sentiment, for its vectors; or random. Default: random, but sentiment for a table of texts."
        ),
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
    ] = 1
    encoder: Annotated[
        Mapping[str, Any],
        Setting("Transformer that reads the words; word vectors are added to it.", table=TransformerConfig),
    ] = field(default_factory=dict[str, Any])
    teacher: Annotated[
        str,
        Setting(
            "Saved model, run, or runs of several seeds whose probabilities are learned with the labels; or the"
            " name of a teacher of another package."
        ),
    ] = ""
    teacher_trees: Annotated[
        tuple[str, ...], Setting("Files of trees that only the teacher labels, by path or below `data`.")
    ] = ()
    model: Annotated[
        Mapping[str, Any],
        Setting("Shape of the model.", table=ModelConfig, derived=("labels", "finer_labels", "label_names")),
    ] = field(default_factory=dict[str, Any])
    training: Annotated[TrainingConfig, Setting("How to train.")] = field(default_factory=TrainingConfig)
    augment: Annotated[
        AugmentSettings, Setting("How training sentences are changed at random; by default they are not.")
    ] = field(default_factory=AugmentSettings)

    def _check_together(self) -> None:
        if self.encoder and "name" not in self.encoder:
            raise ConfigError(
                f"there is no encoder for these settings: {', '.join(sorted(self.encoder))}",
                remedy="Name one: --encoder, or name = ... in the table [encoder] of a recipe.",
            )
        if self.start and (self.vectors or self.encoder):
            raise ConfigError(
                f"the model {self.start} to start from has its own word vectors",
                remedy="Omit --vectors and --encoder, or omit --from.",
            )
        if self.training.choose_by == "mean" and not self.more:
            raise ConfigError(
                'there is no mean over corpora: choose_by = "mean" needs further ones',
                remedy="Add a table [[more]] to the recipe, or choose by the main corpus.",
            )
        if self.teacher_trees and not self.teacher:
            raise ConfigError(
                "there are trees for a teacher, but no teacher",
                remedy="Name a saved model: --set teacher=FOLDER.",
            )
        if self.teacher and self.training.distinct_phrases:
            raise ConfigError(
                "distinct_phrases goes by labels, but a teacher rates each occurrence of a phrase by itself",
                remedy="Use only one of them.",
            )


_PACKAGE = Path(__file__).parents[2]


def _admit(name: str, value: Any, source: Source) -> Mapping[str, Recipe]:
    del name, source
    if not isinstance(value, Mapping):
        raise TypeError("must be a mapping of names to recipes")
    return cast(Mapping[str, Recipe], value)


RECIPE_TABLES: Registry[Mapping[str, Recipe]] = Registry("recipe table", admit=_admit)
"""The recipes that other packages add, a table for each package."""


def own_recipes() -> dict[str, Path]:
    """The recipes of lexitree for classifiers: their names and files."""
    # A wheel has the folder inside the package, a checkout at its root.
    folder = next((each for each in (_PACKAGE, _PACKAGE.parents[1]) if (each / "recipes").is_dir()), _PACKAGE)
    return {path.stem: path for path in sorted((folder / "recipes").glob("*.toml"))}


def find_recipe(recipe: str | Path) -> Recipe:
    """Read a recipe.

    Args:
        recipe: A TOML file, or the name of a recipe of lexitree or of another package.

    Raises:
        ConfigError: There is no recipe of that name.
        FileError: The file cannot be read or holds settings that are not accepted.
    """
    path, name = Path(recipe), str(recipe)
    if path.suffix == ".toml" or path.name != name or path.is_file():
        return Recipe.from_toml(path)
    own = own_recipes()
    if name in own:
        return Recipe.from_toml(own[name])
    tables = [table for _, table in RECIPE_TABLES.working()]
    for table in tables:
        if name in table:
            return table[name]
    known = [*own, *(each for table in tables for each in table)]
    remedy = did_you_mean(close_names(name, known)) or f"The recipes are: {', '.join(known)}."
    remedy += " A recipe of your own is a file whose name ends in .toml."
    if "paper" not in RECIPE_TABLES:
        remedy += f"\nThe paper's recipes are in another package: {install_package_command(PAPER)}"
    raise ConfigError(f"unknown recipe '{name}'", remedy=remedy)
