"""Guessed vectors: the same on every machine and in every company, and by known words where there are any."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.guesses import VectorGuesser, guess_vectors
from lexitree.models.word_table import WordTable
from tests.strategies import any_text

WORD_SIZE = 6
VOCABULARY = Vocabulary(["good", "so", "Film", "well", "made", "100", "("])


def make_guesser(word_size: int = WORD_SIZE) -> VectorGuesser:
    random = torch.Generator().manual_seed(1)
    shapes = ((50, 4), (4, word_size), (word_size,))
    return VectorGuesser(*(torch.randn(shape, generator=random) for shape in shapes))


GUESSER = make_guesser()
VECTORS = torch.randn(VOCABULARY.num_rows, WORD_SIZE, generator=torch.Generator().manual_seed(2))


def guess(word: str) -> torch.Tensor:
    return guess_vectors([word], VOCABULARY, VECTORS, GUESSER)[0]


def row(word: str) -> torch.Tensor:
    return VECTORS[VOCABULARY.index(word)]


@given(any_text())
def test_any_word_has_a_guess(word: str) -> None:
    assert GUESSER([word]).isfinite().all()
    assert guess(word).shape == (WORD_SIZE,)


def test_half_a_character_is_no_reason_to_stop() -> None:
    assert guess("\ud83d-\udc4d").isfinite().all()


def test_a_guess_does_not_depend_on_the_company() -> None:
    words = ["filmgoer", "well-meant", "goood", "unheard", "zz-zz"]
    together = guess_vectors(words, VOCABULARY, VECTORS, GUESSER)
    for word, guessed in zip(words, together, strict=True):
        torch.testing.assert_close(guess(word), guessed)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("gooood", "good"), ("GOOOD", "good"), ("sooo", "so"), ("FFFilmmm", "Film"), ("weeell", "well")],
)
def test_a_lengthened_word_is_the_word(word: str, meant: str) -> None:
    assert torch.equal(guess(word), row(meant))


@pytest.mark.parametrize("word", ["1000", "goooodddd", "filmmm", "goodish"])
def test_others_go_by_their_letters(word: str) -> None:
    """A number is not lengthened, and letters are all taken twice or all once; `film` is not `Film` to a vocabulary."""
    assert torch.equal(guess(word), GUESSER([word])[0])


def test_half_of_a_joined_word_are_its_parts() -> None:
    parts = (row("well") + row("made")) / 2
    for word in ("well-made", "well/made", "well\\/made", "-well--made-"):
        surface = word.replace("\\", "")
        torch.testing.assert_close(guess(word), (GUESSER([surface])[0] + parts) / 2)


def test_an_unknown_part_goes_by_its_letters() -> None:
    parts = (row("well") + GUESSER(["meant"])[0]) / 2
    torch.testing.assert_close(guess("well-meant"), (GUESSER(["well-meant"])[0] + parts) / 2)


def test_a_bracket_is_looked_at_as_a_reader_sees_it() -> None:
    assert torch.equal(guess("a-RRB-"), GUESSER(["a)"])[0])


@pytest.mark.parametrize(
    "shapes",
    [((5, 4), (4, 6), (7,)), ((5, 4), (3, 6), (6,)), ((0, 4), (4, 6), (6,)), ((5, 0), (0, 6), (6,))],
)
def test_tensors_that_do_not_fit(shapes: tuple[tuple[int, ...], ...]) -> None:
    """Those of other dimensions are among the tests of saved models."""
    with pytest.raises(ValueError, match="a guesser"):
        VectorGuesser(*map(torch.zeros, shapes))


def test_a_table_and_a_guesser_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="guesses of 5"):
        WordTable(VOCABULARY, VECTORS, make_guesser(5))


def test_negative_numbers_are_guesses() -> None:
    table = WordTable(VOCABULARY, VECTORS, GUESSER)
    guesses = table.guess(["one", "two"])
    found = table(torch.tensor([~1, 2, ~0, 0]), guesses)
    assert torch.equal(found, torch.stack([guesses[1], VECTORS[2], guesses[0], VECTORS[0]]))


def test_training_leaves_a_guesser_alone() -> None:
    table = WordTable(VOCABULARY, VECTORS, GUESSER)
    assert [name for name, _ in table.named_parameters()] == ["vectors"]
    assert not table.guess(["one"]).requires_grad


def test_hashtags_and_pictographs_are_their_words_where_typed_words_are_looked_up() -> None:
    typed = Vocabulary([*VOCABULARY, "thumbs", "up"], "typed")
    vectors = torch.randn(typed.num_rows, WORD_SIZE, generator=torch.Generator().manual_seed(3))

    def typed_guess(word: str) -> torch.Tensor:
        return guess_vectors([word], typed, vectors, GUESSER)[0]

    torch.testing.assert_close(typed_guess("#WellMade"), vectors[[4, 5]].mean(0))
    torch.testing.assert_close(typed_guess("👍🏽"), vectors[[8, 9]].mean(0))
    torch.testing.assert_close(guess("#WellMade"), GUESSER(["#WellMade"])[0])
