"""Words without a vector get one from what a transformer makes of them, or from the words they are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError
from lexitree.lexicon.normal_forms import STAND_INS
from lexitree.lexicon.vector_extension import ExtendedVectors, cosines, extend_vectors, fit_map
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import Vocabulary

WORDS = (
    "love",
    "Love",
    "it",
    "thumbs",
    "up",
    "good",
    "excellent",
    "terrible",
    *(f"w{chr(97 + k)}" for k in range(26)),
)
MAP = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)


def features(words: Sequence[str]) -> FloatArray:
    """Stands for a transformer: any word has numbers, which follow from its letters."""
    rows = [np.random.default_rng(list(word.encode())).normal(size=8) for word in words]
    return np.array(rows, dtype=np.float32).reshape(-1, 8)


def extended(counts: dict[str, int], **options: object) -> ExtendedVectors:
    vectors = WordVectors(WORDS, features([word.lower() for word in WORDS]) @ MAP, "file", len(WORDS))
    return extend_vectors(vectors, counts, features, **options)  # pyright: ignore[reportArgumentType]


def row(found: ExtendedVectors, word: str) -> FloatArray:
    return found.vectors.vectors[[found.vectors.words.index(word)]]


def test_a_linear_map_is_found() -> None:
    inputs = features([f"x{number}" for number in range(60)])
    found = fit_map(inputs, inputs @ MAP + 1)
    assert found.similarity > 0.98
    with pytest.raises(ConfigError, match="only 3 words"):
        fit_map(inputs[:3], inputs[:3])


def test_new_words_are_mapped() -> None:
    found = extended({"lol": 1, "Kavanaugh": 1, "Sebi": 2, "love": 9, "soooo": 3})
    assert found.num_mapped == 2
    assert {"lol", "sebi"} < set(found.vectors.words)
    assert not {"Love", "soooo", "kavanaugh"} & set(found.vectors.words)
    expected = features(["lol"]) @ MAP
    assert cosines(row(found, "lol"), expected)[0] > 0.9
    assert np.allclose(np.linalg.norm(found.vectors.vectors, axis=1), 6, atol=0.05)


def test_signs_have_the_words_of_their_names() -> None:
    found = extended({"👍🏽": 1, "#LoveIt": 1, ":)": 5, "10/10": 2, "@bob": 1})
    assert {"👍", "#loveit", "5/5", "@mention"} < set(found.vectors.words) | set(STAND_INS)
    assert not {":)", "10/10", "@bob"} & set(found.vectors.words)
    assert cosines(row(found, "👍"), row(found, "thumbs") + row(found, "up"))[0] > 0.99
    assert cosines(row(found, "5/5"), row(found, "excellent"))[0] > 0.99
    vocabulary = Vocabulary(found.vectors.words, "folded")
    assert vocabulary.word(vocabulary.index("9.5/10")) == "5/5"


def test_other_words_can_be_added() -> None:
    assert "zzz" in extended({}, more=["zzz", "love", "zzz"]).vectors.words
    assert "Love" in extended({}, lookup="typed").vectors.words
