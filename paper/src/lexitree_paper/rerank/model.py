"""The reranking model, which scores a tree by the probability of its labels, given its words and shape."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.errors import ConfigError
from lexitree.models.catalog import encoder_class
from lexitree.models.cells import glorot_bias, glorot_matrix
from lexitree.models.encoders import BiConTree, ConTree, ConTreeLex, pick
from lexitree.models.head_words import HeadWords
from lexitree.models.word_table import Lexicon
from lexitree.ops.openmp import one_thread
from lexitree.ops.operations import TOP_DOWN
from lexitree.ops.registry import Backend, check_backend, get_backend
from lexitree.ops.spans import span_means
from lexitree.ops.tree_batch import TreeBatch
from lexitree_paper.rerank.batches import ListBatch
from lexitree_paper.rerank.recipe import RerankerConfig


class RerankerModel(nn.Module):
    """A lexicon, one of the paper's tree encoders, and a scorer of constituents.

    The score of a tree is the sum over its nodes of the log probability of the node's label.
    """

    def __init__(self, config: RerankerConfig, lexicon: Lexicon, *, backend: str = "auto") -> None:
        super().__init__()
        if lexicon.word_size != config.word_size:
            raise ConfigError(
                f"the word vectors have {lexicon.word_size} dimensions, the reranker expects {config.word_size}"
            )
        self.config = config
        self.backend_name = backend
        self.lexicon = lexicon
        self.encoder = encoder_class(config.model)(config.encoder)
        check_backend(backend, self.encoder.operations)
        self.scorer = ConstituentScorer(config, self.encoder.num_features, has_heads=self.encoder.has_heads)

    @property
    def device(self) -> torch.device:
        return self.scorer.bias.device

    @property
    def backend(self) -> Backend:
        """The backend that runs on the model's current device."""
        return get_backend(self.backend_name, self.device, self.scorer.bias.dtype, training=self.training)

    @property
    def what_runs(self) -> dict[str, str]:
        """The name of the implementation that runs, by operation."""
        return self.backend.report(self.encoder.operations)

    @property
    def goes_down(self) -> bool:
        return isinstance(self.encoder, BiConTree)

    @property
    def shares_subtrees(self) -> bool:
        """Whether equal subtrees are computed once; the reference and the GPU kernels read whole trees."""
        backend = self.backend
        return all(backend.implementation(each).shares_nodes for each in self.encoder.operations)

    def forward(self, batch: ListBatch) -> Float[Tensor, " candidates"]:
        """The model's score of every candidate; the parser's score is not part of it."""
        x = self._input_vectors(batch)
        features = self._encode(x, batch)
        heads = x if self.encoder.has_heads else None
        scores = self.scorer(features, heads, batch.down or batch.up, batch.down_source)
        chosen = scores.flatten().index_select(0, batch.node * scores.shape[1] + batch.label)
        return scores.new_zeros(batch.num_candidates).index_add(0, batch.candidate, chosen)

    def _input_vectors(self, batch: ListBatch) -> Tensor:
        """The head vectors of the nodes of `up` or, for a model without heads, the word vectors of its leaves.

        Words are looked up once per list, so dropout is the same for all its candidates.
        """
        words = nn.functional.dropout(self.lexicon(batch.word_index), self.config.dropout, self.training)
        leaves = words if batch.leaf_word is None else words.index_select(0, batch.leaf_word)
        heads = self.encoder.heads
        return leaves if heads is None else heads(leaves, batch.up, self.backend)

    def _encode(self, x: Tensor, batch: ListBatch) -> Tensor:
        """The features of all nodes of `down` or, for a model that only works bottom-up, of `up`."""
        encoder = self.encoder
        assert isinstance(encoder, ConTree | ConTreeLex | BiConTree)
        h_up = encoder.bottom_up(x, batch.up, self.backend)
        if not isinstance(encoder, BiConTree):
            return h_up
        down, source = batch.down, batch.down_source
        assert down is not None
        h_down = self.backend[TOP_DOWN](x, encoder.top_down.weights, down, source)
        means = span_means(h_down[: down.num_leaves], down.span_start, down.span_end)
        return torch.cat([pick(h_up, source), h_down, means], 1)

    def find_heads(self, batch: TreeBatch) -> HeadWords | None:
        """The head word of every node; None for a model without heads."""
        heads = self.encoder.heads
        if heads is None:
            return None
        return heads.find_words(heads(self.lexicon(batch.word_index), batch, self.backend), batch)

    def num_parameters(self) -> int:
        """The number of parameters, not counting the lexicon, as in the paper."""
        return sum(weight.numel() for part in (self.encoder, self.scorer) for weight in part.parameters())


class ConstituentScorer(nn.Module):
    """Scores the labels of a phrase A with the parts B and C: log softmax(relu(W_L N_B + W_R N_C + W_H H_A + b)).

    N are the features of nodes and H is the head vector; a model without heads has no such term. Words have no parts
    and are scored by their own features.
    """

    def __init__(self, config: RerankerConfig, num_features: int, *, has_heads: bool) -> None:
        super().__init__()
        num_labels, init = len(config.labels), config.bias_init

        def make(columns: int) -> nn.Parameter:
            return glorot_matrix(num_labels, columns, rows=num_labels, columns=columns)

        self.weight = make(2 * num_features)
        self.bias = glorot_bias(num_labels, rows=num_labels, init=init)
        self.head_weight = make(config.word_size) if has_heads else None
        self.word_weight = make(num_features) if config.score_words else None
        self.word_bias = glorot_bias(num_labels, rows=num_labels, init=init) if config.score_words else None

    @one_thread()
    def forward(
        self,
        features: Float[Tensor, "nodes features"],
        heads: Float[Tensor, "rows word"] | None,
        batch: TreeBatch,
        source: Int[Tensor, " nodes"] | None = None,
    ) -> Float[Tensor, "nodes labels"]:
        """The log probability of every label at every node; 0 at words if words are not scored.

        `source` is the row of `heads` for each node, if nodes share rows.
        """
        num_leaves = batch.num_leaves
        pairs = features.index_select(0, batch.children_index).view(-1, 2 * features.shape[1])
        phrases = torch.addmm(self.bias, pairs, self.weight.t())
        if heads is not None and self.head_weight is not None:
            phrases = phrases + self._score_heads(heads, num_leaves, source)
        return torch.cat([self._score_words(features[:num_leaves]), phrases.relu().log_softmax(1)])

    def _score_heads(self, heads: Tensor, num_leaves: int, source: Tensor | None) -> Tensor:
        """The term W_H H_A of all phrases; a row that several phrases share is multiplied only once."""
        assert self.head_weight is not None
        if source is None:
            return heads[num_leaves:] @ self.head_weight.t()
        return (heads @ self.head_weight.t()).index_select(0, source[num_leaves:])

    def _score_words(self, features: Float[Tensor, "words features"]) -> Float[Tensor, "words labels"]:
        if self.word_weight is None or self.word_bias is None:
            return features.new_zeros(len(features), len(self.bias))
        return torch.addmm(self.word_bias, features, self.word_weight.t()).relu().log_softmax(1)
