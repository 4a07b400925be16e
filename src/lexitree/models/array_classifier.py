"""A trained classifier in NumPy: it labels trees without torch."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_examples import TreeKind
from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import ConfigError
from lexitree.models.array_encoders import ARRAY_ENCODERS, ArrayEncoder, ArrayScorer, WeightReader, Weights
from lexitree.models.array_lexicon import ArrayLexicon
from lexitree.models.label_model import AskedNodes, NodeArrays, check_trees
from lexitree.models.model_config import ModelConfig, TextReading
from lexitree.ops.numpy.blas import one_blas_thread
from lexitree.ops.numpy.functions import log_sum_exp, softmax
from lexitree.ops.numpy.heads import HeadLeaves
from lexitree.ops.registry import check_backend, get_backend
from lexitree.pending import Pending, done


class ArrayClassifier:
    """A lexicon, an encoder over trees and a scorer of labels in NumPy; `TreeClassifier` is the same in torch.

    It computes in 32 bits, on a CPU. Threads may share it.

    Args:
        config: The shape of the model.
        lexicon: Its words.
        weights: Its other weights, by the names that they are saved under.
        backend: `auto` (the fastest here), `native` or `numpy`.

    Raises:
        ValueError: If the weights do not fit the settings.
    """

    kind: ClassVar[str] = "classifier"
    """What it is saved as."""
    library: ClassVar[str] = "NumPy"

    def __init__(
        self,
        config: ModelConfig,
        lexicon: ArrayLexicon,
        weights: Mapping[str, Weights],
        *,
        backend: str = "auto",
    ) -> None:
        if lexicon.word_size != config.word_size:
            raise ConfigError(
                f"the word vectors have {lexicon.word_size} dimensions, the model expects {config.word_size}",
                remedy=f"Set the word size to {lexicon.word_size}.",
            )
        self.config = config
        self.training_record: dict[str, Any] = {}
        """The record of its training (data, scores, settings)."""
        self.reading: TextReading | None = None
        """How it reads texts, if it was trained on texts."""
        self.lexicon = lexicon
        self.backend_name = backend
        self.weights = weights
        """The weights as they are stored; those of the words are in the lexicon."""
        self._backend = get_backend(backend, library="numpy")
        reader = WeightReader(weights)
        self._encoder: ArrayEncoder = ARRAY_ENCODERS[config.model](config, reader, self._backend)
        check_backend(backend, self._encoder.all_operations, library="numpy")
        num_features = self._encoder.num_states * config.hidden
        self._scorer = ArrayScorer(config, num_features, reader, self._backend)
        reader.check_empty()

    def __reduce__(self) -> tuple[object, ...]:
        """A copy packs its weights anew: packed ones belong to the kernels of a process."""
        state = {"training_record": self.training_record, "reading": self.reading}
        return _copied, (self.config, self.lexicon, dict(self.weights), self.backend_name, state)

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def device_type(self) -> str:
        return "cpu"

    @property
    def tree_kind(self) -> TreeKind:
        """The trees that it reads."""
        return self._encoder.tree_kind

    @property
    def has_heads(self) -> bool:
        """Whether its phrases have head words."""
        return self._encoder.has_heads

    @property
    def what_runs(self) -> dict[str, str]:
        """The name of the implementation that runs, by operation: {"bottom_up": "native", ...}."""
        return self._backend.report(self._encoder.all_operations)

    def num_parameters(self) -> int:
        """The number of weights without those of the lexicon, as the paper counts them."""
        return sum(math.prod(weight.shape) for weight in self.weights.values())

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Nothing is dropped out here at any time."""
        yield

    @one_blas_thread()
    def start_batch(
        self, layout: TreeLayout, *, nodes: AskedNodes = "all", heads: bool = False, finer: bool = False
    ) -> Pending[NodeArrays]:
        """Label a batch; see `LabelModel.start_batch`."""
        check_trees(self.tree_kind, layout)
        words, found = self._word_vectors(layout), None
        if self._encoder.heads is None:
            x = words
        else:
            x, shares, lean = self._encoder.heads.compose(words, layout)
            if heads and nodes == "all":
                found = self._encoder.heads.find_words(x, shares, lean, layout)
        asked = layout.root_index if nodes == "root" else layout.preorder_index
        scores = self._scorer.scores(self._encoder.features(x, layout, asked))
        probabilities = self.answer_probabilities(scores, finer=finer)
        return done(NodeArrays(probabilities, *_head_arrays(found, layout)))

    @one_blas_thread()
    def head_shares(self, layout: TreeLayout) -> FloatArray:  # [phrases, word]
        """The left parts' shares of the head vectors of a batch; see `LabelModel.head_shares`."""
        check_trees(self.tree_kind, layout)
        assert self._encoder.heads is not None
        _, shares, _ = self._encoder.heads.compose(self._word_vectors(layout), layout)
        nodes = layout.preorder_index
        return shares[nodes[nodes >= layout.num_leaves] - layout.num_leaves]

    def _word_vectors(self, layout: TreeLayout) -> FloatArray:
        """The vectors of the leaves and, in dependency trees, of all other nodes."""
        index = layout.word_index
        if len(layout.inner_word_index):
            index = np.concatenate([index, layout.inner_word_index])
        return self.lexicon.vectors(index, layout.unknown_words)

    def answer_probabilities(
        self, scores: FloatArray, *, finer: bool = False
    ) -> FloatArray:  # [nodes, labels]
        """The probabilities of the answers; see `TreeClassifier.answer_probabilities`."""
        if self.config.temperature != 1:
            scores = scores / np.float32(self.config.temperature)
        if self.config.finer_labels and not finer:
            groups = self.config.label_set.score_groups
            scores = np.stack([log_sum_exp(scores[:, list(numbers)]) for numbers in groups], 1)
        return softmax(scores)


def _copied(
    config: ModelConfig,
    lexicon: ArrayLexicon,
    weights: Mapping[str, Weights],
    backend: str,
    state: Mapping[str, Any],
) -> ArrayClassifier:
    model = ArrayClassifier(config, lexicon, weights, backend=backend)
    model.training_record, model.reading = state["training_record"], state["reading"]
    return model


def _head_arrays(heads: HeadLeaves | None, layout: TreeLayout) -> tuple[IndexArray | None, FloatArray | None]:
    """By node in pre-order, tree after tree: the position of the head word in its sentence, and its share."""
    if heads is None:
        return None, None
    first = np.repeat(layout.span_start[layout.root_index], layout.tree_sizes)
    return heads.leaf[layout.preorder_index] - first, heads.weight[layout.preorder_index]
