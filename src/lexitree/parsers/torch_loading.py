"""Builds the parser's network in torch: from a model folder, or from the same network over NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lexitree.errors import ModelFileError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.network import ParserModel
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.parser_files import MISMATCH, SAVED_FORM, VECTORS, read_config, read_words
from lexitree.saving.model_folder import VECTORS_FILE, WEIGHTS_FILE, ModelFolder
from lexitree.saving.torch_weights import fill_weights, read_tensors, without_weights

if TYPE_CHECKING:
    from lexitree.parsers.array_network import ArrayParserNetwork


def read_torch_network(folder: ModelFolder, device: str) -> ParserModel:
    """Build the network of a saved parser in torch.

    Raises:
        ModelFileError: The parser is damaged, or its files do not belong together.
    """
    config, words = read_config(folder), read_words(folder)
    weights = read_tensors(folder, WEIGHTS_FILE, form=SAVED_FORM)
    vectors = read_tensors(folder, VECTORS_FILE, form=SAVED_FORM).get(VECTORS)
    if vectors is None or vectors.shape != (words[0].num_rows, config.vector_size):
        raise ModelFileError(folder.path, MISMATCH)
    with folder.must_fit():
        return _build(config, words, weights, vectors).to(device)


def copy_to_torch(network: ArrayParserNetwork) -> ParserModel:
    """Build the same network in torch."""
    words = network.features.vector_words, network.features.trained_words
    # Tensors created in inference mode could not be used in training later.
    with torch.inference_mode(False):
        weights = {name: torch.from_numpy(table.all()) for name, table in network.weights.items()}
        return _build(network.config, words, weights, torch.from_numpy(network.vectors.all())).eval()


def _build(
    config: ParserConfig, words: tuple[Vocabulary, Vocabulary], weights: Mapping[str, Tensor], vectors: Tensor
) -> ParserModel:
    with without_weights():
        model = ParserModel(config, *words)
    fill_weights(model, weights)
    model.set_vectors(vectors)
    return model
