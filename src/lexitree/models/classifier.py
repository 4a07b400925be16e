"""The whole model: a batch of trees in, label scores and head words for its nodes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.batch import NO_INDEX, TreeBatch
from lexitree.corpora.corpus import Supervision
from lexitree.errors import ConfigError, TreeError
from lexitree.examples import Example, make_examples
from lexitree.lexicon.table import Lexicon
from lexitree.models.cells import LabelScorer
from lexitree.models.config import ModelConfig
from lexitree.models.head_words import HeadWords, find_head_words
from lexitree.models.registry import encoder_class
from lexitree.ops.backends import get_backend
from lexitree.trees.tree import Tree


class TreeClassifier(nn.Module):
    """A lexicon, an encoder over trees, and a scorer that gives every node a score for each label."""

    def __init__(self, config: ModelConfig, lexicon: Lexicon, *, backend: str = "auto") -> None:
        super().__init__()
        if lexicon.word_size != config.word_size:
            raise ConfigError(
                f"the word vectors have {lexicon.word_size} dimensions, the model expects {config.word_size}",
                remedy=f"Set the word size to {lexicon.word_size}.",
            )
        self.config = config
        self.training_record: dict[str, Any] = {}
        """What is known of its training (data, scores, settings), for a model that was loaded."""
        self.backend = get_backend(backend)
        self.lexicon = lexicon
        self.encoder = encoder_class(config.model)(config)
        self.scorer = LabelScorer(
            self.encoder.num_features, config.output, config.num_labels, bias_init=config.bias_init
        )

    @property
    def device(self) -> torch.device:
        return self.scorer.label_bias.device

    def forward(
        self, batch: TreeBatch, nodes: Int[Tensor, " asked"] | None = None
    ) -> Float[Tensor, "asked labels"]:
        """The label scores of the given nodes, or of all nodes in the batch's up order."""
        if not batch.is_binary:
            raise TreeError(
                "the model reads binary trees", remedy="Prepare them with make_example or to_binary."
            )
        return self._score(self._input_vectors(batch), batch, nodes)

    def _input_vectors(self, batch: TreeBatch) -> Tensor:
        """What the encoder reads: word vectors or, for a model with heads, the head vectors made of them."""
        words = nn.functional.dropout(self.lexicon(batch.word_index), self.config.dropout, self.training)
        heads = self.encoder.heads
        return words if heads is None else heads(words, batch, self.backend)

    def _score(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None) -> Tensor:
        return self.scorer(self.encoder(x, batch, nodes, self.backend))

    def score_with_heads(self, batch: TreeBatch) -> tuple[Float[Tensor, "nodes labels"], HeadWords | None]:
        """The label scores and the head word of every node; None for a model that has no heads."""
        x = self._input_vectors(batch)
        scores = self._score(x, batch, None)
        heads = self.encoder.heads
        found = None if heads is None else find_head_words(x, heads.weights, batch, heads.method)
        return scores, found

    def prepare(self, trees: Iterable[Tree], *, labelled: bool = True) -> list[Example]:
        """Trees as this model reads them: binarized, words and, if `labelled`, labels numbered."""
        return make_examples(
            trees,
            self.lexicon,
            labels=self.config.labels if labelled else None,
            direction=self.config.binarization,
            supervision=self.config.supervision,
        )

    def loss(self, batch: TreeBatch, supervision: Supervision | None = None) -> Float[Tensor, ""]:
        """The negative log-likelihood of the gold labels, summed over the nodes that have one.

        `supervision="root"` counts the sentences' labels only.
        """
        supervision = supervision or self.config.supervision
        gold, nodes = batch.label_index, batch.root_index
        if supervision == "all":
            nodes = (gold != NO_INDEX).nonzero().squeeze(1)
        if len(nodes) < batch.num_nodes or supervision == "root":
            gold = gold.index_select(0, nodes)
        else:
            # Every node has a label: nothing is to be picked.
            nodes = None
        scores = self(batch, nodes)
        return nn.functional.cross_entropy(scores, gold, ignore_index=NO_INDEX, reduction="sum")

    def num_parameters(self) -> int:
        """The number of parameters without those of the lexicon, as the paper counts them."""
        return sum(weight.numel() for part in (self.encoder, self.scorer) for weight in part.parameters())
