"""A fitted guesser: better than the mean on words it has not seen, the same for the same seed."""

from __future__ import annotations

import itertools

import pytest
import torch

from lexitree.errors import ConfigError
from lexitree.models.guesses import FittedGuesser, fit_guesser

STEMS = ["".join(letters) for letters in itertools.product("bdfgklmnprst", "aeiou", "lmnr")]
ENDINGS = ("less", "ful", "ness", "ing")
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]
DIRECTIONS = torch.eye(8)
VECTORS = torch.stack([DIRECTIONS[ENDINGS.index(ending)] for _ in STEMS for ending in ENDINGS])


def fit(seed: int = 1) -> FittedGuesser:
    return fit_guesser(WORDS, VECTORS, num_rows=2000, size=8, num_epochs=25, seed=seed)


def test_endings_are_learned() -> None:
    fitted = fit()
    assert fitted.similarity > 0.9 > 0.6 > fitted.mean_similarity
    guesses = fitted.guesser(["zuvless", "zuvful", "zuvness", "zuving"])
    assert guesses.argmax(1).tolist() == [0, 1, 2, 3]
    assert fitted.guesser.word_size == 8


def test_the_same_seed_gives_the_same_guesser_whatever_else_is_random() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = fit()
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    second, other = fit(), fit(seed=2)
    assert torch.equal(first.guesser.group_vectors, second.guesser.group_vectors)
    assert not torch.equal(first.guesser.group_vectors, other.guesser.group_vectors)


def test_numbers_of_any_kind_are_fitted_to_in_float32() -> None:
    fitted = fit_guesser(["a", "b", "c"], torch.ones(3, 4, dtype=torch.float64), num_rows=10, size=2)
    assert fitted.guesser.mean.dtype == torch.float32
    assert fitted.similarity > 0.9


def test_one_word_says_nothing_of_others() -> None:
    with pytest.raises(ConfigError, match="at least two words"):
        fit_guesser(["a"], torch.ones(1, 4))


def test_two_forms_of_one_word() -> None:
    assert fit_guesser(["Film", "film"], torch.ones(2, 4), num_rows=10, size=2).guesser.word_size == 4
