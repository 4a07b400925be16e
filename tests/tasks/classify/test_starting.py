"""A model that starts from another: what it takes over, and what is new."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.text_tables import TableSettings, texts_from_columns
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.models.classifier import TreeClassifier
from lexitree.models.word_table import WordTable
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.building import build_model, choose_vectors
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.starting import fine_tuning_recipe, table_of_model, with_words_of
from lexitree.tasks.classify.text_corpus import corpus_from_texts
from lexitree.trees.brackets import tree_from_brackets
from tests.pipeline.stubs import RightBranching
from tests.tiny import tiny_model


def corpus_of(*labels: str) -> Corpus:
    trees = [tree_from_brackets(f"({label} (X the) (X zebra))") for label in labels]
    return Corpus("some", {"train": trees, "dev": trees}, LabelSet(labels), "root")


@pytest.fixture
def base(tmp_path: Path) -> tuple[Path, TreeClassifier]:
    model = tiny_model(label_names={"0": "negative", "1": "positive"})
    return save_model(model, tmp_path / "base"), model


def test_weights_are_taken_over_and_labels_of_the_same_name(base: tuple[Path, TreeClassifier]) -> None:
    folder, old = base
    model = build_model(fine_tuning_recipe(str(folder)), corpus_of("mixed", "Positive"))
    for name, weight in old.encoder.state_dict().items():
        assert torch.equal(model.encoder.state_dict()[name], weight), name
    assert old.scorer.hidden_weight is not None
    assert model.scorer.hidden_weight is not None
    assert torch.equal(model.scorer.hidden_weight, old.scorer.hidden_weight)
    assert torch.equal(model.scorer.label_weight[1], old.scorer.label_weight[1]), "positive"
    assert not torch.equal(model.scorer.label_weight[0], old.scorer.label_weight[0])
    assert model.config.labels == ("mixed", "Positive")
    assert (model.config.supervision, model.config.binarization) == ("root", "head")


def test_trees_with_labelled_phrases_are_read_as_the_base_model_reads_them(
    base: tuple[Path, TreeClassifier],
) -> None:
    folder, old = base
    corpus = dataclasses.replace(corpus_of("0", "1"), supervision="all")
    model = build_model(fine_tuning_recipe(str(folder)), corpus)
    assert (model.config.supervision, model.config.binarization) == ("all", old.config.binarization)


def test_new_words_have_rows_of_their_own(base: tuple[Path, TreeClassifier]) -> None:
    _, old = base
    assert isinstance(old.lexicon, WordTable)
    table = with_words_of(old.lexicon, corpus_of("a").train)
    assert table.vocabulary.words == (*old.lexicon.vocabulary.words, "zebra")
    assert torch.equal(table.vectors[:-1], old.lexicon.vectors)
    assert torch.equal(table.vectors[-1], table.vectors[0]), "without guesses, that of unknown words"
    assert with_words_of(table, corpus_of("a").train) is table


def test_only_words_of_the_trees_are_trained(base: tuple[Path, TreeClassifier]) -> None:
    folder, old = base
    trees = corpus_of("a").train
    table = table_of_model(str(folder), trees)
    every = with_words_of(old.lexicon, trees)
    assert set(table.vocabulary) == set(every.vocabulary)
    for word in every.vocabulary:
        assert torch.equal(
            table.rows()[table.vocabulary.index(word)], every.vectors[every.vocabulary.index(word)]
        )
    trained = table.vocabulary.words[: len(table.vectors) - 1]
    assert set(trained) == {word for tree in trees for word in tree.words}


def test_another_shape_is_refused(base: tuple[Path, TreeClassifier]) -> None:
    recipe = fine_tuning_recipe(str(base[0]))
    assert build_model(dataclasses.replace(recipe, model={"hidden": 8, "dropout": 0.1}), corpus_of("a", "b"))
    with pytest.raises(ConfigError, match=r"model\.hidden is 8 in .*, and a model that starts from it"):
        build_model(dataclasses.replace(recipe, model={"hidden": 9}), corpus_of("a", "b"))
    with pytest.raises(ConfigError, match="has its own word vectors"):
        dataclasses.replace(recipe, vectors="glove.txt")


def test_texts_start_with_the_vectors_of_a_shipped_model(
    shipped_folder: Path, saved_model: Path, tmp_path: Path
) -> None:
    shutil.copytree(saved_model, shipped_folder / "sentiment")
    rows = texts_from_columns(["the zebra is good", "the film is bad"] * 3, ["1", "0"] * 3)
    corpus = corpus_from_texts({"train": rows}, RightBranching(), TableSettings(dev=0, test=0))
    shipped_table = from_pretrained(saved_model).lexicon
    assert isinstance(shipped_table, WordTable)
    table = build_model(Recipe(), corpus).lexicon
    assert isinstance(table, WordTable)
    trained = table.vocabulary.words[: len(table.vectors) - 1]
    assert set(trained) == {"the", "zebra", "is", "good", "film", "bad"}
    good = table.vectors[table.vocabulary.index("good")]
    assert torch.equal(good, shipped_table.vectors[shipped_table.vocabulary.index("good")])
    assert len(table.vocabulary) == len(shipped_table.vocabulary) + 1
    for word in shipped_table.vocabulary:
        row = table.rows()[table.vocabulary.index(word)]
        assert torch.equal(row, shipped_table.vectors[shipped_table.vocabulary.index(word)])
    for recipe in (Recipe(vectors="random"), Recipe(model={"word_size": 5}), Recipe(model={"model": "rntn"})):
        assert choose_vectors(recipe, corpus) == "random"
    with pytest.raises(ConfigError, match="sentiment has 8 dimensions, not the 5 asked for"):
        build_model(Recipe(vectors="sentiment", model={"word_size": 5}), corpus)
