"""Starts a model from another one: its word vectors alone, or everything that still fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.lexicon.normal_forms import Lookup
from lexitree.lexicon.vocabulary import UNK, UNK_INDEX, Vocabulary, count_words
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import table_of
from lexitree.models.word_table import WordTable
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.trees.tree import Tree

FINE_TUNING = TrainingConfig(epochs=10, batch_size=10, learning_rate=5e-4, train_words=False, patience=3)
"""How a model is trained that starts from another one, unless a recipe says otherwise; chosen on the sentences of
`hutto-nyt` and `sentihood`. With few texts, word vectors are better left as they are."""

_CHANGEABLE = ("dropout", "state_dropout", "weight_dropout", "binarization", "supervision")
"""The settings of a model that its weights do not depend on."""


def fine_tuning_recipe(start: str) -> Recipe:
    """The recipe for training that starts from a model."""
    return Recipe(start=start, training=FINE_TUNING)


def start_model(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any], backend: str) -> TreeClassifier:
    """Make a model for a corpus that starts with the weights of another.

    The output layer is new, but for labels that have the same name as a label of the other model.

    Args:
        recipe: Names the model to start from.
        corpus: Words of its training split that the model does not know get vectors of their own.
        settings: The labels of the corpus, and model settings of the recipe.
        backend: The implementation of the tree operations.

    Raises:
        ConfigError: The recipe asks for another shape than the model has.
        ModelFileError: There is no such model.
    """
    base = from_pretrained(recipe.start)
    config = _adapted_config(recipe.start, base.config, settings)
    lexicon = base.lexicon
    if isinstance(lexicon, WordTable):
        lexicon = with_words_of(lexicon, corpus.train, recipe.min_count)
    model = TreeClassifier(config, lexicon, backend=backend)
    model.encoder.load_state_dict(base.encoder.state_dict())
    _copy_output(base, model)
    return model


def _adapted_config(name: str, base: ModelConfig, settings: Mapping[str, Any]) -> ModelConfig:
    """The shape of the base model, with the labels of the corpus."""
    wanted = dict(settings)
    labels = {key: wanted.pop(key) for key in ("labels", "finer_labels", "label_names")}
    changed = {key: wanted.pop(key) for key in _CHANGEABLE if key in wanted}
    for key, value in wanted.items():
        if value != getattr(base, key):
            raise ConfigError(
                f"model.{key} is {getattr(base, key)} in {name}, and a model that starts from it cannot have {value}",
                remedy=f"Omit the setting, or start from another model. Settings that can differ: "
                f"{', '.join(_CHANGEABLE)}.",
            )
    if changed.get("supervision", base.supervision) == "root":
        # Parses are read as the base model reads them. Trees whose phrases are labelled are binary already.
        changed = {"binarization": base.parse_binarization, **changed}
    return dataclasses.replace(base, **changed, **labels)


@torch.no_grad()
def _copy_output(base: TreeClassifier, model: TreeClassifier) -> None:
    """Copy the hidden layer, and the row of every label whose name the base model knows."""
    known = _rows_by_name(base.config)
    weights = model.scorer.state_dict()
    for name, tensor in base.scorer.state_dict().items():
        if not name.startswith("label_"):
            weights[name].copy_(tensor)
            continue
        for row, label in enumerate(model.config.label_set.trained_ids):
            old = known.get(model.config.label_set.name_of(label).lower(), known.get(label.lower()))
            if old is not None:
                weights[name][row] = tensor[old]


def _rows_by_name(config: ModelConfig) -> dict[str, int]:
    """The scores of a model by the ids and names of their labels, in lower case."""
    rows: dict[str, int] = {}
    for row, label in enumerate(config.label_set.trained_ids):
        rows.setdefault(label.lower(), row)
        rows.setdefault(config.label_set.name_of(label).lower(), row)
    return rows


def with_words_of(table: WordTable, trees: Iterable[Tree], min_count: int = 1) -> WordTable:
    """Add the unknown words of trees to a table.

    A new word has the vector that would be guessed for it, or else that of all unknown words.
    """
    counts = count_words(trees)
    words = sorted(
        word
        for word, count in counts.items()
        if count >= min_count and word != UNK and table.vocabulary.index(word) == UNK_INDEX
    )
    if not words:
        return table
    vectors: Tensor = table.rows()
    added = table.guess(words) if table.can_guess else vectors[UNK_INDEX].expand(len(words), -1)
    return WordTable(
        table.vocabulary.with_words([*table.vocabulary.words, *words]),
        torch.cat([vectors, added]),
        table.guesser,
    )


def table_of_model(
    name: str, trees: Sequence[Tree], *, min_count: int = 1, lookup: Lookup = "written"
) -> WordTable:
    """The word vectors of a model, with those of other words of trees added.

    Args:
        name: The model.
        trees: Their words come first and are trained. They have vectors of their own, unless they are rare.
        min_count: Rarer words of the trees are not added.
        lookup: How words are looked up in the table.

    Raises:
        ConfigError: It has none, but a transformer.
    """
    table = table_of(from_pretrained(name).lexicon)
    if table is None:
        raise ConfigError(f"the model {name} has no word vectors", remedy="Take those of another: --vectors.")
    table.vocabulary = Vocabulary(table.vocabulary.words, lookup)
    return _train_words_of(with_words_of(table, trees, min_count), trees)


def _train_words_of(table: WordTable, trees: Iterable[Tree]) -> WordTable:
    """The same table, in which only the words of trees are trained."""
    known = table.vocabulary
    used = {known.index(word) for tree in trees for word in tree.words} - {UNK_INDEX}
    order = [*sorted(used), *(row for row in range(1, known.num_rows) if row not in used)]
    vectors = table.rows()[[UNK_INDEX, *order]]
    vocabulary = known.with_words(map(known.word, order))
    return WordTable.partly_trained(vocabulary, vectors, 1 + len(used), table.guesser)
