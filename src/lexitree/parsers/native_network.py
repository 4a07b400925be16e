"""What native kernels compute for the parser on a CPU, when nothing is trained: its network and the search.

PyTorch's LSTM spends half of its time on calls, the scores of spans pass through memory six times, and the search
takes several calls for each width of spans.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lexitree.kernels.library import find_kernels, why_absent
from lexitree.kernels.signatures import lstm_room

_PRECISIONS = {torch.float32: "f32", torch.float64: "f64"}


def runs_natively(x: Tensor) -> bool:
    """Whether the kernels can compute what follows from x: here, in its precision, and without gradients."""
    is_plain = x.device.type == "cpu" and x.dtype in _PRECISIONS and not torch.is_grad_enabled()
    return is_plain and not torch.is_autocast_enabled("cpu") and why_absent() is None


def run_layer(
    layer: nn.LSTM, x: Float[Tensor, "places trees features"], places: Int[Tensor, " trees"]
) -> Float[Tensor, "places trees states"]:
    """What a bidirectional LSTM of one layer makes of sentences, the longest first; zeros behind their ends."""
    x = x.contiguous()
    num_places, num_trees, _ = x.shape
    num_reaching = (places.unsqueeze(0) > torch.arange(num_places).unsqueeze(1)).sum(1)
    states = x.new_empty(num_places, num_trees, 2 * layer.hidden_size)
    run = find_kernels(_PRECISIONS[x.dtype]).lstm_forward
    for is_backward, packed in enumerate(_packed_weights(layer)):
        run(
            *(x, packed, layer.input_size, layer.hidden_size),
            *(num_places, num_trees, is_backward, num_reaching, states),
        )
    return states


class _Packed(NamedTuple):
    """The packed weights of both directions, and the state of the weights that they were made from."""

    made_from: list[tuple[int, int]]
    directions: list[Tensor]


_packed: weakref.WeakKeyDictionary[nn.LSTM, _Packed] = weakref.WeakKeyDictionary()


def forget_weights(layers: Iterable[nn.Module]) -> None:
    """Let weights be packed again: PyTorch does not count the changes that a fused optimizer makes."""
    for layer in layers:
        _packed.pop(cast(nn.LSTM, layer), None)


def _packed_weights(layer: nn.LSTM) -> list[Tensor]:
    """The weights of the two directions as the kernel reads them, packed again only when they have changed."""
    weights = [weight.detach() for weight in layer.parameters()]
    if any(weight.is_inference() for weight in weights):
        # These do not count their changes.
        return _pack(layer, weights)
    state = [(weight.data_ptr(), weight._version) for weight in weights]
    kept = _packed.get(layer)
    if kept is None or kept.made_from != state:
        kept = _packed[layer] = _Packed(state, _pack(layer, weights))
    return kept.directions


def _pack(layer: nn.LSTM, weights: list[Tensor]) -> list[Tensor]:
    size, hidden = layer.input_size, layer.hidden_size
    directions: list[Tensor] = []
    # For each direction: the weights of x, those of the states, the biases of x and those of the states.
    for direction in (weights[:4], weights[4:]):
        rows = [each.contiguous() for each in direction]
        packed = rows[0].new_empty(lstm_room(size, hidden))
        find_kernels(_PRECISIONS[packed.dtype]).lstm_pack(*rows, size, hidden, packed)
        directions.append(packed)
    return directions


def score_spans(
    ends: Float[Tensor, "ends trees size"], bias: Tensor, norm: nn.LayerNorm, labels: nn.Linear
) -> Float[Tensor, "spans trees labels"]:
    """The scores of all spans from what stands between the words; see `SpanScorer`."""
    num_ends, num_trees, size = ends.shape
    num_words = num_ends - 1
    scores = ends.new_empty(num_words * num_ends // 2, num_trees, labels.out_features)
    factors = [each.contiguous() for each in (ends, bias, norm.weight, norm.bias, labels.weight, labels.bias)]
    find_kernels(_PRECISIONS[ends.dtype]).span_scores(
        *(*factors, norm.eps),
        *(size, labels.out_features, num_words, num_trees),
        scores,
    )
    return scores


class FoundTrees(NamedTuple):
    """What `best_trees.find_best_trees` finds, in its words."""

    splits: Int[Tensor, "spans trees"]
    labels: Int[Tensor, "spans trees"]
    is_closed: Bool[Tensor, "spans trees"]
    scores: Float[Tensor, " trees"]


def search_trees(
    scores: Float[Tensor, "spans trees labels"], lengths: Int[Tensor, " trees"], num_words: int
) -> FoundTrees:
    """The best trees of sentences; spans behind the end of a sentence have neither split nor label."""
    num_spans, num_trees, num_labels = scores.shape
    scores, lengths = scores.contiguous(), lengths.contiguous()
    found = FoundTrees(
        lengths.new_empty(num_spans, num_trees),
        lengths.new_empty(num_spans, num_trees),
        torch.empty(num_spans, num_trees, dtype=torch.bool),
        scores.new_empty(num_trees),
    )
    find_kernels(_PRECISIONS[scores.dtype]).best_trees(
        *(scores, num_words, num_trees, num_labels, lengths),
        *found,
    )
    return found
