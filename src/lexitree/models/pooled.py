"""What a transformer says without a tree: the vectors of phrases, each read for itself, in and features out."""

from __future__ import annotations

import torch
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.models.config import ModelConfig
from lexitree.models.encoders import Encoder, pick
from lexitree.ops.backends import Backend


class PooledTransformer(Encoder):
    title = "Transformer"
    about = "a transformer over the words of each phrase, its states averaged; the tree is not used"
    num_states = 0
    reads = "phrase"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.num_features = config.word_size

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        # The vectors come tree by tree in pre-order.
        return pick(torch.empty_like(x).index_copy(0, batch.preorder_index, x), nodes)
