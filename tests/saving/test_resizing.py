"""Tables of other sizes: what is kept first, where rows come from, and which vectors may join them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexitree.errors import ConfigError
from lexitree.lexicon.vector_files import build_table, with_length
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.saving.packing import resize_table

SIZE = 20
FILE_WORDS = ("the", "Film", "film", "plot", "dull", "zeal", "-LRB-", "<unk>", "(", "novel")


def make_file(seed: int = 1) -> WordVectors:
    """Vectors of quite different lengths."""
    rng = np.random.default_rng(seed)
    lengths = np.arange(1, len(FILE_WORDS) + 1, dtype=np.float32)[:, None]
    vectors = rng.normal(size=(len(FILE_WORDS), SIZE)).astype(np.float32) * lengths
    return WordVectors(FILE_WORDS, vectors, "file.npz")


def make_table(length: float = 0) -> WordTable:
    """The table of a model that was trained on five words, and has moved two of them."""
    vectors = make_file()
    if length:
        vectors = with_length(vectors, length)
    vocabulary, rows = build_table(WordVectors(FILE_WORDS[:5], vectors.vectors[:5], "file.npz"))
    rows[1:3] += 0.05
    return WordTable(vocabulary, torch.from_numpy(rows))


TRAINED = {"the": 9, "film": 2, "PLOT": 3}
OTHERS = {"novel": 5, "Zeal": 7, "dull": 1, "(": 9, "film": 99}


def row(table: WordTable, word: str) -> torch.Tensor:
    return table.vectors[table.vocabulary.index(word)]


def test_words_of_training_come_first_then_those_of_other_texts() -> None:
    table = resize_table(make_table(), TRAINED, vectors=make_file(), others=OTHERS)
    assert table.vocabulary.words == ("the", "plot", "film", "(", "zeal", "novel", "dull", "Film")


@pytest.mark.parametrize("num_words", [1, 3, 5, 8, 100])
def test_as_many_as_are_wanted(num_words: int) -> None:
    every = resize_table(make_table(), TRAINED, vectors=make_file(), others=OTHERS)
    table = resize_table(make_table(), TRAINED, vectors=make_file(), others=OTHERS, num_words=num_words)
    assert table.vocabulary.words == every.vocabulary.words[:num_words]
    assert torch.equal(table.vectors, every.vectors[: num_words + 1])


@pytest.mark.parametrize("length", [0, 4.0])
def test_rows_are_the_models_and_new_ones_as_training_would_have_them(length: float) -> None:
    old = make_table(length)
    table = resize_table(old, TRAINED, vectors=make_file())
    assert torch.equal(table.vectors[0], old.vectors[0])
    for word in FILE_WORDS[:5]:
        assert torch.equal(row(table, word), row(old, word))
    expected = with_length(make_file(), length) if length else make_file()
    for word in ("zeal", "(", "novel"):
        wanted = torch.from_numpy(expected.vectors[FILE_WORDS.index(word)])
        torch.testing.assert_close(row(table, word), wanted, rtol=0.02, atol=0)


def test_without_vectors_a_table_is_only_cut() -> None:
    table = resize_table(make_table(), TRAINED, num_words=2)
    assert table.vocabulary.words == ("the", "plot")


def test_words_that_nobody_counts_stay_in_their_order() -> None:
    table = resize_table(make_table(), {}, vectors=make_file())
    assert table.vocabulary.words == (*FILE_WORDS[:5], "zeal", "(", "novel")


def test_a_table_of_another_precision() -> None:
    table = resize_table(make_table().double(), TRAINED, vectors=make_file())
    assert table.vectors.dtype == torch.float64


@pytest.mark.parametrize(
    "vectors",
    [
        make_file(seed=2),
        WordVectors(("other",), make_file().vectors[:1], "other.npz"),
        WordVectors(FILE_WORDS, make_file().vectors[:, :5], "short.npz"),
    ],
)
def test_vectors_that_the_model_does_not_know(vectors: WordVectors) -> None:
    with pytest.raises(ConfigError, match=f"not trained with the vectors of {vectors.source}"):
        resize_table(make_table(), TRAINED, vectors=vectors)


def test_a_word_of_zeros_is_no_harm() -> None:
    table = make_table()
    with torch.no_grad():
        table.vectors[1] = 0
    assert resize_table(table, TRAINED, vectors=make_file()).vectors.isfinite().all()


def test_a_table_without_words() -> None:
    empty = WordTable(Vocabulary([]), torch.zeros(1, SIZE))
    assert resize_table(empty, TRAINED).vocabulary.words == ()


def test_words_that_the_table_has_already_are_not_preferred() -> None:
    """A table of an earlier version has words because they were tested on."""
    vectors = make_file()
    tables = []
    for held_out in (FILE_WORDS[-2:], FILE_WORDS[2:4]):
        kept = [place for place, word in enumerate(FILE_WORDS) if word in (*FILE_WORDS[:2], *held_out)]
        words = tuple(FILE_WORDS[place] for place in kept)
        vocabulary, rows = build_table(WordVectors(words, vectors.vectors[kept], "file.npz"))
        tables.append(WordTable(vocabulary, torch.from_numpy(rows)))
    first, second = (
        resize_table(table, {FILE_WORDS[1]: 3}, vectors=vectors, num_words=3) for table in tables
    )
    assert first.vocabulary.words == second.vocabulary.words
    assert torch.equal(first.vectors[1:], second.vectors[1:])
