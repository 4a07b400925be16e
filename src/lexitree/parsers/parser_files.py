"""What the folder of a saved parser holds: settings, words, weights and fixed vectors."""

from __future__ import annotations

from lexitree.errors import ModelFileError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.array_network import ArrayParserNetwork
from lexitree.parsers.parser_config import ParserConfig
from lexitree.saving.model_folder import (
    TRAINED_WORDS_FILE,
    VECTORS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
)
from lexitree.saving.stored_arrays import TableForm

VECTORS = "vectors"
"""The name of the fixed vectors in their file."""
SAVED_FORM: TableForm = "float16"
"""How the weights of a parser are written unless asked otherwise."""
MISMATCH = f"{VECTORS_FILE} and {VOCABULARY_FILE} do not belong together"


def read_config(folder: ModelFolder) -> ParserConfig:
    """Read the settings of a saved parser."""
    return folder.settings(ParserConfig.from_dict)


def read_words(folder: ModelFolder) -> tuple[Vocabulary, Vocabulary]:
    """Read the words of a saved parser: those with fixed vectors, and those with trained ones."""
    return folder.vocabulary(VOCABULARY_FILE), folder.vocabulary(TRAINED_WORDS_FILE)


def read_array_network(folder: ModelFolder) -> ArrayParserNetwork:
    """Build the network of a saved parser over NumPy arrays.

    Raises:
        ModelFileError: The parser is damaged, or its files do not belong together.
    """
    config, words = read_config(folder), read_words(folder)
    weights = folder.tables(WEIGHTS_FILE, form=SAVED_FORM)
    vectors = folder.tables(VECTORS_FILE, form=SAVED_FORM).get(VECTORS)
    if vectors is None or vectors.shape != (words[0].num_rows, config.vector_size):
        raise ModelFileError(folder.path, MISMATCH)
    with folder.must_fit():
        return ArrayParserNetwork(config, *words, weights, vectors)
