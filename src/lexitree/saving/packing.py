"""A trained model in, the same with the words of a language instead of a corpus out, to be used on any text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from lexitree.errors import ConfigError
from lexitree.lexicon.vector_rows import WordVectors
from lexitree.lexicon.vectors import with_length
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.guesses import fit_guesser
from lexitree.models.word_table import WordTable
from lexitree.trees.brackets import surface_form

LEAST_SIMILARITY = 0.5
"""Training moves a vector little: those of one word that are less alike on average are of different origin."""


def resize_table(
    table: WordTable,
    trained: Mapping[str, int],
    *,
    num_words: int = 0,
    vectors: WordVectors | None = None,
    others: Mapping[str, int] | None = None,
) -> WordTable:
    """A table of `num_words` words (0: all there are), for a model that is to read other texts than its corpus.

    The rows that the training sentences use come first (`trained`: their words with counts), then those that other
    texts use (`others`), then the rest, each the most used first. Words that only the vectors have are among them;
    their vectors are given the length that training gave to the table's. A guesser is not taken over: it was fitted
    to another table.
    """
    new = None if vectors is None else _new_words(table, _as_trained(table, vectors))
    words = [*table.vocabulary, *(new.words if new else ())]
    rows = table.vectors.detach().cpu()
    known = rows[1:] if new is None else torch.cat([rows[1:], torch.from_numpy(new.vectors).to(rows.dtype)])
    every = Vocabulary(words)
    # Stable, so that words nobody has counted stay in their order: the table's own, then the file's.
    order: list[int] = np.lexsort((-_uses(every, others or {}), -_uses(every, trained))).tolist()
    kept = order[: num_words or len(order)]
    return WordTable(Vocabulary(words[place] for place in kept), torch.cat([rows[:1], known[kept]]))


def _uses(vocabulary: Vocabulary, counts: Mapping[str, int]) -> npt.NDArray[np.int64]:  # [words]
    """How often each word is what a counted word is looked up as."""
    uses = np.zeros(vocabulary.num_rows, dtype=np.int64)
    np.add.at(uses, vocabulary.indices(tuple(counts)), [*counts.values()])
    return uses[1:]


def _new_words(table: WordTable, vectors: WordVectors) -> WordVectors:
    """Those that the table lacks; one that is looked up under another form, such as -LRB-, would never be found."""
    new = [
        place
        for place, word in enumerate(vectors.words)
        if word not in table.vocabulary and word != UNK and surface_form(word) == word
    ]
    words = tuple(vectors.words[place] for place in new)
    return dataclasses.replace(vectors, words=words, vectors=vectors.vectors[new])


def _as_trained(table: WordTable, vectors: WordVectors) -> WordVectors:
    """The vectors of a file as the table's were before training, which may have scaled them all to one length.

    That can be told from the words that both have: either their own lengths have hardly changed, or they are about
    the same for all words.
    """
    place_of = {word: place for place, word in enumerate(vectors.words)}
    shared = [(row, place_of[word]) for row, word in enumerate(table.vocabulary, 1) if word in place_of]
    if vectors.dim != table.word_size or not shared:
        raise _other_vectors(vectors)
    rows, places = map(list, zip(*shared, strict=True))
    ours, theirs = table.vectors.detach().float().cpu().numpy()[rows], vectors.vectors[places]
    our_length, their_length = (np.linalg.norm(each, axis=1).clip(1e-8) for each in (ours, theirs))
    if np.mean((ours * theirs).sum(1) / (our_length * their_length)) < LEAST_SIMILARITY:
        raise _other_vectors(vectors)
    length = np.median(our_length)
    is_scaled = np.median(abs(our_length / length - 1)) < np.median(abs(our_length / their_length - 1))
    return with_length(vectors, float(length)) if is_scaled else vectors


def _other_vectors(vectors: WordVectors) -> ConfigError:
    return ConfigError(
        f"the model was not trained with the vectors of {vectors.source}",
        remedy="Give the file that its training began with: other vectors would mean nothing to it.",
    )


MAX_FITTED = 100_000


@dataclass(frozen=True, slots=True)
class PackedWords:
    """What has become of a model's words."""

    num_words: int
    num_added: int
    """How many of them are new to the model."""
    similarity: float | None
    """The mean cosine of guessed and true vectors, for words held out; None where nothing is guessed ..."""
    mean_similarity: float | None
    """... and that of the vector which an unknown word would have otherwise."""


def pack_model(
    model: TreeClassifier,
    trained: Mapping[str, int],
    *,
    num_words: int = 0,
    vectors: WordVectors | None = None,
    others: Mapping[str, int] | None = None,
    guess: bool = True,
) -> PackedWords:
    """Give a model a table of `num_words` words (see `resize_table`) and, with `guess`, guesses for all others.

    Guesses are fitted to all words there are, also to those that the table has no room for, or to the first 100,000:
    more would take long and teach little.
    """
    old = model.lexicon
    if not isinstance(old, WordTable):
        raise ConfigError(
            f"a model with a {type(old).__name__} has no table of words of its own to be packed",
            remedy="A transformer has pieces for all words. To write weights with fewer bytes, save the model with"
            ' table="float16".',
        )
    every = resize_table(old, trained, vectors=vectors, others=others)
    words = every.vocabulary.words
    fitted = fit_guesser(words[:MAX_FITTED], every.vectors[1 : 1 + MAX_FITTED]) if guess else None
    table = resize_table(every, trained, others=others, num_words=num_words)
    table.guesser = fitted.guesser if fitted else None
    model.lexicon = table.to(model.device)
    return PackedWords(
        len(table.vocabulary),
        sum(word not in old.vocabulary for word in table.vocabulary),
        fitted.similarity if fitted else None,
        fitted.mean_similarity if fitted else None,
    )
