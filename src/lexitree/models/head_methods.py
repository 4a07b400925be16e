"""Head methods: how a phrase gets its head vector from the vectors of its words, and with it its head word."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.models.cells import Cell, glorot_bias, glorot_matrix, not_compiled
from lexitree.models.head_words import (
    HeadWords,
    find_head_words,
    lean_to_candidates,
    left_shares,
    trace_heads,
)
from lexitree.models.model_config import BiasInit
from lexitree.models.registries import check_candidates
from lexitree.ops.operations import COMPOSE_HEADS, MIX_HEADS, compose_heads_by
from lexitree.ops.registry import Backend, Operation
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadCandidates, HeadMethod, HeadWeights


class HeadCell(Cell):
    """Gives every phrase a head vector: a mean of its words' vectors, weighted by dimension."""

    def forward(
        self,
        word_vectors: Float[Tensor, "leaves word"],
        batch: TreeBatch,
        backend: Backend | None = None,
    ) -> Float[Tensor, "nodes word"]:
        """The head vector of every node, in the batch's up order."""
        raise NotImplementedError

    def find_words(self, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> HeadWords:
        """The head word of every node, from the head vectors that `forward` has made."""
        raise NotImplementedError

    def compose_and_find(
        self, word_vectors: Float[Tensor, "leaves word"], batch: TreeBatch, backend: Backend
    ) -> tuple[Float[Tensor, "nodes word"], HeadWords]:
        """The head vector and the head word of every node: `forward` and `find_words` in one, for prediction."""
        x = self(word_vectors, batch, backend)
        return x, self.find_words(x, batch)

    def left_shares(self, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> Float[Tensor, "phrases word"]:
        """The share of each phrase's head vector that comes from its left part, by dimension."""
        raise NotImplementedError


class HeadComposer(HeadCell):
    """Gives every phrase of binary trees a head vector: the paper's learned gate, or a fixed rule.

    A word's head vector is its own vector. For a phrase whose parts have the head vectors x_L and x_R, the gate is
    z = sigmoid(W [x_L x_R] + b), and the head vector z * x_L + (1 - z) * x_R.

    Args:
        word_size: Size of the word vectors.
        method: The learned gate (`G`), the left part's vector (`L`), the right part's (`R`) or their mean (`A`).
        bias_init: Initial bias of the gate: `uniform` as in the authors' code, or `zero`.
        candidates: Words that may be heads: `all`; `words`, not punctuation; or `content`, not function words either.
            Where only one part of a phrase has such a word, the gate is fixed to take that part's head vector.

    Raises:
        ConfigError: If candidates are restricted, and there is no gate.
    """

    operation = COMPOSE_HEADS

    def __init__(
        self,
        word_size: int,
        method: HeadMethod = "G",
        bias_init: BiasInit = "uniform",
        candidates: HeadCandidates = "all",
    ) -> None:
        super().__init__()
        check_candidates(candidates, method)
        self.word_size = word_size
        self.method: HeadMethod = method
        self.candidates: HeadCandidates = candidates
        self.gate = self.bias = None
        if method == "G":
            self.gate = glorot_matrix(word_size, 2 * word_size, rows=word_size, columns=word_size)
            self.bias = glorot_bias(word_size, rows=word_size, init=bias_init)

    @property
    def own_operation(self) -> Operation[Any]:
        return compose_heads_by(self.method)

    @property
    def weights(self) -> HeadWeights | None:
        return HeadWeights(self.gate, self.bias) if self.gate is not None and self.bias is not None else None

    @not_compiled
    def forward(
        self,
        word_vectors: Float[Tensor, "leaves word"],
        batch: TreeBatch,
        backend: Backend | None = None,
    ) -> Float[Tensor, "nodes word"]:
        """The head vector of every node, in the batch's up order."""
        self.check_input(word_vectors, batch.num_leaves, self.word_size, batch)
        run = self.chosen(backend, word_vectors)[self.own_operation]
        return run(word_vectors, self.weights, batch, self.method, self._lean(batch))

    def _lean(self, batch: TreeBatch) -> Tensor | None:
        return lean_to_candidates(batch, self.candidates)

    def find_words(self, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> HeadWords:
        return find_head_words(x, self.weights, batch, self.method, self._lean(batch))

    def compose_and_find(
        self, word_vectors: Float[Tensor, "leaves word"], batch: TreeBatch, backend: Backend
    ) -> tuple[Float[Tensor, "nodes word"], HeadWords]:
        weights = self.weights
        is_native = backend.implementation(self.own_operation).backend == "native"
        if weights is None or not is_native or torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
            return super().compose_and_find(word_vectors, batch, backend)
        # The kernel has the gates anyway.
        from lexitree.ops.native.heads import native_heads_and_shares

        self.check_input(word_vectors, batch.num_leaves, self.word_size, batch)
        lean = self._lean(batch)
        x, shares = native_heads_and_shares(word_vectors, weights, batch, lean)
        return x, find_head_words(x, weights, batch, self.method, lean, shares)

    def left_shares(self, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> Float[Tensor, "phrases word"]:
        return left_shares(x, self.weights, batch, self.method, self._lean(batch))


def head_entropy(heads: HeadCell, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> Float[Tensor, ""]:
    """The entropy of the shares that both parts have in each phrase's head vector, summed over phrases, in nats.

    A phrase counts 0 if its head vector is that of one part, and log 2 if it takes as much from either.
    """
    share = heads.left_shares(x, batch).mean(1).clamp(1e-6, 1 - 1e-6)
    # Phrases that a batch is padded with are in no level.
    num_phrases = batch.level_offset[-1] - batch.num_leaves
    is_real = torch.arange(len(share), device=share.device) < num_phrases
    rest = 1 - share
    return -(is_real * (share * share.log() + rest * rest.log())).sum()


class HeadGate(nn.Module):
    """The base of head methods of other packages: how much of a phrase's head vector comes from its left part.

    Args:
        word_size: Size of the word vectors.
    """

    def __init__(self, word_size: int) -> None:
        super().__init__()
        self.word_size = word_size

    def forward(
        self, left: Float[Tensor, "phrases word"], right: Float[Tensor, "phrases word"]
    ) -> Float[Tensor, "phrases shares"]:
        """The share of the left part, from 0 to 1: for each dimension, or one number for all of them.

        Args:
            left: The head vectors of the left parts of some phrases.
            right: Those of their right parts.
        """
        raise NotImplementedError


class HeadMixer(HeadCell):
    """Gives every phrase of binary trees a head vector by a gate of your own.

    Args:
        gate: Says how much of each head vector comes from the left part.
    """

    operation = MIX_HEADS

    def __init__(self, gate: HeadGate) -> None:
        super().__init__()
        self.gate = gate

    @not_compiled
    def forward(
        self,
        word_vectors: Float[Tensor, "leaves word"],
        batch: TreeBatch,
        backend: Backend | None = None,
    ) -> Float[Tensor, "nodes word"]:
        """The head vector of every node, in the batch's up order."""
        self.check_input(word_vectors, batch.num_leaves, self.gate.word_size, batch)
        return self.chosen(backend, word_vectors)[MIX_HEADS](word_vectors, self.gate, batch)

    def find_words(self, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> HeadWords:
        return trace_heads(x, self.left_shares(x, batch), batch)

    def left_shares(self, x: Float[Tensor, "nodes word"], batch: TreeBatch) -> Float[Tensor, "phrases word"]:
        left, right = x.index_select(0, batch.children_index).view(-1, 2, x.shape[1]).unbind(1)
        return self.gate(left, right).expand_as(left)


class MakeHeads(Protocol):
    """Makes the heads of a model."""

    def __call__(
        self, word_size: int, *, bias_init: BiasInit, candidates: HeadCandidates = "all"
    ) -> HeadCell: ...


GATED_HEADS, LEFT_HEADS, RIGHT_HEADS, MEAN_HEADS = (
    partial(HeadComposer, method=method) for method in get_args(HeadMethod)
)
"""What makes the heads of the paper's methods."""


def heads_by_gate(name: str, value: Any) -> MakeHeads:
    """What makes heads by a gate of another package.

    Raises:
        TypeError: It is no gate.
    """
    if not (isinstance(value, type) and issubclass(value, HeadGate)):
        raise TypeError("must be a subclass of lexitree.HeadGate")

    def make_heads(word_size: int, *, bias_init: BiasInit, candidates: HeadCandidates = "all") -> HeadCell:
        check_candidates(candidates, name)
        return HeadMixer(value(word_size))

    return make_heads
