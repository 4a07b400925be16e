"""The sequence models give each node what an LSTM over its words alone would give, however little they compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lexitree.models.cells import SequenceLSTM
from lexitree.models.classifier import TreeClassifier
from lexitree.models.encoders import BiLSTM
from lexitree.models.model_config import ModelConfig
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.tree import Tree
from tests.ops.comparison import make_model
from tests.strategies import trees as random_trees
from tests.tiny import chain, tiny_model, tiny_trees

NUM_WORDS = 3
"""So few that phrases come again within a tree and across trees."""


def lstm_state(cell: SequenceLSTM, words: list[Tensor]) -> Tensor:
    """The paper's equations, word by word."""
    h = c = torch.zeros(cell.weight_h.shape[1], dtype=torch.float64)
    for x in words:
        f, i, g, o = (cell.weight_x @ x + cell.weight_h @ h + cell.bias).chunk(4)
        if cell.weight_c is not None:
            seen_by_f, seen_by_i = (cell.weight_c @ c).chunk(2)
            f, i = f + seen_by_f, i + seen_by_i
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        if cell.peephole is not None:
            o = o + cell.peephole @ c
        h = o.sigmoid() * c.tanh()
    return h


def node_by_node(model: TreeClassifier, batch: TreeBatch) -> Tensor:
    """Every node's phrase read for itself, nothing shared."""
    x = list(model.lexicon(batch.word_index))
    encoder = model.encoder
    assert isinstance(encoder, BiLSTM)
    features: list[Tensor] = []
    for start, end in zip(batch.span_start.tolist(), batch.span_end.tolist(), strict=True):
        forwards = lstm_state(encoder.forwards, x[start:end])
        features.append(torch.cat([forwards, lstm_state(encoder.backwards, x[start:end][::-1])]))
    return model.scorer(torch.stack(features))


def gradients(model: TreeClassifier, scores: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    weight = torch.randn(scores.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    (scores * weight).sum().backward()
    return {
        name: parameter.grad.to_dense().clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


def assert_reads_every_node(name: str, trees: list[Tree], seed: int = 0) -> None:
    config = ModelConfig(
        model=name, labels=("a", "b", "c"), word_size=4, hidden=3, output=5, dropout=0.0, binarization="right"
    )
    model = make_model(config, NUM_WORDS, seed)
    rng = np.random.Generator(np.random.PCG64(seed))
    words = [rng.integers(0, NUM_WORDS, tree.num_words) for tree in trees]
    batch = TreeBatch.from_trees(trees, words)
    expected = node_by_node(model, batch)
    found = model(batch)
    assert torch.allclose(found, expected, rtol=0, atol=1e-10)
    expected_gradients, found_gradients = gradients(model, expected), gradients(model, found)
    assert found_gradients.keys() == expected_gradients.keys()
    for parameter, gradient in expected_gradients.items():
        assert torch.allclose(found_gradients[parameter], gradient, rtol=0, atol=1e-10), parameter


@pytest.mark.parametrize("name", ["bilstm", "bilstm-plain"])
@settings(max_examples=15, deadline=None)
@given(trees=st.lists(random_trees(max_words=9, binary=True), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_any_trees(name: str, trees: list[Tree], seed: int) -> None:
    assert_reads_every_node(name, trees, seed)


@pytest.mark.parametrize("name", ["bilstm", "bilstm-plain"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("num_words", [1, 2, 25])
def test_chains(name: str, side: str, num_words: int) -> None:
    assert_reads_every_node(name, [chain(num_words, side), chain(1, side), chain(num_words, side)])


def test_nodes_with_the_same_words_have_the_same_scores() -> None:
    model = tiny_model("bilstm")
    batch = TreeBatch.from_trees([chain(5), chain(5)], [np.array([1, 2, 1, 2, 1])] * 2)
    scores = batch.split(model(batch))
    assert torch.equal(scores[0], scores[1])


@pytest.mark.parametrize("name", ["bilstm", "bilstm-plain"])
def test_a_batch_without_labels_has_no_loss_and_no_gradient(name: str) -> None:
    model = tiny_model(name)
    batch = TreeBatch.from_trees(
        tiny_trees(3), [np.zeros(tree.num_words, np.int64) for tree in tiny_trees(3)]
    )
    loss = model.loss(batch, "all")
    loss.backward()
    gradient = model.scorer.label_weight.grad
    assert loss.item() == 0
    assert gradient is None or not gradient.any()
