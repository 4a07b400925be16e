"""A trained model in, the same with the words of a language instead of a corpus out, to be used on any text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lexitree.errors import ConfigError
from lexitree.lexicon.guess_fitting import fit_guesser
from lexitree.lexicon.resizing import resize_table
from lexitree.lexicon.table import WordTable
from lexitree.lexicon.vector_rows import WordVectors
from lexitree.models.classifier import TreeClassifier

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
