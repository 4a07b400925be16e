"""The child-sum recurrence, level-wise against the reference, on trees of any arity."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lexitree.models.other_cells import ChildSumLSTM
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import assert_agree
from tests.ops.test_levelwise import TOLERANCE, chain, fill_fresh_buffers_with_nan
from tests.strategies import trees

MIXED = [
    Tree.leaf("a"),
    tree_from_brackets("(X a b c d e f g)"),
    tree_from_brackets("(X (X (X a)))"),
    chain(9, left=True),
    tree_from_brackets("(X (X a b) c (X (X d) (X e f g)))"),
    Tree.leaf("z"),
]


def run(
    batch: TreeBatch, backend: str, hidden: int = 5, word_size: int = 7, seed: int = 0
) -> dict[str, Tensor]:
    """The states, and the gradients of the words and of every weight."""
    torch.manual_seed(seed)
    cell = ChildSumLSTM(word_size, hidden, bias_init="uniform").double()
    x = torch.randn(batch.num_nodes, word_size, dtype=torch.float64, requires_grad=True)
    h = cell(x, batch, get_backend(backend))
    (h * torch.randn_like(h)).sum().backward()
    results = {"states": h.detach()}
    for name, parameter in [("words", x), *cell.named_parameters()]:
        # Where no node has a child the reference does not touch the weights of h; untouched means zero.
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        results[f"gradient of {name}"] = gradient
    return results


@given(forest=st.lists(trees(max_words=8), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_agrees_with_the_reference(forest: list[Tree], seed: int) -> None:
    batch = TreeBatch.from_trees(forest)
    assert_agree(run(batch, "levelwise", seed=seed), run(batch, "reference", seed=seed), TOLERANCE)


@pytest.mark.parametrize("hidden", [1, 3])
def test_agrees_on_every_shape_at_odd_sizes(hidden: int) -> None:
    batch = TreeBatch.from_trees(MIXED)
    sizes = {"hidden": hidden, "word_size": 2 * hidden + 1}
    assert_agree(run(batch, "levelwise", **sizes), run(batch, "reference", **sizes), TOLERANCE)


def test_no_result_depends_on_uninitialized_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = TreeBatch.from_trees(MIXED)
    expected = run(batch, "levelwise")
    fill_fresh_buffers_with_nan(monkeypatch)
    assert_agree(run(batch, "levelwise"), expected, 0.0)


@pytest.mark.parametrize("backend", ["levelwise", "reference"])
def test_an_empty_batch_gives_no_states(backend: str) -> None:
    batch = TreeBatch.from_trees([])
    h = ChildSumLSTM(7, 5, bias_init="zero")(torch.zeros(0, 7), batch, get_backend(backend))
    assert h.shape == (0, 5)
