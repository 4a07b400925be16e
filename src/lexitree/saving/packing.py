"""Makes trained models ready to ship (any vocabulary, fewer bytes, other answers) and lists the shipped ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError
from lexitree.lexicon.vector_files import with_length
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.guesses import fit_guesser
from lexitree.models.transformer import TransformerLexicon, table_of
from lexitree.models.word_table import WordTable
from lexitree.saving import shipped
from lexitree.saving.model_kinds import write_model
from lexitree.saving.pretrained import KIND
from lexitree.trees.brackets import surface_form

_LEAST_SIMILARITY = 0.5
"""Training moves vectors only a little: with a lower mean cosine, the vectors come from another file."""

_MAX_FITTED = 100_000
"""Guesses are fitted to at most this many words; more would take long and teach little."""


def resize_table(
    table: WordTable,
    trained: Mapping[str, int],
    *,
    num_words: int = 0,
    vectors: WordVectors | None = None,
    others: Mapping[str, int] | None = None,
) -> WordTable:
    """Make a larger or smaller table, for a model that is to read texts other than its corpus.

    Words of the training data come first, then those of other texts, each the most frequent first, then the rest in
    the order of the file, or of the table where no file is given. It does not count whether the table has a word
    already: a table may have words because they were in texts that the model was scored on. New vectors are scaled as
    training scaled the table's own. The guesser is dropped, because it was fitted to another table.

    Args:
        table: The table of the model.
        trained: The words of the training data, with counts.
        num_words: The number of words to keep; 0 keeps all.
        vectors: The file that the table's vectors came from, whose other words are added.
        others: The words of other texts, with counts.

    Raises:
        ConfigError: If the model was not trained with these vectors.
    """
    new = None if vectors is None else _new_words(table, _as_trained(table, vectors))
    words = [*table.vocabulary, *(new.words if new else ())]
    rows = table.rows().cpu()
    known = rows[1:] if new is None else torch.cat([rows[1:], torch.from_numpy(new.vectors).to(rows.dtype)])
    every = table.vocabulary.with_words(words)
    order: list[int] = np.lexsort(
        (_places(words, vectors), -_uses(every, others or {}), -_uses(every, trained))
    ).tolist()
    kept = order[: num_words or len(order)]
    vocabulary = every.with_words(words[place] for place in kept)
    return WordTable(vocabulary, torch.cat([rows[:1], known[kept]]))


def _places(words: Sequence[str], vectors: WordVectors | None) -> npt.NDArray[np.int64]:  # [words]
    """Where the words stand in the file; the same for all if there is none, so that a stable sort leaves them."""
    place_of = {word: place for place, word in enumerate(vectors.words)} if vectors else {}
    return np.array([place_of.get(word, -1) for word in words], dtype=np.int64)


def _uses(vocabulary: Vocabulary, counts: Mapping[str, int]) -> npt.NDArray[np.int64]:  # [words]
    """How often each word of the vocabulary is found when the counted words are looked up."""
    uses = np.zeros(vocabulary.num_rows, dtype=np.int64)
    np.add.at(uses, vocabulary.indices(tuple(counts)), [*counts.values()])
    return uses[1:]


def _new_words(table: WordTable, vectors: WordVectors) -> WordVectors:
    """The vectors of words that the table lacks, except for spellings that are never looked up, such as -LRB-."""
    new = [
        place
        for place, word in enumerate(vectors.words)
        if word not in table.vocabulary and word != UNK and surface_form(word) == word
    ]
    words = tuple(vectors.words[place] for place in new)
    return dataclasses.replace(vectors, words=words, vectors=vectors.vectors[new])


def _as_trained(table: WordTable, vectors: WordVectors) -> WordVectors:
    """Scale the vectors of a file as the table's were scaled before training: all to one length, or not at all.

    The words that both have tell which: the lengths in the table are close to those in the file, or to each other.
    """
    place_of = {word: place for place, word in enumerate(vectors.words)}
    shared = [(row, place_of[word]) for row, word in enumerate(table.vocabulary, 1) if word in place_of]
    if vectors.dim != table.word_size or not shared:
        raise _other_vectors(vectors)
    rows, places = map(list, zip(*shared, strict=True))
    ours, theirs = table.rows().float().cpu().numpy()[rows], vectors.vectors[places]
    our_length, their_length = (np.linalg.norm(each, axis=1).clip(1e-8) for each in (ours, theirs))
    if np.mean((ours * theirs).sum(1) / (our_length * their_length)) < _LEAST_SIMILARITY:
        raise _other_vectors(vectors)
    length = np.median(our_length)
    is_scaled = np.median(abs(our_length / length - 1)) < np.median(abs(our_length / their_length - 1))
    return with_length(vectors, float(length)) if is_scaled else vectors


def _other_vectors(vectors: WordVectors) -> ConfigError:
    return ConfigError(
        f"the model was not trained with the vectors of {vectors.source}",
        remedy="Give the file of word vectors that the model was trained with.",
    )


@dataclass(frozen=True, slots=True)
class PackedWords:
    """The words of a packed model."""

    num_words: int
    num_added: int
    """How many of them the model did not have before."""
    similarity: float | None
    """The mean cosine of guessed and true vectors on held-out words; None without guesses."""
    mean_similarity: float | None
    """The same for the vector that unknown words would have without guesses."""


def pack_model(
    model: TreeClassifier,
    trained: Mapping[str, int],
    *,
    num_words: int = 0,
    vectors: WordVectors | None = None,
    others: Mapping[str, int] | None = None,
    guess: bool = True,
) -> PackedWords:
    """Give a model another vocabulary, and guesses for the vectors of all other words.

    Beside a transformer, which reads every word in pieces, no vectors are guessed.

    Args:
        model: The model, which is changed in place.
        trained: The words of the training data, with counts.
        num_words: The size of the vocabulary; 0 keeps all words.
        vectors: The file that the model's vectors came from, whose other words are added.
        others: The words of other texts, with counts.
        guess: Whether to guess the vectors of unknown words from their letters and parts.

    Raises:
        ConfigError: If the model has no table of words, or was not trained with these vectors.
    """
    lexicon, old = model.lexicon, table_of(model.lexicon)
    if old is None:
        raise ConfigError(
            f"a model with a {type(lexicon).__name__} has no table of words of its own to change",
            remedy="A transformer reads all words in pieces; omit what changes words.",
        )
    guess = guess and lexicon is old
    every = resize_table(old, trained, vectors=vectors, others=others)
    words = every.vocabulary.words
    fitted = fit_guesser(words[:_MAX_FITTED], every.vectors[1 : 1 + _MAX_FITTED]) if guess else None
    table = resize_table(every, trained, others=others, num_words=num_words)
    table.guesser = fitted.guesser if fitted else None
    if isinstance(lexicon, TransformerLexicon):
        lexicon.table = table.to(model.device)
    else:
        model.lexicon = table.to(model.device)
    return PackedWords(
        len(table.vocabulary),
        sum(word not in old.vocabulary for word in table.vocabulary),
        fitted.similarity if fitted else None,
        fitted.mean_similarity if fitted else None,
    )


def with_answers_of(model: TreeClassifier, corpus: Corpus) -> None:
    """Let a model answer with the labels of a corpus, which its own labels count for: two sentiments for five.

    Args:
        model: The model, which is changed in place.
        corpus: A corpus whose finer labels are those of the model.

    Raises:
        ConfigError: If the labels of the model are not the finer labels of the corpus.
    """
    trained = model.config.label_set.trained_ids
    if tuple(corpus.label_set.finer) != trained:
        raise ConfigError(
            f"the model's labels ({', '.join(trained)}) are not those that count for the answers"
            f" of {corpus.name} ({', '.join(corpus.label_set.finer) or 'none'})"
        )
    model.config = dataclasses.replace(model.config, **corpus.label_set.as_dict())


def save_answers(model: TreeClassifier, weights_of: str, name: str, training: Mapping[str, Any]) -> Path:
    """Write a shipped model that uses the weights of another and differs only in its answers.

    Args:
        model: The model with its new answers; see `with_answers_of`.
        weights_of: The shipped model whose weights it uses.
        name: Its own name among the shipped models.
        training: The training record.
    """
    if weights_of not in shipped.NAMES or name not in shipped.NAMES or name == weights_of:
        raise ConfigError(f"{name} cannot use the weights of {weights_of}: both must be shipped models")
    parts = KIND.take_apart(model, training)
    return write_model(KIND.name, parts, shipped.FOLDER / name, training, weights_of=weights_of)
