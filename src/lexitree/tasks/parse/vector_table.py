"""A file of word vectors in, the table that a parser carries out: fewer words, fewer dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError
from lexitree.lexicon.vectors import read_vectors
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.trees.brackets import surface_form


def reduced_vectors(
    path: Path, counts: Mapping[str, int], *, num_words: int = 0, size: int = 0
) -> tuple[Vocabulary, FloatArray]:  # [1 + words, size]
    """The vectors of a file, centred and of unit variance; row 0, of unknown words, is zero.

    `num_words` are kept (0: all), those of training words (`counts`) first; `size` principal components (0: all
    dimensions as they are).
    """
    vectors = read_vectors(path)
    # A word that is never looked up as it is written, such as -LRB-, would be kept for nothing.
    reachable = [row for row, word in enumerate(vectors.words) if word != UNK and surface_form(word) == word]
    ranked = sorted(reachable, key=lambda row: -_count(vectors.words[row], counts))
    kept = ranked[: num_words or len(ranked)]
    table = _reduce(vectors.vectors[kept], size)
    words = Vocabulary(vectors.words[row] for row in kept)
    return words, np.concatenate([np.zeros((1, table.shape[1]), np.float32), table])


def _count(word: str, counts: Mapping[str, int]) -> int:
    return counts.get(word, 0)


def _reduce(vectors: FloatArray, size: int) -> FloatArray:
    if size > vectors.shape[1]:
        raise ConfigError(
            f"the vectors have {vectors.shape[1]} dimensions, fewer than {size}",
            remedy="Set vector_size to that number or less.",
        )
    centred = vectors - vectors.mean(0, dtype=np.float64).astype(np.float32)
    if size:
        covariance = centred.T.astype(np.float64) @ centred
        _, directions = np.linalg.eigh(covariance)
        centred = centred @ _with_sign(directions[:, ::-1][:, :size]).astype(np.float32)
    return centred / max(float(centred.std()), 1e-8)


def _with_sign(directions: np.ndarray) -> np.ndarray:
    """A direction and its opposite are one to the mathematics: take the one whose largest number is positive."""
    largest = np.abs(directions).argmax(0)
    return directions * np.sign(directions[largest, np.arange(directions.shape[1])])
