"""The layers of the parser's network, and the search, over NumPy arrays: by native kernels where there are any."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import FloatArray, IndexArray
from lexitree.kernels.library import find_kernels, why_absent
from lexitree.kernels.signatures import lstm_room
from lexitree.ops.numpy.functions import numpy_run_dense, squash
from lexitree.ops.numpy.native import PackedDense, native_array_dense, pack_dense
from lexitree.ops.weights import DenseWeights
from lexitree.parsers.host_search import best_labels_on_host, search_on_host
from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.pointers import ChartOrder, pack_pointers

_PRECISION = "f32"
_ALIGNMENT = 64
"""Packed weights begin at a multiple of so many bytes, the widest that a processor loads at once."""
_NORM_EPSILON = 1e-5
"""What `torch.nn.LayerNorm` adds to a variance."""
_ROWS_AT_ONCE = 1024
"""So many spans are computed at once in NumPy: they stay in a processor's cache."""


def runs_natively() -> bool:
    """Whether the kernels can run here."""
    return why_absent() is None


class Dense:
    """A dense layer, by a kernel where there is one: a BLAS would wake its threads for products as small as these.

    Args:
        weight: [out, in], as torch has it.
        bias: [out], or nothing.
    """

    def __init__(self, weight: FloatArray, bias: FloatArray | None = None) -> None:
        weights = DenseWeights(weight, np.zeros(len(weight), dtype=np.float32) if bias is None else bias)
        self._num_out = len(weight)
        self._weights = pack_dense(weights) if runs_natively() else weights

    def __call__(self, x: FloatArray) -> FloatArray:  # [..., out]
        rows, weights = x.reshape(-1, x.shape[-1]), self._weights
        is_packed = isinstance(weights, PackedDense)
        found = native_array_dense(rows, weights) if is_packed else numpy_run_dense(rows, weights)
        return found.reshape(*x.shape[:-1], self._num_out)


def multiply(x: FloatArray, weight: FloatArray, bias: FloatArray | None = None) -> FloatArray:  # [..., out]
    """A dense layer; the weight is [out, in], as torch has it."""
    found = x.reshape(-1, x.shape[-1]) @ weight.T
    if bias is not None:
        found += bias
    return found.reshape(*x.shape[:-1], len(weight))


class DirectionWeights(NamedTuple):
    """The weights of one direction of an LSTM; gates are in torch's order: i, f, g, o."""

    weight_x: FloatArray  # [4 * hidden, size]
    weight_h: FloatArray  # [4 * hidden, hidden]
    bias_x: FloatArray  # [4 * hidden]
    bias_h: FloatArray  # [4 * hidden]


class BidirectionalLstm:
    """One layer of an LSTM that reads sentences in both directions.

    Args:
        directions: The weights of the forward and of the backward direction.
    """

    def __init__(self, directions: tuple[DirectionWeights, DirectionWeights]) -> None:
        self._hidden = directions[0].weight_h.shape[1]
        self._packed = [_pack(each) for each in directions] if runs_natively() else None
        # Packed weights take the place of the others.
        self._directions = directions if self._packed is None else None

    def run(self, x: FloatArray, num_reaching: IndexArray) -> FloatArray:  # [places, trees, 2 * hidden]
        """The states at each place, those of both directions side by side; zeros behind the end of a sentence.

        Args:
            x: [places, trees, size]: the longest sentences come first.
            num_reaching: [places]: how many sentences have such a place.
        """
        states = np.empty((*x.shape[:2], 2 * self._hidden), dtype=np.float32)
        for is_backward in range(2):
            if self._packed is not None:
                self._run_natively(x, self._packed[is_backward], num_reaching, is_backward, states)
            elif self._directions is not None:
                own = states[:, :, is_backward * self._hidden :][:, :, : self._hidden]
                _run_direction(x, self._directions[is_backward], num_reaching, is_backward, own)
        return states

    def _run_natively(
        self,
        x: FloatArray,
        packed: FloatArray,
        num_reaching: IndexArray,
        is_backward: int,
        states: FloatArray,
    ) -> None:
        num_places, num_trees, size = x.shape
        find_kernels(_PRECISION).lstm_forward(
            *(x, packed, size, self._hidden),
            *(num_places, num_trees, is_backward, num_reaching, states),
        )


def _address(array: npt.NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]


def _pack(weights: DirectionWeights) -> FloatArray:
    """The weights of a direction as the kernel reads them."""
    hidden, size = weights.weight_h.shape[1], weights.weight_x.shape[1]
    count = lstm_room(size, hidden)
    memory = np.zeros(count + _ALIGNMENT // 4, dtype=np.float32)
    packed = memory[-_address(memory) % _ALIGNMENT // 4 :][:count]
    rows = [np.ascontiguousarray(each) for each in weights]
    find_kernels(_PRECISION).lstm_pack(*rows, size, hidden, packed)
    return packed


def _run_direction(
    x: FloatArray, weights: DirectionWeights, num_reaching: IndexArray, is_backward: int, states: FloatArray
) -> None:
    """Fill the states of one direction, place by place, for all sentences that reach so far."""
    gates_of_x = multiply(x, weights.weight_x, weights.bias_x + weights.bias_h)
    hidden, times_h = states.shape[2], np.ascontiguousarray(weights.weight_h.T)
    h, c = (np.zeros((x.shape[1], hidden), dtype=np.float32) for _ in range(2))
    places = range(len(x))
    states[...] = 0
    for place in reversed(places) if is_backward else places:
        reaching = int(num_reaching[place])
        gates = h[:reaching] @ times_h
        gates += gates_of_x[place, :reaching]
        i, f, g, o = (gates[:, first : first + hidden] for first in range(0, 4 * hidden, hidden))
        squash(gates[:, : 2 * hidden])
        c[:reaching] *= f
        c[:reaching] += np.multiply(i, np.tanh(g, out=g), out=i)
        np.multiply(squash(o), np.tanh(c[:reaching]), out=h[:reaching])
        states[place, :reaching] = h[:reaching]


class SpanWeights(NamedTuple):
    """What scores the labels of spans from the differences of their ends; see `network.SpanScorer`."""

    bias: FloatArray  # [size]
    gain: FloatArray  # [size]
    """The weight of the layer norm."""
    shift: FloatArray  # [size]
    """Its bias."""
    labels: FloatArray  # [labels, size]
    label_bias: FloatArray  # [labels]


def score_spans(ends: FloatArray, weights: SpanWeights) -> FloatArray:  # [spans, trees, labels]
    """The scores of all labels for all spans from what stands between the words.

    Args:
        ends: [words + 1, trees, size].
        weights: The weights.
    """
    num_ends, num_trees, size = ends.shape
    order, num_labels = ChartOrder(num_ends - 1), len(weights.labels)
    scores = np.empty((order.num_spans, num_trees, num_labels), dtype=np.float32)
    if runs_natively():
        find_kernels(_PRECISION).span_scores(
            *(ends, *weights, _NORM_EPSILON),
            *(size, num_labels, order.num_words, num_trees),
            scores,
        )
        return scores
    starts, stops = order.borders()
    step = max(1, _ROWS_AT_ONCE // num_trees)
    for first in range(0, order.num_spans, step):
        block = slice(first, first + step)
        features = _span_features(ends[stops[block]] - ends[starts[block]], weights)
        scores[block] = multiply(features, weights.labels, weights.label_bias)
    return scores


def _span_features(spans: FloatArray, weights: SpanWeights) -> FloatArray:  # [spans, trees, size]
    """relu(layer_norm(spans + bias)), in place."""
    size = np.float32(spans.shape[2])
    spans += weights.bias
    spans -= spans.sum(2, keepdims=True) / size
    variance = np.einsum("sti,sti->st", spans, spans) / size
    spans *= (1 / np.sqrt(variance + np.float32(_NORM_EPSILON)))[:, :, None]
    spans *= weights.gain
    spans += weights.shift
    return np.maximum(spans, 0, out=spans)


def find_pointers(scores: FloatArray, lengths: IndexArray) -> npt.NDArray[np.int32]:  # [spans, trees]
    """The packed pointers of each sentence's best tree; see `best_trees.search_trees`, which explains the search.

    Args:
        scores: [spans, trees, labels].
        lengths: [trees]: the number of words of each sentence.
    """
    if not runs_natively():
        phrase_scores, labels = best_labels_on_host(scores)
        return search_on_host(phrase_scores, scores[:, :, NO_PHRASE], labels)
    num_spans, num_trees, num_labels = scores.shape
    splits, labels = (np.empty((num_spans, num_trees), dtype=np.int64) for _ in range(2))
    is_closed, best = np.empty((num_spans, num_trees), dtype=np.bool_), np.empty(num_trees, dtype=np.float32)
    find_kernels(_PRECISION).best_trees(
        *(scores, ChartOrder.of_spans(num_spans).num_words, num_trees, num_labels),
        *(lengths, splits, labels, is_closed, best),
    )
    return pack_pointers(splits, is_closed, labels).astype(np.int32)
