"""The classifier: it scores the labels of all nodes of a batch of trees, and finds their head words."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.arrays import NO_INDEX, FloatArray
from lexitree.batch.tree_examples import Example, TreeKind, make_examples
from lexitree.batch.tree_layout import TreeLayout
from lexitree.corpora.corpus import Supervision
from lexitree.errors import ConfigError
from lexitree.models.catalog import encoder_class
from lexitree.models.cells import LabelScorer, Recurrence
from lexitree.models.dropout import drop_states, drop_words
from lexitree.models.head_methods import head_entropy as entropy_of_heads
from lexitree.models.head_words import HeadWords
from lexitree.models.label_grains import LabelGrains
from lexitree.models.label_model import AskedNodes, NodeArrays, check_trees
from lexitree.models.model_config import ModelConfig, TextReading
from lexitree.models.tensor_inference import find_shares, start_tensors, without_dropout
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.ops.registry import Backend, Implementation, check_backend, get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.pending import Pending
from lexitree.trees.tree import Tree


class TreeClassifier(nn.Module):
    """A lexicon, an encoder over trees, and a scorer that gives every node a score for each label.

    Scores are for the labels it is trained with; `answer_probabilities` turns them into answers.
    """

    kind: ClassVar[str] = "classifier"
    """What it is saved as."""
    library: ClassVar[str] = "torch"

    def __init__(self, config: ModelConfig, lexicon: Lexicon, *, backend: str = "auto") -> None:
        super().__init__()
        if lexicon.word_size != config.word_size:
            raise ConfigError(
                f"the word vectors have {lexicon.word_size} dimensions, the model expects {config.word_size}",
                remedy=f"Set the word size to {lexicon.word_size}.",
            )
        reads = encoder_class(config.model).reads
        if lexicon.unit != reads:
            raise ConfigError(
                f"the model {config.model} reads vectors of {reads}s, and there are vectors of {lexicon.unit}s",
                remedy="Give it a transformer that reads phrases: --encoder."
                if reads == "phrase"
                else "Choose the model pooled, or let the transformer read words.",
            )
        self.config = config
        self.training_record: dict[str, Any] = {}
        """The record of its training (data, scores, settings), for a loaded model."""
        self.reading: TextReading | None = None
        """How it reads texts, if it was trained on texts."""
        self.backend_name = backend
        self.lexicon = lexicon
        self.encoder = encoder_class(config.model)(config)
        check_backend(backend, self.encoder.operations)
        for part in self.encoder.modules():
            if isinstance(part, Recurrence):
                part.weight_dropout = config.weight_dropout
        self.scorer = LabelScorer(
            self.encoder.num_features,
            config.output,
            len(config.label_set.trained_ids),
            bias_init=config.bias_init,
        )

    @property
    def device(self) -> torch.device:
        return self.scorer.label_bias.device

    @property
    def device_type(self) -> str:
        """The kind of device it computes on."""
        return self.device.type

    @property
    def tree_kind(self) -> TreeKind:
        """The trees that it reads."""
        return self.encoder.tree_kind

    @property
    def has_heads(self) -> bool:
        """Whether its phrases have head words."""
        return self.encoder.has_heads

    @property
    def backend(self) -> Backend:
        """What runs where the model is now."""
        return get_backend(
            self.backend_name, self.device, self.scorer.label_bias.dtype, training=self.training
        )

    @property
    def implementations(self) -> tuple[Implementation[Any], ...]:
        """The implementations that run where the model is now, one for each operation of the encoder."""
        return tuple(map(self.backend.implementation, self.encoder.operations))

    @property
    def is_recordable(self) -> bool:
        """Whether a GPU can record what it computes of a batch, and replay it for others of the same size."""
        return (
            self.encoder.is_recordable
            and isinstance(self.lexicon, WordTable)
            and all(each.is_recordable for each in self.implementations)
        )

    @property
    def what_runs(self) -> dict[str, str]:
        """The name of the implementation that runs, by operation: {"bottom_up": "fused", ...}."""
        return self.backend.report(self.encoder.operations)

    def forward(
        self, batch: TreeBatch, nodes: Int[Tensor, " asked"] | None = None
    ) -> Float[Tensor, "asked scores"]:
        """The label scores of the given nodes, or of all nodes in the batch's up order."""
        check_trees(self.tree_kind, batch)
        return self._score(self._input_vectors(batch), batch, nodes)

    def _input_vectors(self, batch: TreeBatch) -> Tensor:
        """The encoder's input: word vectors or, for a model with heads, the head vectors made of them."""
        words = self._word_vectors(batch)
        if self.training:
            words = drop_words(words, self.config.dropout, batch, phrases=self.encoder.reads == "phrase")
        heads = self.encoder.heads
        return words if heads is None else heads(words, batch, self.backend)

    def _word_vectors(self, batch: TreeBatch) -> Tensor:
        return self.lexicon(batch.node_word_index, batch.guesses, batch.pieces)

    def _score(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None) -> Tensor:
        states = self.encoder(x, batch, nodes, self.backend)
        if self.training:
            states = drop_states(states, self.config.state_dropout, batch, nodes)
        return self.scorer(states)

    def score_with_heads(self, batch: TreeBatch) -> tuple[Float[Tensor, "nodes scores"], HeadWords | None]:
        """The label scores and the head word of every node; None for a model without heads."""
        heads = self.encoder.heads
        if heads is None or self.training:
            x = self._input_vectors(batch)
            found = None if heads is None else heads.find_words(x, batch)
        else:
            x, found = heads.compose_and_find(self._word_vectors(batch), batch, self.backend)
        return self._score(x, batch, None), found

    def left_head_shares(self, batch: TreeBatch) -> Float[Tensor, "phrases word"]:
        """The left part's share of each phrase's head vector, for a model that has heads.

        Nothing is dropped out, whichever mode the model is in: another thread may be training it or predicting. A
        transformer has a mode of its own, and must not be in training.
        """
        heads = self.encoder.heads
        assert heads is not None
        x = heads(self._word_vectors(batch), batch, self.backend)
        return heads.left_shares(x, batch)

    def in_use(self) -> AbstractContextManager[None]:
        """A block in which nothing is dropped out; a model in training returns to it afterwards."""
        return without_dropout(self)

    def start_batch(
        self, layout: TreeLayout, *, nodes: AskedNodes = "all", heads: bool = False, finer: bool = False
    ) -> Pending[NodeArrays]:
        """Begin to label a batch; see `LabelModel.start_batch`."""
        return start_tensors(self, layout, nodes, heads, finer)

    def head_shares(self, layout: TreeLayout) -> FloatArray:  # [phrases, word]
        """The left parts' shares of the head vectors of a batch; see `LabelModel.head_shares`."""
        return find_shares(self, layout)

    def answer_probabilities(
        self, scores: Float[Tensor, "nodes scores"], *, finer: bool = False
    ) -> Float[Tensor, "nodes labels"]:
        """The probabilities of the answers: with finer labels, sums of those that count for each, out of all that do.

        They are added up as logarithms: a node whose label all but surely counts for no answer must not end in 0/0.
        With `finer`, the probabilities are those of the finer labels.
        """
        if self.config.temperature != 1:
            scores = scores / self.config.temperature
        if self.config.finer_labels and not finer:
            # Views of columns: an index of them would have to be sent to the GPU, and the host would wait for that.
            columns = scores.to(torch.promote_types(scores.dtype, torch.float32)).unbind(1)
            merged = [
                torch.stack([columns[number] for number in numbers], 1).logsumexp(1)
                for numbers in self.config.label_set.score_groups
            ]
            scores = torch.stack(merged, 1)
        return scores.softmax(1)

    def prepare(
        self, trees: Iterable[Tree], *, labelled: bool = True, training: bool = False
    ) -> list[Example]:
        """Trees as this model reads them: phrases binarized, words and, if `labelled`, labels numbered.

        Labels are those it answers with, to be scored on; `training` takes those it is trained with.
        """
        labels = self.config.label_set.trained_ids if training else self.config.labels
        return make_examples(
            trees,
            self.lexicon,
            labels=labels if labelled else None,
            direction=self.config.binarization,
            supervision=self.config.supervision,
            kind=self.encoder.tree_kind,
        )

    def loss(
        self,
        batch: TreeBatch,
        supervision: Supervision | None = None,
        *,
        root_weight: float = 1.0,
        label_weights: Float[Tensor, " labels"] | None = None,
        grains: LabelGrains | None = None,
        head_entropy: float = 0.0,
    ) -> Float[Tensor, ""]:
        """The negative log-likelihood of the gold labels, summed over the nodes that have one.

        Where the batch has targets, it is the cross entropy with these instead, summed over all nodes.
        `supervision="root"` counts whole sentences only; otherwise these count `root_weight` times. With
        `label_weights`, a node counts as much as its label. `grains` tell what the numbers of labels say; targets are
        then learned besides labels and not instead of them. `head_entropy` is the weight of the entropy of the head
        gates, summed over all phrases.
        """
        supervision = supervision or self.config.supervision
        nodes = batch.root_index if supervision == "root" else self._nodes_to_learn(batch)
        check_trees(self.tree_kind, batch)
        x = self._input_vectors(batch)
        scores = self._score(x, batch, nodes)
        loss = self._label_loss(
            scores, batch, nodes, root_weight if supervision == "all" else 1.0, label_weights, grains
        )
        if head_entropy and self.encoder.heads is not None:
            loss = loss + head_entropy * entropy_of_heads(self.encoder.heads, x, batch)
        return loss

    def _label_loss(
        self,
        scores: Tensor,
        batch: TreeBatch,
        nodes: Tensor | None,
        root_weight: float,
        label_weights: Tensor | None,
        grains: LabelGrains | None,
    ) -> Tensor:
        wanted = batch.label_index if batch.targets is None else batch.targets.to(scores.dtype)
        wanted = wanted if nodes is None else wanted.index_select(0, nodes)
        if grains is not None:
            return self._grained_loss(scores, batch, nodes, wanted, root_weight, label_weights, grains)
        if root_weight == 1:
            return nn.functional.cross_entropy(
                scores, wanted, label_weights, ignore_index=NO_INDEX, reduction="sum"
            )
        weights = scores.new_ones(batch.num_nodes).index_fill_(0, batch.root_index, root_weight)
        weights = weights if nodes is None else weights.index_select(0, nodes)
        losses = nn.functional.cross_entropy(
            scores, wanted, label_weights, ignore_index=NO_INDEX, reduction="none"
        )
        return losses @ weights

    def _grained_loss(
        self,
        scores: Float[Tensor, "asked scores"],
        batch: TreeBatch,
        nodes: Int[Tensor, " asked"] | None,
        wanted: Tensor,
        root_weight: float,
        label_weights: Tensor | None,
        grains: LabelGrains,
    ) -> Float[Tensor, ""]:
        labels = batch.label_index if nodes is None else batch.label_index.index_select(0, nodes)
        losses = grains.losses(scores, labels)
        if batch.targets is not None:
            losses = losses + nn.functional.cross_entropy(scores, wanted, label_weights, reduction="none")
        weights = scores.new_ones(batch.num_nodes).index_fill_(0, batch.root_index, root_weight)
        return losses @ (weights if nodes is None else weights.index_select(0, nodes))

    def _nodes_to_learn(self, batch: TreeBatch) -> Int[Tensor, " asked"] | None:
        """The nodes with a label; None for all nodes.

        A GPU would have to wait for the host to learn which these are, so it learns from all nodes, unless it has to
        wait anyway.
        """
        if batch.targets is not None:
            return None
        if self.device.type != "cpu" and not any(each.waits_for_host for each in self.implementations):
            return None
        labelled = (batch.label_index != NO_INDEX).nonzero().squeeze(1)
        return None if len(labelled) == batch.num_nodes else labelled

    def num_parameters(self) -> int:
        """The number of parameters without those of the lexicon, as the paper counts them."""
        return sum(weight.numel() for part in (self.encoder, self.scorer) for weight in part.parameters())
