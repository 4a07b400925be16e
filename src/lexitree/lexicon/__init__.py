"""Words and word vectors: vocabularies with the paper's look-up rule, and vector files read as a stream."""

from lexitree.lexicon.vector_npz import write_vectors_npz
from lexitree.lexicon.vector_rows import WordVectors
from lexitree.lexicon.vectors import build_table, read_vectors, unknown_vector, vectors_for, wanted_forms
from lexitree.lexicon.vocabulary import (
    UNK,
    UNK_INDEX,
    CoverageReport,
    LookupCounts,
    Vocabulary,
    count_words,
    coverage,
)

__all__ = [
    "UNK",
    "UNK_INDEX",
    "CoverageReport",
    "LookupCounts",
    "Vocabulary",
    "WordVectors",
    "build_table",
    "count_words",
    "coverage",
    "read_vectors",
    "unknown_vector",
    "vectors_for",
    "wanted_forms",
    "write_vectors_npz",
]
