"""Two threads give what one gives, bit by bit, and leave torch's setting as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from lexitree.ops.threads import on_one_thread, one_thread
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import assert_agree, make_batch, make_model, run
from tests.ops.test_levelwise import chain, config_of

FOREST = [
    Tree.leaf("a"),
    chain(9, left=True),
    chain(7, left=False),
    tree_from_brackets("(X (X a b) (X c d))"),
]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["contree", "contree-lex", "topdown", "bicontree"])
def test_the_same_bits_on_one_thread_and_on_two(name: str, two_threads: None) -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of(name, "G", True), batch.num_leaves)
    with one_thread():
        expected = run(model, batch, "levelwise")
    assert torch.get_num_threads() == 2
    assert_agree(run(model, batch, "levelwise"), expected, 0.0)
    assert torch.get_num_threads() == 2


def test_inference_on_two_threads(two_threads: None) -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    with torch.inference_mode():
        scores = model(batch)
    assert torch.equal(scores, model(batch))
    assert not scores.requires_grad


def test_a_graph_can_be_walked_twice(two_threads: None) -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    loss = model.loss(batch)
    first, second = (torch.autograd.grad(loss, list(model.parameters()), retain_graph=True) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a.to_dense(), b.to_dense())


@pytest.mark.parametrize("backend", ["levelwise", "reference"])
def test_frozen_and_unused_weights(backend: str, two_threads: None) -> None:
    batch = make_batch([Tree.leaf("a")])
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    model.encoder.bottom_up.requires_grad_(False)
    with one_thread():
        expected = run(model, batch, backend)
    assert_agree(run(model, batch, backend), expected, 0.0)


def test_an_error_leaves_the_setting_as_it_was(two_threads: None) -> None:
    with pytest.raises(IndexError), one_thread():
        torch.zeros(0)[1]
    assert torch.get_num_threads() == 2


def test_the_setting_comes_back_after_the_last_level(two_threads: None) -> None:
    assert [torch.get_num_threads() for _ in on_one_thread(range(3))] == [1, 1, 1]
    assert torch.get_num_threads() == 2
