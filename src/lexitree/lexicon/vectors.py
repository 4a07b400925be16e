"""A file of word vectors in (GloVe, fastText, word2vec, .npz), the vectors of the wanted words out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError, OnError, Place, VectorsError
from lexitree.lexicon.vector_formats import read_text_rows, read_word2vec_rows
from lexitree.lexicon.vector_npz import read_npz_rows
from lexitree.lexicon.vector_rows import RowCollector, WordVectors
from lexitree.lexicon.vector_sources import Progress, open_source
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.trees.brackets import surface_form


def read_vectors(
    path: str | Path,
    wanted: Collection[str] | None = None,
    *,
    on_error: OnError = "raise",
    dim: int | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Read the vectors of the wanted words (of all words by default); memory holds only what is kept.

    The name tells the format: `.npz` (arrays `words` and `vectors`), `.bin` (word2vec), else it is text,
    one word and its numbers a line, with or without a first line `count dim`. Text and `.bin` may be packed
    (`.gz`, or `.zip` with one file in it). Rows of other words are only checked for their number of fields.
    Of a word that occurs twice the first row counts.

    With `on_error="skip"` bad rows are left out and noted in `errors`; a damaged file is an error even then.
    `dim` is needed only where the first lines mislead, or to choose among the files of a `.zip`. `progress`
    is called with the bytes read so far and in all.
    """
    if dim is not None and dim < 1:
        raise ConfigError(f"a vector has at least one number, not {dim}")
    rows = RowCollector(str(path), wanted, on_error)
    if str(path).endswith(".npz"):
        return rows.finish(read_npz_rows(path, rows, dim, progress))
    with open_source(path, dim=dim, progress=progress) as source:
        is_word2vec = source.name.removesuffix(".gz").endswith(".bin")
        read_rows = read_word2vec_rows if is_word2vec else read_text_rows
        return rows.finish(read_rows(source, rows, dim))


def wanted_forms(words: Iterable[str]) -> set[str]:
    """Every form under which the look-up rule may ask for these words: the surface form and in lower case."""
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
    """The vectors that the look-up rule needs for these words (or a `Vocabulary`); see `read_vectors`."""
    return read_vectors(path, wanted_forms(words), on_error=on_error, dim=dim, progress=progress)


def unknown_vector(vectors: WordVectors) -> FloatArray:  # [dim]
    """The vector of an unknown word: the mean of the vectors at hand."""
    if not len(vectors):
        problem = "not one of the words asked for has a vector here"
        raise VectorsError(Place(vectors.source), problem, remedy="Are these vectors of the text's language?")
    return vectors.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)


def with_length(vectors: WordVectors, length: float) -> WordVectors:
    """The same directions, all of one length: how long a vector is says more of its source than of its word."""
    norms = np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    # A vector of zeros has no direction and stays.
    scaled = vectors.vectors * (length / np.where(norms > 0, norms, 1)).astype(np.float32)
    return dataclasses.replace(vectors, vectors=scaled)


def build_table(vectors: WordVectors) -> tuple[Vocabulary, FloatArray]:  # [1 + words, dim]
    """A vocabulary and its table: row 0 is the unknown word's vector, row i + 1 that of word i.

    A row that the file itself calls `<unk>` is left out: an unknown word has the mean, as in the paper.
    """
    if UNK in vectors.words:
        keep = [position for position, word in enumerate(vectors.words) if word != UNK]
        words = tuple(vectors.words[position] for position in keep)
        vectors = WordVectors(words, vectors.vectors[keep], vectors.source, vectors.num_read)
    table = np.empty((1 + len(vectors), vectors.dim), dtype=np.float32)
    table[0] = unknown_vector(vectors)
    table[1:] = vectors.vectors
    return Vocabulary(vectors.words), table
