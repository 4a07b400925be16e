"""How a parser is saved and built again, for `save_model` and `load_model`; its weights are written by torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_files import SAVED_FORM, VECTORS
from lexitree.parsers.saved_parser import Library, read_network
from lexitree.saving.card import Card
from lexitree.saving.model_folder import (
    TRAINED_WORDS_FILE,
    VECTORS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts


def _take_apart(parser: NeuralParser, training: Mapping[str, Any]) -> ModelParts:
    model = parser.model.torch_network("Saving a parser")
    return ModelParts(
        settings=model.config.as_dict(),
        card=_card(model),
        # The vectors have a file of their own, because they are not among the trained weights.
        tensors={WEIGHTS_FILE: model.state_dict(), VECTORS_FILE: {VECTORS: model.vectors}},
        tables=(VECTORS,),
        vocabularies={
            VOCABULARY_FILE: model.features.vector_words,
            TRAINED_WORDS_FILE: model.features.trained_words,
        },
    )


def _card(model: ParserModel) -> Card:
    config = model.config
    return Card(
        title="A constituency parser",
        about="A lexitree parser: it turns the words of a sentence into a Penn tree. A bidirectional LSTM reads the"
        " words, every span gets a score for every label, and the tree with the highest sum is found exactly.",
        facts=[
            f"{len(config.labels)} phrase labels (unary chains are one label), {len(config.tags)} tags",
            f"styles: {', '.join(config.styles) or 'none'}; default: {config.default_style or 'the generic one'}",
            f"{config.layers} LSTM layers of size {config.hidden} in each direction,"
            f" {model.num_parameters():,} trained weights",
            f"{len(model.vectors) - 1:,} fixed word vectors of size {config.vector_size}",
            f"sentences of more than {config.max_words} words are split at punctuation and parsed in pieces",
        ],
        example=[
            "import lexitree",
            "",
            'parser = lexitree.load_parser("path/of/this/parser")',
            'tree = parser.parse(["It", "works", "."])',
        ],
        tags=["constituency-parsing"],
        header={"language": "en"},
    )


def _build(
    folder: ModelFolder,
    device: str | torch.device,
    *,
    style: str | None = None,
    library: Library | None = None,
) -> NeuralParser:
    return NeuralParser(read_network(folder, str(device), library), style=style)


KIND = ModelKind(name=NeuralParser.kind, take_apart=_take_apart, build=_build, table=SAVED_FORM)
