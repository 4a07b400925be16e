"""Adds vectors of other words to a file: from what a transformer makes of them, or from the words they are made of.

A transformer reads any spelling, web words such as `omg` and `yummy` among them, but its vectors lie in another space
than those of the file. A linear map, fitted to words that the file has, takes them into the space of the file.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from lexitree.arrays import DoubleArray, FloatArray
from lexitree.errors import ConfigError
from lexitree.lexicon.normal_forms import STAND_INS, Lookup, is_lengthened, plain_form
from lexitree.lexicon.vector_files import with_length
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.lexicon.word_parts import typed_parts
from lexitree.trees.brackets import surface_form

WordFeatures = Callable[[Sequence[str]], FloatArray]
"""Gives each word the numbers that its vector is predicted from."""

_RIDGE = 0.1
"""How strongly the map is held back, as a share of the mean variance of its inputs."""
_HELD_OUT = 0.03
_LEAST_FITTED = 20
_MOST_FITTED = 15_000
"""A transformer takes a minute to read so many words; more teach the map little."""
_LENGTH = 6.0
_DECIMALS = 2
"""At this length, rounding turns a vector of 300 numbers by less than a degree, and halves the compressed file."""
_LONGEST = 32
"""Longer words are addresses, or several words."""


class LinearMap(NamedTuple):
    """A linear map from one space of vectors to another, and how well it does."""

    weights: FloatArray
    """[inputs + 1, outputs]: the last row is added to every output."""
    similarity: float
    """The mean cosine of mapped and true vectors, of words that it was not fitted to."""

    def __call__(self, inputs: FloatArray) -> FloatArray:
        return inputs @ self.weights[:-1] + self.weights[-1]


def fit_map(inputs: FloatArray, outputs: FloatArray, *, seed: int = 1) -> LinearMap:
    """Fit a linear map by ridge regression; a few words are held out to tell how good it is."""
    if len(inputs) < _LEAST_FITTED:
        raise ConfigError(
            f"only {len(inputs)} words of the vectors can be compared with the transformer",
            remedy="Give a file with the vectors of more words.",
        )
    order = np.random.default_rng(seed).permutation(len(inputs))
    num_apart = max(1, int(_HELD_OUT * len(inputs)))
    apart, fitted = order[:num_apart], order[num_apart:]
    found = LinearMap(_ridge(inputs[fitted], outputs[fitted]), 0.0)
    return found._replace(similarity=float(cosines(found(inputs[apart]), outputs[apart]).mean()))


def _ridge(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    centre, target = inputs.mean(0), outputs.mean(0)
    x = (inputs - centre).astype(np.float64)
    gram = x.T @ x
    gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
    weights = cast(DoubleArray, np.linalg.solve(gram, x.T @ (outputs - target)))
    return np.vstack([weights, target - centre @ weights]).astype(np.float32)


def cosines(found: FloatArray, expected: FloatArray) -> npt.NDArray[np.floating]:
    """The cosine of each pair of rows."""
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    return (found * expected).sum(1) / np.where(lengths > 0, lengths, 1)


class ExtendedVectors(NamedTuple):
    """The vectors of a file with those of other words, and where the new ones come from."""

    vectors: WordVectors
    num_mapped: int
    """How many are mapped from a transformer's vectors ..."""
    num_composed: int
    """... and how many are made of the words of a hashtag or of an emoji's name."""
    similarity: float
    """The mean cosine of mapped and true vectors, of held-out words of the file."""


def extend_vectors(
    vectors: WordVectors,
    counts: Mapping[str, int],
    features: WordFeatures,
    *,
    lookup: Lookup = "folded",
    min_count: int = 2,
    more: Iterable[str] = (),
) -> ExtendedVectors:
    """Add the words of some texts, and what normal forms are looked up as, to a file of vectors.

    All vectors are scaled to one length. Lengthened words are not added, since they are looked up as what they
    lengthen, nor are emoticons, which are looked up as emoji.

    Args:
        vectors: The vectors of the file.
        counts: The words of the texts, with how often they occur.
        features: Gives what a transformer makes of each word.
        lookup: How words will be looked up; rows that this look-up never finds are left out.
        min_count: Rarer words are not added if they are always capitalized, as names are; all others are.
        more: Other words to add, such as those that the transformer has as one piece.

    Returns:
        The vectors: those of the file first, in its order, then the new ones.
    """
    vectors = with_length(_reachable(vectors, lookup), _LENGTH)
    known = Vocabulary(vectors.words, lookup)
    mapped, composed = _missing_words(known, counts, min_count, more)
    rows = dict(_composed(composed, known, vectors.vectors))
    fitted = _words_to_fit(vectors.words)
    linear = fit_map(features(fitted), vectors.vectors[[known.index(word) - 1 for word in fitted]])
    new = np.vstack([linear(features(mapped)), *(row[None] for row in rows.values())])
    extended = WordVectors(
        (*vectors.words, *mapped, *rows),
        np.vstack([vectors.vectors, new]).astype(np.float32),
        vectors.source,
        vectors.num_read,
    )
    scaled = with_length(extended, _LENGTH)
    rounded = dataclasses.replace(scaled, vectors=scaled.vectors.round(_DECIMALS))
    return ExtendedVectors(rounded, len(mapped), len(rows), linear.similarity)


def _words_to_fit(words: Sequence[str]) -> list[str]:
    """Words in lower case, drawn by a seed if there are many."""
    plain = [word for word in words if word.isalpha() and len(word) > 1 and word == word.lower()]
    return random.Random(1).sample(plain, _MOST_FITTED) if len(plain) > _MOST_FITTED else plain


def _reachable(vectors: WordVectors, lookup: Lookup) -> WordVectors:
    """Without the rows that the look-up never finds, such as `Film` beside `film` when capitals are folded."""
    known = Vocabulary((word for word in vectors.words if word != UNK), lookup)
    kept = [
        place
        for place, word in enumerate(vectors.words)
        if word != UNK and known.word(known.index(word)) == word
    ]
    words = tuple(vectors.words[place] for place in kept)
    return dataclasses.replace(vectors, words=words, vectors=vectors.vectors[kept])


def _missing_words(
    known: Vocabulary, counts: Mapping[str, int], min_count: int, more: Iterable[str]
) -> tuple[list[str], list[str]]:
    """The words that have no vector: those to be mapped, and those made of other words."""
    composed = [word for word in STAND_INS if word not in known]
    found = known.with_words([*known, *composed])
    missing: Counter[str] = Counter()
    for written, count in counts.items():
        surface = surface_form(written)
        word = plain_form(surface)
        if not found.index(word) and len(word) <= _LONGEST and not is_lengthened(word) and word != UNK:
            missing[word] += count if surface != word else max(count, min_count)
    mapped: list[str] = []
    for word, count in sorted(missing.items(), key=lambda item: (-item[1], item[0])):
        if typed_parts(word, known.index).is_all:
            composed.append(word)
        elif count >= min_count and any(map(str.isalpha, word)):
            mapped.append(word)
    mapped += [word for word in dict.fromkeys(more) if word not in missing and not found.index(word)]
    return mapped, composed


def _composed(words: Sequence[str], known: Vocabulary, rows: FloatArray) -> Iterable[tuple[str, FloatArray]]:
    """The mean vector of the known words that each word is made of, if there are any."""
    for word in words:
        parts = STAND_INS.get(word, "").split() or typed_parts(word, known.index).words
        places = [row - 1 for row in map(known.index, parts) if row]
        if places:
            yield word, rows[places].mean(0)
