"""Read the vectors of the wanted words from any supported file, and build a table from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Set
from pathlib import Path

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError, OnError, Place, VectorsError
from lexitree.lexicon.normal_forms import Lookup
from lexitree.lexicon.vector_formats import read_text_rows, read_word2vec_rows
from lexitree.lexicon.vector_npz import read_npz_rows
from lexitree.lexicon.vector_streams import Progress, RowCollector, WordVectors, open_source
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.trees.brackets import surface_form


def read_vectors(
    path: str | Path,
    wanted: Collection[str] | None = None,
    *,
    num_first: int = 0,
    on_error: OnError = "raise",
    dim: int | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Read word vectors from a file.

    The format is given by the name: `.npz` (arrays `words` and `vectors`), `.bin` (word2vec), else text, with one
    word and its numbers per line and an optional first line `count dim`. Text and `.bin` may be compressed (`.gz`, or
    `.zip` with one file in it). Memory holds only what is kept. Rows of other words are only checked for their number
    of fields. Of a word that occurs twice, the first row counts.

    Args:
        path: The file.
        wanted: The words to keep; all by default.
        num_first: The words of this many first rows are kept as well; most files have the most frequent words first.
        on_error: Whether to "raise" at a bad row or to "skip" it; a damaged file is always an error.
        dim: The dimension, if the first lines are misleading, or to choose among the files of a `.zip`.
        progress: Called with the bytes read so far and the total.

    Returns:
        The vectors, with the errors of the rows that were skipped.

    Raises:
        VectorsError: A row is malformed or the file is damaged.
        FileError: The file cannot be read.
        ConfigError: The dimension is not positive.
    """
    if dim is not None and dim < 1:
        raise ConfigError(f"the dimension must be at least 1, not {dim}")
    rows = RowCollector(str(path), wanted, on_error, num_first)
    if str(path).endswith(".npz"):
        return rows.finish(read_npz_rows(path, rows, dim, progress))
    with open_source(path, dim=dim, progress=progress) as source:
        is_word2vec = source.name.removesuffix(".gz").endswith(".bin")
        read_rows = read_word2vec_rows if is_word2vec else read_text_rows
        return rows.finish(read_rows(source, rows, dim))


def wanted_forms(words: Iterable[str]) -> set[str]:
    """Return every form under which the look-up rule may search for these words: as displayed and in lower case."""
    surfaces = {surface_form(word) for word in words}
    return (surfaces | {surface.lower() for surface in surfaces}) - {UNK}


def vectors_for(
    words: Iterable[str],
    path: str | Path,
    *,
    on_error: OnError = "raise",
    dim: int | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Read the vectors that the look-up rule needs for these words (or a `Vocabulary`); see `read_vectors`."""
    return read_vectors(path, wanted_forms(words), on_error=on_error, dim=dim, progress=progress)


def unknown_vector(vectors: WordVectors) -> FloatArray:  # [dim]
    """Return the vector of an unknown word: the mean of all vectors.

    Raises:
        VectorsError: There are no vectors.
    """
    if not len(vectors):
        raise _no_vector(vectors)
    return vectors.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)


def with_length(vectors: WordVectors, length: float) -> WordVectors:
    """Scale all vectors to one length, which depends on their source more than on the word."""
    norms = np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    # Zero vectors have no direction and stay.
    scaled = vectors.vectors * (length / np.where(norms > 0, norms, 1)).astype(np.float32)
    return dataclasses.replace(vectors, vectors=scaled)


def put_first(vectors: WordVectors, words: Set[str]) -> tuple[WordVectors, int]:
    """Put the vectors of some words before all others, each group in the order of the file.

    Returns:
        The vectors in their new order, and how many of them come first.

    Raises:
        VectorsError: None of the words has a vector.
    """
    is_first = np.fromiter((word in words for word in vectors.words), dtype=np.bool_, count=len(vectors))
    if not is_first.any():
        raise _no_vector(vectors)
    order: list[int] = np.argsort(~is_first, kind="stable").tolist()
    sorted_words = tuple(vectors.words[place] for place in order)
    return dataclasses.replace(vectors, words=sorted_words, vectors=vectors.vectors[order]), int(
        is_first.sum()
    )


def _no_vector(vectors: WordVectors) -> VectorsError:
    problem = "none of the requested words has a vector"
    return VectorsError(
        Place(vectors.source), problem, remedy="Are these vectors for the language of the text?"
    )


def build_table(
    vectors: WordVectors, lookup: Lookup = "written"
) -> tuple[Vocabulary, FloatArray]:  # [1 + words, dim]
    """Build a vocabulary and its table: row 0 is the vector of an unknown word, row i + 1 that of word i.

    A row that the file itself calls `<unk>` is dropped: unknown words have the mean, as in the paper.
    """
    if UNK in vectors.words:
        keep = [position for position, word in enumerate(vectors.words) if word != UNK]
        words = tuple(vectors.words[position] for position in keep)
        vectors = WordVectors(words, vectors.vectors[keep], vectors.source, vectors.num_read)
    table = np.empty((1 + len(vectors), vectors.dim), dtype=np.float32)
    table[0] = unknown_vector(vectors)
    table[1:] = vectors.vectors
    return Vocabulary(vectors.words, lookup), table
