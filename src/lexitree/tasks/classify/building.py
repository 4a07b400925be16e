"""From a recipe to what is trained: its corpus, read and parsed, and a fresh model with its word vectors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import find_entry, find_path, load_corpus
from lexitree.corpora.treebank import chosen_strips
from lexitree.errors import ConfigError
from lexitree.lexicon.normal_forms import Lookup
from lexitree.lexicon.vector_files import read_vectors, wanted_forms, with_length
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.catalog import check_memory, default_word_size, encoder_class, with_model_defaults
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import DEFAULT_MODEL, ModelConfig, TextReading
from lexitree.models.transformer import TransformerConfig, open_transformer
from lexitree.models.word_table import NUM_FIRST, Lexicon, WordTable
from lexitree.saving import shipped
from lexitree.tasks.classify.augmentation import AugmentSettings
from lexitree.tasks.classify.more_corpora import with_more
from lexitree.tasks.classify.parsed_corpus import read_unlabelled, with_parses, with_unlabelled
from lexitree.tasks.classify.recipe import RANDOM_VECTORS, Recipe, TrainingConfig
from lexitree.tasks.classify.starting import start_model, table_of_model
from lexitree.tasks.classify.text_corpus import find_tables, load_text_corpus, opened_parser
from lexitree.trees.binarize import Direction


def load_recipe_corpus(recipe: Recipe) -> Corpus:
    """Read the corpus that a recipe names, with parses and trees for a teacher where it asks for them."""
    corpus = add_further(_load_texts(recipe) or _load_trees(recipe), recipe)
    if recipe.teacher_trees:
        trees = read_unlabelled(recipe.teacher_trees, recipe.data)
        corpus = with_unlabelled(corpus, trees, direction=_parse_direction(recipe))
    return corpus


def corpus_settings(recipe: Recipe) -> Recipe:
    """A recipe without settings that do not matter to `load_recipe_corpus`: those of the model and its training."""
    model = {name: recipe.model[name] for name in _CORPUS_SHAPE if name in recipe.model}
    return replace(recipe, model=model, training=TrainingConfig(), augment=AugmentSettings())


_CORPUS_SHAPE = ("supervision", "binarization")
"""Settings of the model by which its corpus is read."""


def add_further(corpus: Corpus, recipe: Recipe) -> Corpus:
    """Add the further corpora of a recipe, unless it has none or they are there."""
    if not recipe.more or corpus.further:
        return corpus
    direction = _parse_direction(recipe)
    return with_more(corpus, recipe.more, data=recipe.data, parser=recipe.parser, direction=direction)


def _load_texts(recipe: Recipe) -> Corpus | None:
    """The corpus of a table of texts, or of a folder of them; None if the recipe names something else."""
    if find_entry(recipe.corpus) is not None:
        return None
    path = find_path(recipe.corpus)
    tables = find_tables(path, recipe.table, recipe.encoding)
    if tables is None:
        return None
    return load_text_corpus(
        tables,
        recipe.table,
        parser=recipe.parser,
        name=Path(path).resolve().name,
        encoding=recipe.encoding,
        on_error=recipe.on_error,
    )


def _load_trees(recipe: Recipe) -> Corpus:
    # A named corpus has nothing to skip: beside it, `skip` means rows of the vectors.
    rows_only = recipe.vectors is not None and find_entry(recipe.corpus) is not None
    on_error = "skip" if recipe.on_error == "skip" and not rows_only else "raise"
    corpus = load_corpus(
        recipe.corpus,
        data=recipe.data,
        encoding=recipe.encoding,
        on_error=on_error,
        strip=chosen_strips(traces=recipe.strip_traces, function_tags=recipe.strip_function_tags),
        supervision=recipe.model.get("supervision"),
    )
    return _with_parses(corpus, recipe) if recipe.parser else corpus


def _parse_direction(recipe: Recipe) -> Direction:
    """How the model will binarize parses of raw text, so that it is trained on the same trees."""
    asked = {name: recipe.model[name] for name in ("binarization",) if name in recipe.model}
    return ModelConfig(labels=("any",), **asked).parse_binarization


def _with_parses(corpus: Corpus, recipe: Recipe) -> Corpus:
    with opened_parser(recipe.parser) as parser:
        return with_parses(corpus, parser, parses=recipe.parses, direction=_parse_direction(recipe))


def build_model(recipe: Recipe, corpus: Corpus, *, backend: str = "auto") -> TreeClassifier:
    """Build a model for a corpus: a fresh one with its vocabulary and vectors, or one that starts from another."""
    settings = model_settings(recipe, corpus)
    # Wrong settings are reported before a file of vectors is read.
    ModelConfig.from_dict(settings)
    if recipe.start:
        model = start_model(recipe, corpus, settings, backend)
    else:
        settings = with_model_defaults(settings)
        lexicon = _build_lexicon(recipe, corpus, settings)
        config = ModelConfig.from_dict({**settings, "word_size": lexicon.word_size})
        check_memory(config)
        model = TreeClassifier(config, lexicon, backend=backend)
    if corpus.texts is not None:
        text, label = corpus.texts.columns
        model.reading = TextReading(
            parser=corpus.texts.parser, layout=corpus.texts.layout, text=text, label=label
        )
    return model


def model_settings(recipe: Recipe, corpus: Corpus) -> dict[str, Any]:
    """The model settings of a recipe, with the labels of the corpus."""
    # Parses have Penn labels, so that phrases can be split around their heads.
    of_texts = {"binarization": "head"} if corpus.texts and not recipe.start else {}
    return {
        "supervision": corpus.supervision,
        **of_texts,
        **recipe.model,
        **corpus.label_set.as_dict(),
    }


def _build_lexicon(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any]) -> Lexicon:
    """The lexicon of a model: static vectors, a transformer, or both."""
    word_size: int | None = settings.get("word_size")
    if not recipe.encoder:
        return _build_table(recipe, corpus, word_size, default_word_size(settings))
    if word_size is not None:
        raise ConfigError("the size of a word's vector follows from the encoder and cannot be set")
    config = TransformerConfig.from_dict(recipe.encoder)
    # Without vectors, this raises the error about settings that need them.
    table = _build_table(recipe, corpus, None, 0) if recipe.vectors or recipe.vector_length else None
    reads = encoder_class(settings.get("model", DEFAULT_MODEL)).reads
    return open_transformer(config, table=table, unit=reads)


def choose_vectors(recipe: Recipe, corpus: Corpus) -> str:
    """The word vectors that a recipe asks for; by default, texts start with those of a shipped model, if they fit."""
    if recipe.vectors is not None:
        return recipe.vectors
    settings = with_model_defaults(recipe.model)
    has_own_size = (
        "word_size" in settings or encoder_class(settings.get("model", DEFAULT_MODEL)).words_are_states
    )
    is_free = not (has_own_size or recipe.encoder or recipe.vector_length)
    can_start = corpus.texts is not None and is_free and shipped.is_shipped(shipped.DEFAULT_MODEL)
    return shipped.DEFAULT_MODEL if can_start else RANDOM_VECTORS


def _build_table(recipe: Recipe, corpus: Corpus, word_size: int | None, default_size: int) -> WordTable:
    name = choose_vectors(recipe, corpus)
    if name == RANDOM_VECTORS:
        if recipe.vector_length:
            raise ConfigError("there are no vectors to be scaled", remedy="Name a file of them: --vectors.")
        vocabulary = Vocabulary.from_trees(corpus.train, min_count=recipe.min_count, lookup=_lookup(recipe))
        return WordTable.random(vocabulary, word_size or default_size)
    if shipped.is_shipped(name):
        table = table_of_model(name, corpus.train, min_count=recipe.min_count, lookup=_lookup(recipe))
    else:
        table = _read_table(name, recipe, corpus, word_size)
    if word_size is not None and word_size != table.word_size:
        raise ConfigError(f"{name} has {table.word_size} dimensions, not the {word_size} asked for")
    return table


def _read_table(path: str, recipe: Recipe, corpus: Corpus, word_size: int | None) -> WordTable:
    on_error = "skip" if recipe.on_error == "skip" else "raise"
    # Only an archive can hold several files; elsewhere a later check gives the better error.
    dim = word_size if path.endswith(".zip") else None
    trained = {word for tree in corpus.train for word in tree.words}
    wanted = None if recipe.all_vectors else wanted_forms(trained)
    vectors = read_vectors(path, wanted, num_first=NUM_FIRST, on_error=on_error, dim=dim)
    if vectors.num_skipped:
        rows = (
            "1 malformed row was"
            if vectors.num_skipped == 1
            else f"{vectors.num_skipped:,} malformed rows were"
        )
        warnings.warn(f"{path}: {rows} skipped", stacklevel=2)
    if recipe.vector_length:
        vectors = with_length(vectors, recipe.vector_length)
    return WordTable.from_vectors(vectors, trained, _lookup(recipe))


def _lookup(recipe: Recipe) -> Lookup:
    return recipe.model.get("lookup", "written")
