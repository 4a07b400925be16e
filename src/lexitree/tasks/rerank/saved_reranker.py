"""How a reranker is saved, and `load_reranker` to load one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from lexitree.errors import ConfigError
from lexitree.models.catalog import encoder_class
from lexitree.models.word_table import WordTable
from lexitree.saving.card import Card
from lexitree.saving.model_folder import (
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
    fill_weights,
    without_weights,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts
from lexitree.tasks.rerank.model import RerankerModel
from lexitree.tasks.rerank.recipe import RerankerConfig
from lexitree.tasks.rerank.reranker import Reranker


def load_reranker(
    name: str | Path | ModelFolder,
    *,
    device: str | torch.device = "cpu",
    backend: str = "auto",
    base_weight: float | None = None,
) -> Reranker:
    """Load a reranker.

    Args:
        name: A folder, or `owner/name` on the Hugging Face hub.
        device: Where the reranker computes.
        backend: The implementation of the recurrences; see `lexitree.ops`.
        base_weight: The weight of the parser's scores, in place of the saved one.

    Raises:
        ModelFileError: If the reranker is missing, damaged or not a reranker.
    """
    return KIND.load(name, device=device, backend=backend, base_weight=base_weight)


def _take_apart(reranker: Reranker, training: Mapping[str, Any]) -> ModelParts:
    model = reranker.model
    if not isinstance(model.lexicon, WordTable):
        raise ConfigError(f"a reranker with a {type(model.lexicon).__name__} cannot be saved in this format")
    return ModelParts(
        settings=model.config.as_dict(),
        card=_card(model),
        tensors={WEIGHTS_FILE: model.state_dict()},
        tables=("lexicon.vectors",),
        vocabularies={VOCABULARY_FILE: model.lexicon.vocabulary},
    )


def _card(model: RerankerModel) -> Card:
    config, encoder = model.config, encoder_class(model.config.model)
    return Card(
        title=f"A reranker of constituency parses: {encoder.title}",
        about=f"A lexitree reranker: {encoder.about}. It chooses the best of the candidate trees of a parser. The"
        " score of a tree is the probability of the labels of its phrases, given words and shape.",
        facts=[
            f"{len(config.labels)} labels (unary chains are one label), state size {config.hidden}",
            f"{model.num_parameters():,} parameters without the word vectors",
            f"weight of the parser's score: {config.base_weight:g}",
        ],
        example=[
            "import lexitree",
            "",
            'reranker = lexitree.load_reranker("path/of/this/reranker")',
            'for ranked in reranker.rerank_all(lexitree.read_lists("lists.jsonl")):',
            "    print(ranked.best)",
        ],
        tags=["tree-lstm", "constituency-parsing", "reranking"],
        header={"language": "en"},
    )


def _build(
    folder: ModelFolder,
    device: str | torch.device,
    *,
    backend: str = "auto",
    base_weight: float | None = None,
) -> Reranker:
    config = folder.settings(RerankerConfig.from_dict)
    if base_weight is not None:
        config = dataclasses.replace(config, base_weight=base_weight)
    tensors = folder.tensors()
    with folder.must_fit():
        with without_weights():
            model = RerankerModel(config, folder.empty_table(tensors), backend=backend)
        fill_weights(model, tensors)
    return Reranker(model.to(device))


KIND = ModelKind(name="reranker", take_apart=_take_apart, build=_build)
