"""The paper's models: input vectors and a batch in, the features of the asked-for nodes out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.batch import TreeBatch
from lexitree.errors import ConfigError
from lexitree.examples import TreeKind
from lexitree.models.cells import (
    BottomUpLSTM,
    ChildSumLSTM,
    GatedChildrenLSTM,
    HeadComposer,
    SequenceLSTM,
    TensorNetwork,
    TopDownLSTM,
)
from lexitree.models.config import ModelConfig
from lexitree.ops.backends import Backend
from lexitree.ops.phrases import IndexArray, distinct_phrases
from lexitree.ops.sequences import SequenceSchedule
from lexitree.ops.spans import span_means
from lexitree.ops.threads import run_side_by_side

MAX_SEQUENCE_BYTES = 4 << 30
"""Spans whose states would need more than this are refused: those of a deep tree have quadratically many words."""

STATES_KEPT = 11
"""Vectors of size `hidden` kept for each word that is read: gates and their gradients, h, c and tanh c."""


class Encoder(nn.Module):
    """What all models share: a name, a paper, a number of features, and heads where the model has them."""

    title: ClassVar[str]
    """The model's name in the paper."""
    about: ClassVar[str]
    """One line on what it does."""
    num_states: ClassVar[int]
    """How many states of size `hidden` make up the features of a node."""
    waits_for_host: ClassVar[bool] = False
    """Whether a step needs the host in between, so that a GPU cannot record and replay it."""
    has_heads: ClassVar[bool] = False
    """Whether phrases have head words."""
    trains_on_phrases: ClassVar[bool] = False
    """Whether each phrase is read for itself, so that trees go into batches by their length and not by chance."""
    words_are_states: ClassVar[bool] = False
    """Whether the vector of a word is its state, so that the two have one size."""
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Settings that are other than the paper's where none are given, since the model's own paper has others."""
    tree_kind: ClassVar[TreeKind] = "constituency"
    """What it reads: binary constituency trees, or dependency trees of any arity."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if self.words_are_states and config.word_size != config.hidden:
            raise ConfigError(
                f"the word vectors of {self.title} are its states, but the word size is {config.word_size} and the"
                f" state size {config.hidden}",
                remedy="Give both the same size; without a file of vectors, leave the word size out.",
            )
        self.num_features = self.num_states * config.hidden
        self.heads: HeadComposer | None = None

    def forward(
        self,
        x: Float[Tensor, "inputs word"],
        batch: TreeBatch,
        nodes: Int[Tensor, " asked"] | None,
        backend: Backend,
    ) -> Float[Tensor, "asked features"]:
        """The features of the given nodes (positions in the batch's up order), None for all.

        `x` holds the head vectors of all nodes for a model with heads, else the vectors of all words: those of the
        leaves or, in dependency trees, of all nodes.
        """
        raise NotImplementedError


def _heads(config: ModelConfig) -> HeadComposer:
    return HeadComposer(config.word_size, config.head_method, config.bias_init)


def _bottom_up(config: ModelConfig, *, lexical: bool, peepholes: bool = True) -> BottomUpLSTM:
    return BottomUpLSTM(
        config.word_size, config.hidden, lexical=lexical, peepholes=peepholes, bias_init=config.bias_init
    )


def _top_down(config: ModelConfig) -> TopDownLSTM:
    return TopDownLSTM(
        config.word_size,
        config.hidden,
        share_inputs=config.share_topdown_inputs,
        bias_init=config.bias_init,
    )


def _pick(rows: Tensor, nodes: Tensor | None) -> Tensor:
    return rows if nodes is None else rows.index_select(0, nodes)


def _top_down_features(h: Tensor, batch: TreeBatch, nodes: Tensor | None) -> list[Tensor]:
    """A node's own state and the mean state of the words below it."""
    start, end = _pick(batch.span_start, nodes), _pick(batch.span_end, nodes)
    return [_pick(h, nodes), span_means(h[: batch.num_leaves], start, end)]


class ConTree(Encoder):
    title = "ConTree"
    about = "bottom-up tree LSTM of Zhu et al. (2015): words at the leaves only"
    num_states = 1

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = _bottom_up(config, lexical=False)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return _pick(self.bottom_up(x, batch, backend), nodes)


class NaryConTree(Encoder):
    title = "ConTree (Tai 2015)"
    about = "N-ary tree LSTM of Tai et al. (2015): ConTree without peepholes"
    num_states = 1

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = _bottom_up(config, lexical=False, peepholes=False)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return _pick(self.bottom_up(x, batch, backend), nodes)


class GatedChildrenConTree(Encoder):
    title = "ConTree (Le and Zuidema 2015)"
    about = "tree LSTM of Le and Zuidema (2015): an input gate and a forget gate for each child"
    num_states = 1
    waits_for_host = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = GatedChildrenLSTM(config.word_size, config.hidden, bias_init=config.bias_init)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return _pick(self.bottom_up(x, batch, backend), nodes)


class RNTN(Encoder):
    title = "RNTN (Socher 2013)"
    about = (
        "recursive neural tensor network of Socher et al. (2013): small word vectors, composed by a tensor"
    )
    num_states = 1
    waits_for_host = True
    words_are_states = True
    defaults = MappingProxyType({"hidden": 25, "output": 0, "dropout": 0.0, "bias_init": "zero"})

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.composition = TensorNetwork(config.hidden, bias_init=config.bias_init)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return _pick(self.composition(x, batch, backend), nodes)


class ConTreeLex(Encoder):
    title = "ConTree+Lex"
    about = "ConTree with a learned head word at every phrase"
    num_states = 1
    has_heads = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.heads = _heads(config)
        self.bottom_up = _bottom_up(config, lexical=True)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return _pick(self.bottom_up(x, batch, backend), nodes)


class TopDownConTree(Encoder):
    title = "Top-down ConTree"
    about = "top-down tree LSTM over learned head words"
    num_states = 2
    has_heads = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.heads = _heads(config)
        self.top_down = _top_down(config)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return torch.cat(_top_down_features(self.top_down(x, batch, backend), batch, nodes), 1)


class BiConTree(Encoder):
    title = "BiConTree"
    about = "the paper's final model: head words, bottom-up and top-down"
    num_states = 3
    has_heads = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.heads = _heads(config)
        self.bottom_up = _bottom_up(config, lexical=True)
        self.top_down = _top_down(config)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        up, down = run_side_by_side(
            lambda x: self.bottom_up(x, batch, backend),
            lambda x: self.top_down(x, batch, backend),
            x,
            list(self.bottom_up.parameters()),
            list(self.top_down.parameters()),
        )
        return torch.cat([_pick(up, nodes), *_top_down_features(down, batch, nodes)], 1)


class DepTree(Encoder):
    title = "DepTree (Tai 2015)"
    about = "child-sum tree LSTM of Tai et al. (2015) over dependency trees"
    num_states = 1
    # The sizes of the levels' edges are asked for on the host.
    waits_for_host = True
    tree_kind = "dependency"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.child_sum = ChildSumLSTM(config.word_size, config.hidden, bias_init=config.bias_init)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return _pick(self.child_sum(x, batch, backend), nodes)


class BiLSTM(Encoder):
    title = "BiLSTM"
    about = "sequence LSTM in both directions over the words of each phrase; the tree is not used"
    num_states = 2
    waits_for_host = True
    trains_on_phrases = True
    has_peepholes: ClassVar[bool] = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.hidden = config.hidden
        self.forwards, self.backwards = (
            SequenceLSTM(
                config.word_size, config.hidden, peepholes=self.has_peepholes, bias_init=config.bias_init
            )
            for _ in range(2)
        )

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        spans, phrase_index = self._distinct_spans(batch, nodes)
        forwards, backwards = (SequenceSchedule.from_spans(*spans, backwards=back) for back in (False, True))
        self._check_memory(forwards.num_places + backwards.num_places, x)
        last = run_side_by_side(
            lambda x: self.forwards(x, forwards.to(x.device), backend),
            lambda x: self.backwards(x, backwards.to(x.device), backend),
            x,
            list(self.forwards.parameters()),
            list(self.backwards.parameters()),
        )
        return torch.cat(last, 1).index_select(0, phrase_index.to(x.device))

    @staticmethod
    def _distinct_spans(
        batch: TreeBatch, nodes: Tensor | None
    ) -> tuple[tuple[IndexArray, IndexArray], Tensor]:
        """(starts, ends) of a span for each phrase of the nodes, and the place among them of each node's.

        A phrase that several nodes have is read once. Schedules are made on the host: all goes there in one copy.
        """
        parts = batch.word_index, _pick(batch.span_start, nodes), _pick(batch.span_end, nodes)
        on_host = torch.split(torch.cat(parts).cpu(), [len(part) for part in parts])
        words, start, end = (part.numpy() for part in on_host)
        first, place = distinct_phrases(words, start, end)
        return (start[first], end[first]), torch.from_numpy(place)

    def _check_memory(self, num_places: int, x: Tensor) -> None:
        if num_places * STATES_KEPT * self.hidden * x.element_size() > MAX_SEQUENCE_BYTES:
            raise ConfigError(
                "the phrases of these trees are too long to be read as one sequence each",
                remedy="Ask for whole sentences only (--nodes root), or use a tree model.",
            )


class PlainBiLSTM(BiLSTM):
    title = "BiLSTM (Li 2015)"
    about = "BiLSTM without peepholes, as Li et al. (2015) compare with trees"
    has_peepholes = False
