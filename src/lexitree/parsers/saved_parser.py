"""How a parser is saved, and `load_parser` to load one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from lexitree.errors import ModelFileError
from lexitree.parsers.network import ParserConfig, ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.saving.card import Card
from lexitree.saving.model_folder import (
    TRAINED_WORDS_FILE,
    VECTORS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts
from lexitree.saving.torch_weights import fill_weights, read_tensors, without_weights

_VECTORS = "vectors"


def load_parser(
    name: str | Path | ModelFolder, *, device: str | torch.device = "auto", style: str | None = None
) -> NeuralParser:
    """Load a parser.

    Args:
        name: `"parser"` for the one that comes with the package, a folder, or `owner/name` on the Hugging Face hub.
        device: Where the parser computes; `auto` is a GPU if there is one.
        style: The treebank whose conventions it follows; by default the one chosen in training.

    Raises:
        ModelFileError: If the parser is missing, damaged or not a parser.
        ConfigError: If the parser does not know the style.
    """
    return KIND.load(name, device=device, style=style)


def _take_apart(parser: NeuralParser, training: Mapping[str, Any]) -> ModelParts:
    model = parser.model
    return ModelParts(
        settings=model.config.as_dict(),
        card=_card(model),
        # The vectors have a file of their own, because they are not among the trained weights.
        tensors={WEIGHTS_FILE: model.state_dict(), VECTORS_FILE: {_VECTORS: model.vectors}},
        tables=(_VECTORS,),
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


def _build(folder: ModelFolder, device: str | torch.device, *, style: str | None = None) -> NeuralParser:
    config = folder.settings(ParserConfig.from_dict)
    vocabularies = [folder.vocabulary(name) for name in (VOCABULARY_FILE, TRAINED_WORDS_FILE)]
    weights = read_tensors(folder, WEIGHTS_FILE, form=KIND.table)
    vectors = read_tensors(folder, VECTORS_FILE, form=KIND.table).get(_VECTORS)
    with without_weights():
        model = ParserModel(config, *vocabularies)
    if vectors is None or vectors.shape != model.vectors.shape:
        raise ModelFileError(folder.path, f"{VECTORS_FILE} and {VOCABULARY_FILE} do not belong together")
    with folder.must_fit():
        fill_weights(model, weights)
    model.set_vectors(vectors)
    return NeuralParser(model.to(device), style=style)


KIND = ModelKind(name="parser", take_apart=_take_apart, build=_build, table="float16")
