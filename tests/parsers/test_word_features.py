"""What a parser knows of words: affixes, shapes, and a reduced table of vectors."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lexitree.errors import ConfigError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.word_features import WordFeatures, affixes_of, hash_affix, word_shape
from lexitree.tasks.parse.data import load_parser_data
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.run import build_parser_model, reduced_vectors
from tests.tiny_parser import TINY_SIZES, mini_recipe


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("Mr.", "Xx."),
        ("1990s", "9x"),
        ("McDonald", "XxXx"),
        ("U.S.", "X.X."),
        ("-", "-"),
        ("été", "x"),
        ("", ""),
    ],
)
def test_shapes(word: str, shape: str) -> None:
    assert word_shape(word) == shape


def test_affixes_are_of_the_word_as_it_is_read() -> None:
    assert affixes_of("-LRB-") == affixes_of("(")
    assert affixes_of("Running")[:4] == ["<r", "<ru", "<run", "<runn"]
    assert affixes_of("Running")[4:8] == ["g>", "ng>", "ing>", "ning>"]
    assert affixes_of("Running")[8] == "=Xx"


def test_hashes_are_the_same_everywhere() -> None:
    assert hash_affix("ing>", 1 << 13) == 372
    assert 0 <= hash_affix("\ud800", 7) < 7


def test_a_sentence_in_numbers() -> None:
    features = WordFeatures(Vocabulary(["the", "dog"]), Vocabulary(["\x02", "\x03", "dog"]), 64)
    numbers = features.number(["The", "dog", "xyz"])
    assert numbers.vectors.tolist() == [0, 1, 2, 0, 0]
    assert numbers.words.tolist() == [1, 0, 3, 0, 2]
    assert numbers.affixes.shape == (5, 9)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = np.array(["film", "the", "-LRB-", "(", "rare", "dog"])
    np.savez(tmp_path / "vectors.npz", words=words, vectors=rng.normal(2, 3, (6, 5)).astype(np.float16))
    return tmp_path / "vectors.npz"


def test_training_words_come_first_and_what_cannot_be_asked_for_is_left_out(vectors: Path) -> None:
    words, table = reduced_vectors(vectors, {"dog": 3, "the": 7}, num_words=3)
    assert words.words == ("the", "dog", "film")
    assert table.shape == (4, 5)
    everything, _ = reduced_vectors(vectors, {})
    assert everything.words == ("film", "the", "(", "rare", "dog")


def test_fewer_dimensions_keep_distances(vectors: Path) -> None:
    _, whole = reduced_vectors(vectors, {})
    _, rotated = reduced_vectors(vectors, {}, size=5)
    _, reduced = reduced_vectors(vectors, {}, size=2)
    assert reduced.shape == (6, 2)
    assert np.array_equal(reduced[0], [0, 0])
    distances = [np.linalg.norm(table[1:, None] - table[None, 1:], axis=2) for table in (whole, rotated)]
    np.testing.assert_allclose(*distances, rtol=1e-4)
    assert np.std(reduced[1:]) == pytest.approx(1, abs=0.01)


def test_more_dimensions_than_there_are(vectors: Path) -> None:
    with pytest.raises(ConfigError, match="have 5 dimensions"):
        reduced_vectors(vectors, {}, size=6)


def test_a_model_with_vectors(vectors: Path) -> None:
    recipe = dataclasses.replace(mini_recipe(model={"vector_size": 3}), vectors=str(vectors))
    model = build_parser_model(recipe, load_parser_data(recipe))
    assert model.config.vector_size == 3
    assert model.vectors.shape == (6, 3)
    assert "encoder.vectors" not in model.state_dict()


def test_sizes_of_vectors_that_are_not_there() -> None:
    recipe = mini_recipe(model={"vector_size": 3})
    with pytest.raises(ConfigError, match="no vectors"):
        build_parser_model(recipe, load_parser_data(recipe))


def test_a_treebank_may_have_any_words(tmp_path: Path) -> None:
    (tmp_path / "bank.txt").write_text("(S (NN <unk>) (NN \x02) (NN dog))\n(S (NN a) (NN b))\n")
    plan = {"name": "odd", "path": str(tmp_path / "bank.txt"), "held_out": 0.01}
    recipe = ParserRecipe.from_dict({"treebanks": [plan], "min_count": 1, "model": TINY_SIZES})
    model = build_parser_model(recipe, load_parser_data(recipe))
    assert model.features.trained_words.words == ("\x02", "\x03", "a", "b", "dog")


def test_the_cache_keeps_no_long_words() -> None:
    features = WordFeatures(Vocabulary(["x" * 200]), Vocabulary([]), 50)
    assert features.number(["x" * 200, "y"]).vectors.tolist() == [0, 1, 0, 0]
    assert "y" in features._cache
    assert max(map(len, features._cache)) == 1
