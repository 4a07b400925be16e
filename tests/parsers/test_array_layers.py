"""The layers over NumPy arrays against PyTorch, with the kernels of each processor and without any."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lexitree.kernels import library
from lexitree.parsers import array_layers
from lexitree.parsers.array_layers import (
    BidirectionalLstm,
    DirectionWeights,
    SpanWeights,
    find_pointers,
    multiply,
    score_spans,
)
from lexitree.parsers.best_trees import BestTrees, find_best_trees
from lexitree.parsers.network import SpanScorer
from lexitree.parsers.parser_config import ParserConfig

LENGTHS = np.array([9, 7, 7, 3, 1])
WAYS = ("numpy", *library.supported_targets())


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """NumPy alone, and the kernels for each kind of processor that this one can stand in for."""
    find = library.find_kernels
    monkeypatch.setattr(array_layers, "runs_natively", lambda: request.param != "numpy")
    monkeypatch.setattr(array_layers, "find_kernels", lambda precision: find(precision, request.param))
    return request.param


def numpy_of(*tensors: torch.Tensor) -> list[np.ndarray]:
    return [tensor.numpy(force=True) for tensor in tensors]


@pytest.mark.parametrize("hidden", [1, 21])
def test_a_layer_gives_the_states_of_pytorch(hidden: int) -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(5, hidden, bidirectional=True)
    x = torch.randn(int(LENGTHS.max()), len(LENGTHS), 5)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.from_numpy(LENGTHS))
    with torch.no_grad():
        expected, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
    weights = numpy_of(*layer.parameters())
    directions = DirectionWeights(*weights[:4]), DirectionWeights(*weights[4:])
    num_reaching = (np.arange(len(x))[:, None] < LENGTHS).sum(1)
    found = BidirectionalLstm(directions).run(x.numpy(), num_reaching)
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_large_numbers_do_not_overflow() -> None:
    large = [np.full(shape, 1e4, dtype=np.float32) for shape in ((8, 3), (8, 2), (8,), (8,))]
    layer = BidirectionalLstm((DirectionWeights(*large), DirectionWeights(*(-each for each in large))))
    x = np.full((2, 1, 3), 1e3, dtype=np.float32)
    states = layer.run(x, np.array([1, 1]))
    np.testing.assert_allclose(states[:, 0, :2], np.tanh([[1, 1], [2, 2]]), atol=1e-6)
    assert not states[:, :, 2:].any()


@pytest.mark.parametrize("rows_at_once", [1, 7, 1024])
@pytest.mark.parametrize("size", [1, 19])
def test_spans_have_the_scores_of_pytorch(
    rows_at_once: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_layers, "_ROWS_AT_ONCE", rows_at_once)
    torch.manual_seed(0)
    scorer = SpanScorer(ParserConfig(labels=("S", "NP"), tags=("NN",), hidden=4, span_size=size)).eval()
    for weight in (scorer.bias, scorer.norm.weight, scorer.norm.bias):
        nn.init.normal_(weight)
    states = torch.randn(int(LENGTHS.max()) + 2, len(LENGTHS), 8)
    ends = torch.cat([states[:-1, :, :4], states[1:, :, 4:]], 2)
    weights = (scorer.bias, scorer.norm.weight, scorer.norm.bias, scorer.labels.weight, scorer.labels.bias)
    (end_weight,) = numpy_of(scorer.ends.weight)
    found = score_spans(multiply(ends.numpy(), end_weight), SpanWeights(*numpy_of(*weights)))
    np.testing.assert_allclose(found, scorer(states).numpy(force=True), rtol=0, atol=1e-4)


@pytest.mark.parametrize("num_labels", [2, 6])
def test_the_search_finds_the_trees_of_pytorch(num_labels: int) -> None:
    torch.manual_seed(0)
    num_words = int(LENGTHS.max())
    scores = torch.randn(num_words * (num_words + 1) // 2, len(LENGTHS), num_labels)
    # Equal scores: the first of the best is taken, of splits as of labels.
    scores[:, 1] = scores[:, 1].round()
    expected = find_best_trees(scores, torch.from_numpy(LENGTHS))
    found = BestTrees(num_words, find_pointers(scores.numpy(), LENGTHS), expected.scores)
    for tree, length in enumerate(LENGTHS.tolist()):
        assert found.spans(tree, length) == expected.spans(tree, length)


def test_a_dense_layer_keeps_the_shape_before_it() -> None:
    x, weight = np.arange(12, dtype=np.float32).reshape(2, 3, 2), np.array([[1, 2]], dtype=np.float32)
    assert multiply(x, weight, np.ones(1, np.float32)).tolist() == [
        [[3.0], [9.0], [15.0]],
        [[21.0], [27.0], [33.0]],
    ]
    assert multiply(x[:, :0], weight).shape == (2, 0, 1)
