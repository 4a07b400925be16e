"""Packed models: the words of a language for those of a corpus, and guesses for all others."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lexitree.errors import ConfigError
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import count_words
from lexitree.models.classifier import TreeClassifier
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.pipeline.predictor import Predictor
from lexitree.saving.model_kinds import save_model
from lexitree.saving.packing import pack_model
from lexitree.saving.pretrained import from_pretrained
from tests.tiny import tiny_model, tiny_trees

TRAINED = count_words(tiny_trees(60))
NEW = ("movie", "movies", "dullness", "plotless", "goodness")


def vectors_of(model: TreeClassifier) -> WordVectors:
    """A file from which the model's own vectors come, and which has more."""
    table = model.lexicon
    assert isinstance(table, WordTable)
    known = table.vectors.detach()[1:]
    more = torch.randn(len(NEW), table.word_size, generator=torch.Generator().manual_seed(1)) * known.std()
    return WordVectors((*NEW, *table.vocabulary), torch.cat([more, known]).numpy(), "file.npz")


def labels(model: TreeClassifier) -> list[bytes]:
    return [
        prediction.node_probabilities.tobytes() for prediction in Predictor(model).predict_all(tiny_trees(10))
    ]


def test_new_words_are_added_and_the_models_own_read_as_before() -> None:
    model = tiny_model()
    before, old = labels(model), model.lexicon
    packed = pack_model(model, TRAINED, vectors=vectors_of(model))
    assert (packed.num_words, packed.num_added) == (len(old.vocabulary) + len(NEW), len(NEW))
    assert labels(model) == before
    assert model.lexicon.can_guess
    assert set(NEW) <= set(model.lexicon.vocabulary)
    assert packed.similarity is not None


def test_words_without_room_are_guessed(tmp_path: Path) -> None:
    model = tiny_model()
    packed = pack_model(model, TRAINED, vectors=vectors_of(model), num_words=4)
    assert packed.num_words == len(model.lexicon.vocabulary) == 4
    assert packed.num_added == 0
    loaded = from_pretrained(save_model(model, tmp_path / "packed"))
    assert labels(loaded) == labels(model)


def test_nothing_is_guessed_where_nobody_wants_it() -> None:
    model = tiny_model()
    packed = pack_model(model, TRAINED, guess=False)
    assert not model.lexicon.can_guess
    assert (packed.similarity, packed.mean_similarity, packed.num_added) == (None, None, 0)


def test_a_guesser_is_fitted_anew() -> None:
    model = tiny_model()
    pack_model(model, TRAINED)
    first = model.lexicon.guesser
    pack_model(model, TRAINED, guess=False)
    assert first is not None
    assert not model.lexicon.can_guess


def test_a_lexicon_of_another_kind() -> None:
    class Strange(Lexicon):
        word_size = 8

        def index(self, words: object) -> object:
            return words

        def forward(self, word_index: object, guesses: object = None) -> object:
            return word_index

    model = tiny_model()
    model.lexicon = Strange()
    with pytest.raises(ConfigError, match="Strange has no table"):
        pack_model(model, TRAINED)
