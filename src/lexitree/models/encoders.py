"""The paper's encoders: they turn word vectors into the features that nodes are labelled by.

An encoder combines cells (`lexitree.models.cells`, which lists the steps to add one). To be found by its name it is
listed in `lexitree.models.registries.ENCODERS`; `lexitree.models.catalog` has the encoders of other papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.arrays import IndexArray
from lexitree.batch.tree_examples import TreeKind
from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import Unit
from lexitree.models.cells import (
    BottomUpLSTM,
    Cell,
    Recurrence,
    SequenceLSTM,
    TopDownLSTM,
)
from lexitree.models.head_methods import HeadCell
from lexitree.models.model_config import ModelConfig
from lexitree.models.registries import HEAD_METHODS
from lexitree.ops.numpy.spans import check_span_memory, distinct_phrases
from lexitree.ops.operations import BOTTOM_UP, SEQUENCES, TOP_DOWN
from lexitree.ops.registry import Backend, Operation
from lexitree.ops.spans import SequenceSchedule, span_means
from lexitree.ops.threads import run_side_by_side
from lexitree.ops.tree_batch import TreeBatch

STATES_KEPT = 11
"""Vectors of size `hidden` kept per word read: gates and their gradients, h, c and tanh c."""


class Encoder(nn.Module):
    """The base of all models: it turns the vectors of words into features of every node.

    A model of your own is a subclass with a `title`, an `about`, `num_states` and `forward`, registered by a name.
    """

    config_class: ClassVar[type[ModelConfig]] = ModelConfig
    """Its settings; a subclass of `ModelConfig` adds settings of its own to the table [model] of recipes."""
    title: ClassVar[str]
    """The model's name in the paper."""
    about: ClassVar[str]
    """One line on what it does."""
    num_states: ClassVar[int]
    """Number of states of size `hidden` in the features of a node."""
    has_heads: ClassVar[bool] = False
    """Whether phrases have head words."""
    trains_on_phrases: ClassVar[bool] = False
    """Whether each phrase is read on its own, so that trees are batched by length and not at random."""
    words_are_states: ClassVar[bool] = False
    """Whether the vector of a word is its state, so that both have the same size."""
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Default settings that differ from the paper's, since the model's own paper has others."""
    reads: ClassVar[Unit] = "word"
    """What the lexicon gives it vectors of: words, or phrases that are each read on their own."""
    tree_kind: ClassVar[TreeKind] = "constituency"
    """What it reads: binary constituency trees, or dependency trees of any arity."""

    is_recordable: ClassVar[bool] = False
    """Whether a GPU can record a training step once and replay it: `forward` must ask the host for nothing but the
    sizes of tensors, and read batches that are padded. A subclass says so for itself."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Not inherited: a subclass may compute something else.
        cls.is_recordable = vars(cls).get("is_recordable", False)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if self.words_are_states and config.word_size != config.hidden:
            raise ConfigError(
                f"the word vectors of {self.title} are its states, but the word size is {config.word_size} and the"
                f" state size {config.hidden}",
                remedy="Give both the same size; without a vector file, omit the word size.",
            )
        self.num_features = self.num_states * config.hidden
        self.heads: HeadCell | None = None

    @property
    def operations(self) -> tuple[Operation[Any], ...]:
        """The operations of its cells."""
        return tuple(
            {
                part.own_operation.name: part.own_operation
                for part in self.modules()
                if isinstance(part, Cell)
            }.values()
        )

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


def check_encoder(value: Any) -> type[Encoder]:
    """Check what another package offers as a model.

    Raises:
        TypeError: It is no model; the message says what it must be.
    """
    if not (isinstance(value, type) and issubclass(value, Encoder)):
        raise TypeError("must be a subclass of lexitree.Encoder")
    missing = [each for each in ("title", "about", "num_states") if not hasattr(value, each)]
    if missing:
        raise TypeError(f"does not say what it is: {' and '.join(missing)} of its class must be set")
    settings: object = getattr(value, "config_class")  # noqa: B009 - of another package: it may be anything
    if not (isinstance(settings, type) and issubclass(settings, ModelConfig)):
        raise TypeError("must have settings (config_class) that are a subclass of lexitree.ModelConfig")
    return value


def make_heads(config: ModelConfig) -> HeadCell:
    """The heads of a model, by its head method."""
    return HEAD_METHODS.find(config.head_method)(
        config.word_size, bias_init=config.bias_init, candidates=config.head_candidates
    )


def make_bottom_up(config: ModelConfig, *, lexical: bool, peepholes: bool = True) -> BottomUpLSTM:
    """The bottom-up tree LSTM of a model."""
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


def _present(weights: Iterable[Tensor | None]) -> list[Tensor]:
    return [weight for weight in weights if weight is not None]


def pick(rows: Tensor, nodes: Tensor | None) -> Tensor:
    """The rows of the nodes that are asked for, all of them for None."""
    return rows if nodes is None else rows.index_select(0, nodes)


def _top_down_features(h: Tensor, batch: TreeBatch, nodes: Tensor | None) -> list[Tensor]:
    """A node's own state and the mean state of the words below it."""
    start, end = pick(batch.span_start, nodes), pick(batch.span_end, nodes)
    return [pick(h, nodes), span_means(h[: batch.num_leaves], start, end)]


class BottomUpEncoder(Encoder):
    """A model whose features are the states of one recurrence from the words to the root."""

    num_states = 1
    bottom_up: Recurrence

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return pick(self.bottom_up(x, batch, backend), nodes)


class ConTree(BottomUpEncoder):
    title = "ConTree"
    about = "bottom-up tree LSTM of Zhu et al. (2015): words at the leaves only"
    is_recordable = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = make_bottom_up(config, lexical=False)


class ConTreeLex(BottomUpEncoder):
    title = "ConTree+Lex"
    about = "ConTree with a learned head word at every phrase"
    has_heads = True
    is_recordable = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.heads = make_heads(config)
        self.bottom_up = make_bottom_up(config, lexical=True)


class TopDownConTree(Encoder):
    title = "Top-down ConTree"
    about = "top-down tree LSTM over learned head words"
    num_states = 2
    has_heads = True
    is_recordable = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.heads = make_heads(config)
        self.top_down = _top_down(config)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        return torch.cat(_top_down_features(self.top_down(x, batch, backend), batch, nodes), 1)


class BiConTree(Encoder):
    title = "BiConTree"
    about = "the paper's final model: head words, bottom-up and top-down"
    num_states = 3
    has_heads = True
    is_recordable = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.heads = make_heads(config)
        self.bottom_up = make_bottom_up(config, lexical=True)
        self.top_down = _top_down(config)

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        # Both here: which weights are dropped in training must not depend on which thread is faster.
        up_weights, down_weights = self.bottom_up.weights, self.top_down.weights
        up, down = run_side_by_side(
            lambda x: backend[BOTTOM_UP](x, up_weights, batch),
            lambda x: backend[TOP_DOWN](x, down_weights, batch),
            x,
            _present(up_weights),
            _present(down_weights),
        )
        return torch.cat([pick(up, nodes), *_top_down_features(down, batch, nodes)], 1)


class BiLSTM(Encoder):
    title = "BiLSTM"
    about = "sequence LSTM in both directions over the words of each phrase; the tree is not used"
    num_states = 2
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
        weights, backward_weights = self.forwards.weights, self.backwards.weights
        last = run_side_by_side(
            lambda x: backend[SEQUENCES](x, weights, forwards.to(x.device)),
            lambda x: backend[SEQUENCES](x, backward_weights, backwards.to(x.device)),
            x,
            _present(weights),
            _present(backward_weights),
        )
        return torch.cat(last, 1).index_select(0, phrase_index.to(x.device))

    @staticmethod
    def _distinct_spans(
        batch: TreeBatch, nodes: Tensor | None
    ) -> tuple[tuple[IndexArray, IndexArray], Tensor]:
        """(starts, ends) of a span for each distinct phrase of the nodes, and the number of each node's phrase.

        A phrase that several nodes have is read once. Schedules are made on the host, so everything is copied there.
        """
        parts = batch.word_index, pick(batch.span_start, nodes), pick(batch.span_end, nodes)
        on_host = torch.split(torch.cat(parts).cpu(), [len(part) for part in parts])
        words, start, end = (part.numpy() for part in on_host)
        if batch.node_keys is not None:
            # Each occurrence of a word has a dropout of its own, and so has each phrase.
            words = np.arange(len(words))
        first, place = distinct_phrases(words, start, end)
        return (start[first], end[first]), torch.from_numpy(place)

    def _check_memory(self, num_places: int, x: Tensor) -> None:
        check_span_memory(num_places * STATES_KEPT * self.hidden * x.element_size())
