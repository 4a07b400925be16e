"""The whole model: a batch of trees in, label scores and head words for its nodes out."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.batch import NO_INDEX, TreeBatch
from lexitree.errors import ConfigError, TreeError
from lexitree.lexicon.table import WordTable
from lexitree.models.cells import LabelScorer
from lexitree.models.config import ModelConfig
from lexitree.models.head_words import HeadWords, find_head_words
from lexitree.models.registry import encoder_class
from lexitree.ops.backends import get_backend


class TreeClassifier(nn.Module):
    """A lexicon, an encoder over trees, and a scorer that gives every node a score for each label."""

    def __init__(self, config: ModelConfig, lexicon: WordTable, *, backend: str = "auto") -> None:
        super().__init__()
        if lexicon.word_size != config.word_size:
            raise ConfigError(
                f"the word vectors have {lexicon.word_size} dimensions, the model expects {config.word_size}",
                remedy=f"Set the word size to {lexicon.word_size}.",
            )
        self.config = config
        self.backend = get_backend(backend)
        self.lexicon = lexicon
        self.encoder = encoder_class(config.model)(config)
        self.scorer = LabelScorer(
            self.encoder.num_features, config.output, config.num_labels, bias_init=config.bias_init
        )

    @property
    def device(self) -> torch.device:
        return self.lexicon.vectors.device

    def forward(
        self, batch: TreeBatch, nodes: Int[Tensor, " asked"] | None = None
    ) -> Float[Tensor, "asked labels"]:
        """The label scores of the given nodes, or of all nodes in the batch's up order."""
        if not batch.is_binary:
            raise TreeError(
                "the model reads binary trees", remedy="Prepare them with make_example or to_binary."
            )
        words = nn.functional.dropout(self.lexicon(batch.word_index), self.config.dropout, self.training)
        if nodes is None:
            nodes = torch.arange(batch.num_nodes, device=batch.device)
        return self.scorer(self.encoder(words, batch, nodes, self.backend))

    def loss(self, batch: TreeBatch, supervision: str | None = None) -> Float[Tensor, ""]:
        """The negative log-likelihood of the gold labels, summed over the nodes that have one.

        `supervision="root"` counts the sentences' labels only.
        """
        supervision = supervision or self.config.supervision
        labels = batch.label_index
        nodes = batch.root_index
        if supervision == "all":
            nodes = (labels != NO_INDEX).nonzero().squeeze(1)
        gold = labels.index_select(0, nodes)
        scores = self(batch, nodes)
        return nn.functional.cross_entropy(scores, gold, ignore_index=NO_INDEX, reduction="sum")

    def head_words(self, batch: TreeBatch) -> HeadWords | None:
        """The head word of every node, or None for a model that has no heads."""
        heads = self.encoder.heads
        if heads is None:
            return None
        x = heads(self.lexicon(batch.word_index), batch, self.backend)
        return find_head_words(x, heads.weights, batch, heads.method)

    def num_parameters(self) -> int:
        """The number of parameters without the table of word vectors."""
        table = self.lexicon.vectors
        return sum(parameter.numel() for parameter in self.parameters() if parameter is not table)
