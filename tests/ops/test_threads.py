"""Two cores give what one gives, bit by bit, and leave torch's setting as it was."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from lexitree.ops import threads
from lexitree.ops.openmp import one_thread
from lexitree.ops.threads import num_cores, use_cores
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import assert_agree, make_batch, make_model, run
from tests.ops.test_levelwise import chain, config_of
from tests.tiny import CONSTITUENCY_MODELS

FOREST = [
    Tree.leaf("a"),
    chain(9, left=True),
    chain(7, left=False),
    tree_from_brackets("(X (X a b) (X c d))"),
]


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexitree.ops.threads.MIN_ROWS", 0)


@pytest.fixture
def two_cores() -> Iterator[None]:
    with use_cores(2):
        yield


def test_threads_do_not_share_their_second_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: object())
    gpu = torch.device("cuda", 0)
    with ThreadPoolExecutor(1) as pool:
        others = [pool.submit(threads._second_stream, gpu).result() for _ in range(2)]
    own = [threads._second_stream(gpu) for _ in range(2)]
    threads._second_streams.by_device.clear()
    assert others[0] is others[1]
    assert own[0] is own[1]
    assert own[0] is not others[0]


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
def test_the_same_bits_on_one_core_and_on_two(name: str) -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of(name, "G", True), batch.num_leaves)
    expected = run(model, batch, "levelwise")
    with use_cores(2):
        assert num_cores() == 2
        assert_agree(run(model, batch, "levelwise"), expected, 0.0)


def test_inference_on_two_cores(two_cores: None) -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    with torch.inference_mode():
        scores = model(batch)
    assert torch.equal(scores, model(batch))
    assert not scores.requires_grad


def test_a_graph_can_be_walked_twice(two_cores: None) -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    loss = model.loss(batch)
    first, second = (torch.autograd.grad(loss, list(model.parameters()), retain_graph=True) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a.to_dense(), b.to_dense())


@pytest.mark.parametrize("backend", ["levelwise", "reference"])
def test_frozen_and_unused_weights(backend: str) -> None:
    batch = make_batch([Tree.leaf("a")])
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    model.encoder.bottom_up.requires_grad_(False)
    expected = run(model, batch, backend)
    with use_cores(2):
        assert_agree(run(model, batch, backend), expected, 0.0)


def test_an_error_leaves_the_settings_as_they_were() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(IndexError), use_cores(2):
            torch.zeros(0)[1]
        assert (num_cores(), torch.get_num_threads()) == (1, 2)
    finally:
        torch.set_num_threads(before)


def test_wide_products_have_the_cores_and_recurrences_one() -> None:
    before = torch.get_num_threads()
    with use_cores(2):
        assert torch.get_num_threads() == 1
    with use_cores(2, wide_products=True):
        assert torch.get_num_threads() == 2
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before
