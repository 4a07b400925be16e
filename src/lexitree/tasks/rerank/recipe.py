"""Recipes for rerankers: everything that determines a training run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from lexitree.settings import Setting, Settings
from lexitree.tasks.rerank.config import OTHER_LABEL, RerankerConfig, RerankTraining
from lexitree.trees.binarize import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRecipe(Settings):
    """What to train on what, in plain values that can be stored, compared and sent to other processes."""

    lists: Annotated[
        tuple[str, ...], Setting("Files of lists to train on, by path or below the data folder.")
    ] = ()
    dev: Annotated[
        tuple[str, ...], Setting("Files of lists for development; default: some training lists are held out.")
    ] = ()
    test: Annotated[tuple[str, ...], Setting("Files of lists to score the trained reranker on.")] = ()
    held_out: Annotated[
        float,
        Setting(
            "Share of the training lists held out for development, if no files are given for it.",
            at_least=0,
            below=1,
        ),
    ] = 0.1
    vectors: Annotated[
        str | None, Setting("File of word vectors, by path or below the data folder; default: random.")
    ] = None
    all_vectors: Annotated[
        bool, Setting("Keep the vectors of words outside the lists: larger, but better on other texts.")
    ] = False
    vector_length: Annotated[
        float, Setting("Scale all vectors to this length; 0 leaves them as they are.", at_least=0, below=1e3)
    ] = 0.0
    min_count: Annotated[
        int, Setting("Without vectors: rarer training words count as unknown.", at_least=1)
    ] = 2
    model: Annotated[
        Mapping[str, Any],
        Setting("Shape of the model.", table=RerankerConfig, derived=("labels", "word_size", "base_weight")),
    ] = field(default_factory=dict[str, Any])
    training: Annotated[RerankTraining, Setting("How to train.")] = field(default_factory=RerankTraining)

    @property
    def direction(self) -> Direction:
        """How phrases of three and more children are split."""
        return RerankerConfig.from_dict({**self.model, "labels": (OTHER_LABEL,)}).binarization

    def with_seed(self, seed: int) -> RerankRecipe:
        """The same recipe with another seed."""
        return dataclasses.replace(self, training=dataclasses.replace(self.training, seed=seed))
