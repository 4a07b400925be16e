"""The network of the built-in parser over NumPy arrays: it parses on a CPU, and needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lexitree.arrays import FloatArray
from lexitree.errors import import_extra
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.ops.numpy.blas import one_blas_thread
from lexitree.parsers.array_layers import (
    BidirectionalLstm,
    Dense,
    DirectionWeights,
    SpanWeights,
    find_pointers,
    score_spans,
)
from lexitree.parsers.numbered_sentences import PaddedSentences
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.span_network import FoundParses, RankedParses, SpanNetwork
from lexitree.parsers.word_features import WordFeatures
from lexitree.pending import Pending, done
from lexitree.saving.stored_arrays import StoredTable

if TYPE_CHECKING:
    from lexitree.parsers.network import ParserModel

Shape = tuple[int, ...]


def weight_shapes(config: ParserConfig, num_words: int) -> dict[str, Shape]:
    """The weights of a parser by name, and the shape of each.

    Args:
        config: The settings of the parser.
        num_words: Number of rows of its trained vectors.
    """
    hidden, size = config.hidden, config.span_size
    num_labels, num_tags = len(config.labels) + 1, len(config.tags)
    shapes: dict[str, Shape] = {
        "encoder.words.weight": (num_words, config.word_size),
        "encoder.affixes.weight": (config.affix_rows, config.affix_size),
        "encoder.styles.weight": (len(config.styles) + 1, config.style_size),
        "spans.ends.weight": (size, 2 * hidden),
        "spans.bias": (size,),
        "spans.norm.weight": (size,),
        "spans.norm.bias": (size,),
        "spans.labels.weight": (num_labels, size),
        "spans.labels.bias": (num_labels,),
        "tags.weight": (num_tags, 2 * hidden),
        "tags.bias": (num_tags,),
    }
    x_size = config.vector_size + config.word_size + config.affix_size + config.style_size
    for layer in range(config.layers):
        sizes = {"weight_ih": (x_size,), "weight_hh": (hidden,), "bias_ih": (), "bias_hh": ()}
        shapes |= {
            _lstm_name(layer, part, is_backward): (4 * hidden, *rest)
            for part, rest in sizes.items()
            for is_backward in (False, True)
        }
        x_size = 2 * hidden
    return shapes


def _lstm_name(layer: int, part: str, is_backward: bool) -> str:
    return f"encoder.layers.{layer}.{part}_l0{'_reverse' if is_backward else ''}"


def _check_weights(weights: Mapping[str, StoredTable], shapes: Mapping[str, Shape]) -> None:
    if wrong := sorted(weights.keys() ^ shapes.keys()):
        raise ValueError(f"missing or unknown weights: {', '.join(wrong[:3])}")
    for name, shape in shapes.items():
        if weights[name].shape != shape:
            raise ValueError(f"{name} has the shape {weights[name].shape}, not {shape}")


class ArrayParserNetwork(SpanNetwork):
    """Scores spans and tags from the numbers of words, as `network.ParserModel` does, in 32 bits.

    The tables of vectors stay as they are stored; only rows that are looked up are converted. Threads may share a
    network: nothing of it changes while it parses.

    Args:
        config: The settings of the parser.
        vector_words: The words with fixed vectors.
        trained_words: The words with trained vectors.
        weights: The weights, by the names that torch gives them.
        vectors: The fixed vectors; row 0, for unknown words, is zero.

    Raises:
        ValueError: Weights are missing, unknown or of another shape.
    """

    def __init__(
        self,
        config: ParserConfig,
        vector_words: Vocabulary,
        trained_words: Vocabulary,
        weights: Mapping[str, StoredTable],
        vectors: StoredTable,
    ) -> None:
        _check_weights(
            {**weights, "vectors": vectors},
            {
                **weight_shapes(config, trained_words.num_rows),
                "vectors": (vector_words.num_rows, config.vector_size),
            },
        )
        self.config = config
        self.features = WordFeatures(vector_words, trained_words, config.affix_rows)
        self.weights = weights
        """The weights as they are stored."""
        self.vectors = vectors
        self._make_layers()
        self._torch: ParserModel | None = None
        self._building = Lock()

    def _make_layers(self) -> None:
        """Convert all weights but the tables of words and affixes, once for all sentences."""
        weights = self.weights
        self._styles = weights["encoder.styles.weight"].all()
        self._layers = [
            BidirectionalLstm((self._direction(layer, False), self._direction(layer, True)))
            for layer in range(self.config.layers)
        ]
        self._ends = Dense(weights["spans.ends.weight"].all())
        names = ("bias", "norm.weight", "norm.bias", "labels.weight", "labels.bias")
        self._spans = SpanWeights(*(weights[f"spans.{name}"].all() for name in names))
        self._tags = Dense(weights["tags.weight"].all(), weights["tags.bias"].all())

    def _direction(self, layer: int, is_backward: bool) -> DirectionWeights:
        parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return DirectionWeights(*(self.weights[_lstm_name(layer, part, is_backward)].all() for part in parts))

    def __reduce__(self) -> tuple[object, ...]:
        """A copy packs its weights again, for the processor that it is on."""
        words = self.features.vector_words, self.features.trained_words
        return type(self), (self.config, *words, self.weights, self.vectors)

    @property
    def device_type(self) -> str:
        return "cpu"

    @one_blas_thread()
    def start_search(self, batch: PaddedSentences) -> Pending[FoundParses]:
        """Find the best trees."""
        # Weights that are damaged are found out in the end, by scores that are not finite.
        with np.errstate(all="ignore"):
            scores, tag_scores = self.score(batch)
            pointers = find_pointers(scores, batch.places - 2)
            is_finite = bool(np.isfinite(scores.sum()))
        found = FoundParses(is_finite, tag_scores.argmax(2), pointers.reshape(-1))
        return done(found)

    def score(self, batch: PaddedSentences) -> tuple[FloatArray, FloatArray]:
        """The scores of all spans [spans, trees, labels] and of the tags of all words [words, trees, tags]."""
        states = self._encode(batch)
        forwards, backwards = np.split(states, 2, axis=2)
        # Between two words: the forward state of the first and the backward state of the second.
        ends = self._ends(np.concatenate([forwards[:-1], backwards[1:]], 2))
        return score_spans(ends, self._spans), self._tags(states[1:-1])

    def _encode(self, batch: PaddedSentences) -> FloatArray:  # [places, trees, states]
        """The states of the LSTM, which reads the longest sentences first."""
        order = None if batch.is_sorted else np.argsort(-batch.places, kind="stable")
        if order is not None:
            batch = PaddedSentences(batch.rows[:, order], batch.styles[order], batch.places[order])
        num_reaching = batch.is_place.sum(1, dtype=np.int64)
        states = self._look_up(batch)
        for layer in self._layers:
            states = layer.run(states, num_reaching)
        return states if order is None else states[:, np.argsort(order)]

    def _look_up(self, batch: PaddedSentences) -> FloatArray:  # [places, trees, features]
        """The vectors of each word, of its affixes and of the style, side by side."""
        affixes = self.weights["encoder.affixes.weight"].rows(batch.rows[:, :, 2:]).sum(2)
        styles = self._styles[batch.styles]
        return np.concatenate(
            [
                self.vectors.rows(batch.rows[:, :, 0]),
                self.weights["encoder.words.weight"].rows(batch.rows[:, :, 1]),
                affixes,
                np.broadcast_to(styles, (*affixes.shape[:2], styles.shape[1])),
            ],
            axis=2,
        )

    def num_parameters(self) -> int:
        return sum(table.values.size for table in self.weights.values())

    def rank_trees(self, batch: PaddedSentences, k: int) -> RankedParses:
        """Find the k most probable trees of each sentence; this needs torch."""
        return self.torch_network("Finding several trees for a sentence").rank_trees(batch, k)

    def torch_network(self, purpose: str) -> ParserModel:
        """The same network in torch, built when it is first asked for.

        Raises:
            MissingExtraError: torch is not installed.
        """
        with self._building:
            if self._torch is None:
                import_extra("torch", extra="train", purpose=purpose)
                from lexitree.parsers.torch_loading import copy_to_torch

                self._torch = copy_to_torch(self)
            return self._torch
