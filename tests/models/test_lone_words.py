"""A transformer reads words one by one, whatever the words beside them are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lexitree.models.lone_words import LoneWordReader
from tests.tiny_encoders import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_is_read_alone(encoders: dict[str, Path], kind: str) -> None:
    reader = LoneWordReader(str(encoders[kind]))
    words = ["good", "a", "lol", "filmfilmfilm", "good"]
    found = reader.features(words)
    assert found.shape[0] == len(words)
    halves = np.split(found, 2, axis=1)
    for half in halves:
        np.testing.assert_allclose(np.linalg.norm(half, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found[0], found[4], atol=1e-5)
    np.testing.assert_allclose(reader.features(["lol"])[0], found[2], atol=1e-4)
    assert np.abs(found[0] - found[2]).max() > 0.01
    assert reader.features([]).shape == (0, found.shape[1])


def test_whole_words(encoders: dict[str, Path]) -> None:
    words = LoneWordReader(str(encoders["bert"])).whole_words
    assert words == sorted(words)
    assert all(word.isalpha() and len(word) > 1 for word in words)
