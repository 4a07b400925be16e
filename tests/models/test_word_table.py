"""Tables of word vectors of which only the words of the training data are trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexitree.errors import VectorsError
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.models.word_table import WordTable

FILE = WordVectors(
    ("the", "zebra", "<unk>", "film", "good"), np.arange(10, dtype=np.float32).reshape(5, 2), "v.txt"
)


def test_trained_words_come_first_and_unknown_words_have_the_mean_of_the_file() -> None:
    table = WordTable.from_vectors(FILE, ["Film", "good", "nothing"])
    assert table.vocabulary.words == ("film", "good", "the", "zebra")
    assert table.vectors.tolist() == [[4, 5], [6, 7], [8, 9]]
    assert table.fixed is not None
    assert table.fixed.tolist() == [[0, 1], [2, 3]]
    assert torch.equal(table.rows(), torch.cat([table.vectors, table.fixed]))


def test_every_word_is_found_in_prediction_and_only_trained_ones_have_weights() -> None:
    table = WordTable.from_vectors(FILE, ["film", "good"]).eval()
    rows = torch.from_numpy(table.index(["zebra", "film", "strange", "the"]))
    assert table(rows).tolist() == [[2, 3], [6, 7], [4, 5], [0, 1]]
    assert list(table.state_dict()) == ["vectors"]
    assert [len(weight) for weight in table.parameters()] == [3]
    table.train()
    trained = torch.from_numpy(table.index(["good", "film"]))
    assert table(trained).tolist() == [[8, 9], [6, 7]]
    with pytest.raises(IndexError):
        table(rows)


def test_guesses_stand_beside_words_that_are_not_trained() -> None:
    table = WordTable.from_vectors(FILE, ["good"]).eval()
    rows = torch.tensor([~0, int(table.index(["zebra"])[0])])
    assert table(rows, torch.tensor([[5.0, 5.0]])).tolist() == [[5, 5], [2, 3]]


def test_vectors_for_another_language_are_refused() -> None:
    with pytest.raises(VectorsError, match="none of the requested words has a vector"):
        WordTable.from_vectors(FILE, ["wunderbar"])


def test_without_other_words_all_are_trained() -> None:
    assert WordTable.from_vectors(FILE, ["the", "zebra", "film", "good"]).fixed is None


def test_normal_forms_of_training_words_are_trained() -> None:
    table = WordTable.from_vectors(FILE, ["goooood"], "typed")
    assert table.vocabulary.words[0] == "good"
    assert len(table.vectors) == 2
    assert table.index(["GOOOD", "zebraaaa", "?"]).tolist() == [1, 3, 0]
