"""A recipe and its corpus in, the lexicon of a fresh model out: static vectors, a transformer, or both."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.lexicon.vectors import build_table, read_vectors, wanted_forms, with_length
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.catalog import default_word_size, encoder_class
from lexitree.models.model_config import DEFAULT_MODEL
from lexitree.models.transformer import TransformerConfig, open_transformer
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.tasks.classify.recipe import Recipe


def build_lexicon(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any]) -> Lexicon:
    """The lexicon of a model with the given settings."""
    word_size: int | None = settings.get("word_size")
    if not recipe.encoder:
        return _build_table(recipe, corpus, word_size, default_word_size(settings))
    if word_size is not None:
        raise ConfigError("the size of a word's vector follows from the encoder and cannot be set")
    config = TransformerConfig.from_dict(recipe.encoder)
    # Without vectors, this says what is wrong with settings that ask for them.
    table = _build_table(recipe, corpus, None, 0) if recipe.vectors or recipe.vector_length else None
    reads = encoder_class(settings.get("model", DEFAULT_MODEL)).reads
    return open_transformer(config, table=table, unit=reads)


def _build_table(recipe: Recipe, corpus: Corpus, word_size: int | None, default_size: int) -> WordTable:
    if recipe.vectors is None:
        if recipe.vector_length:
            raise ConfigError("there are no vectors to be scaled", remedy="Name a file of them: --vectors.")
        vocabulary = Vocabulary.from_trees(corpus.train, min_count=recipe.min_count)
        return WordTable.random(vocabulary, word_size or default_size)
    every_word = (word for trees in corpus.splits.values() for tree in trees for word in tree.words)
    wanted = None if recipe.all_vectors else wanted_forms(every_word)
    on_error = "skip" if recipe.on_error == "skip" else "raise"
    # Only an archive may hold several files; elsewhere a wrong size is better told by the check below.
    dim = word_size if recipe.vectors.endswith(".zip") else None
    vectors = read_vectors(recipe.vectors, wanted, on_error=on_error, dim=dim)
    if vectors.num_skipped:
        rows = (
            "1 malformed row was"
            if vectors.num_skipped == 1
            else f"{vectors.num_skipped:,} malformed rows were"
        )
        warnings.warn(f"{recipe.vectors}: {rows} left out", stacklevel=2)
    if recipe.vector_length:
        vectors = with_length(vectors, recipe.vector_length)
    vocabulary, table = build_table(vectors)
    if word_size is not None and word_size != table.shape[1]:
        raise ConfigError(f"{recipe.vectors} has {table.shape[1]} dimensions, not the {word_size} asked for")
    return WordTable(vocabulary, torch.from_numpy(table))
