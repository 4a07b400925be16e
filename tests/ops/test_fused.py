"""The fused kernels against float64: outputs and every gradient as exact as plain PyTorch's in the same precision.

On a GPU they are what users run. Elsewhere Triton interprets them, one program after the other, so only a few small
cases are tried; what happens between programs, at the barriers, needs the GPU.
"""

from __future__ import annotations

import copy
import dataclasses
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lexitree.models.catalog import operations_of
from lexitree.models.classifier import TreeClassifier
from lexitree.models.encoders import BiConTree
from lexitree.models.model_config import ModelConfig
from lexitree.ops.devices import products_in
from lexitree.ops.padding import fill_batch
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadCandidates
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import make_batch, make_model, run
from tests.ops.test_levelwise import chain, config_of, variants
from tests.strategies import trees
from tests.tiny import CONSTITUENCY_MODELS

pytest.importorskip("triton", reason="needs Triton")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
on_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")

ODD_SHAPES = [
    Tree.leaf("a"),
    tree_from_brackets("(X a b)"),
    tree_from_brackets("(X (X a b) (X (X c d) (X e f)))"),
    Tree.leaf("z"),
    tree_from_brackets("(X (X (X a b) c) d)"),
]
ROUNDING = float(torch.finfo(torch.float32).eps)
"""How far apart two float32 numbers can be that are both right: luck, not error."""


def relative_errors(found: dict[str, Tensor], exact: dict[str, Tensor]) -> dict[str, float]:
    assert found.keys() == exact.keys()
    return {
        name: float((found[name].double() - tensor.double()).norm() / tensor.double().norm().clamp_min(1e-12))
        for name, tensor in exact.items()
    }


def assert_as_exact_as_pytorch(config: ModelConfig, batch: TreeBatch, precision: str = "float32") -> None:
    """At most twice the error of the level-wise implementation, which is plain PyTorch, and one rounding.

    Each tensor for itself where it holds many numbers; over all of them together where an error is a few roundings.
    """
    model = make_model(config, batch.num_leaves).to(DEVICE)
    exact = run(model, batch, "reference" if batch.num_nodes < 100 else "levelwise")
    model.float()
    with products_in(precision):
        fused = relative_errors(run(model, batch, "fused"), exact)
        plain = relative_errors(run(model, batch, "levelwise"), exact)
        if config.hidden >= 50:
            for name, error in fused.items():
                assert error <= 2 * plain[name] + ROUNDING, f"{name}: {error:.1e}, PyTorch {plain[name]:.1e}"
        else:
            plain = worst_of(plain, *(plain_errors_rounded_anew(model, batch, exact) for _ in range(3)))
    assert overall(fused) <= 2 * overall(plain) + ROUNDING, {
        name: f"{fused[name]:.1e}, PyTorch {plain[name]:.1e}" for name in fused
    }


def plain_errors_rounded_anew(
    model: TreeClassifier, batch: TreeBatch, exact: dict[str, Tensor]
) -> dict[str, float]:
    """PyTorch's errors with weights that are off by less than a rounding: a few numbers can be right by luck."""
    rounded = copy.deepcopy(model)
    with torch.no_grad():
        for weight in rounded.parameters():
            weight.mul_(1 + ROUNDING * (torch.rand_like(weight) - 0.5))
    return relative_errors(run(rounded, batch, "levelwise"), exact)


def worst_of(*errors: dict[str, float]) -> dict[str, float]:
    return {name: max(error[name] for error in errors) for name in errors[0]}


def overall(errors: dict[str, float]) -> float:
    return statistics.fmean(error**2 for error in errors.values()) ** 0.5


@pytest.mark.parametrize(
    ("name", "share", "candidates"),
    [
        ("contree", True, "all"),
        ("contree-nary", True, "all"),
        # "a" is a function word, so some gates are decided by the words.
        ("contree-lex", True, "content"),
        ("topdown", False, "all"),
    ],
)
def test_agrees_with_float64_on_odd_shapes(name: str, share: bool, candidates: HeadCandidates) -> None:
    config = config_of(name, "G", share, hidden=3, word_size=5)
    config = dataclasses.replace(config, head_candidates=candidates)
    assert_as_exact_as_pytorch(config, make_batch(ODD_SHAPES))


@pytest.mark.slow
def test_agrees_when_a_state_needs_more_than_one_tile() -> None:
    forest = [tree_from_brackets("(X (X a b) c)"), Tree.leaf("d")]
    assert_as_exact_as_pytorch(config_of("bicontree", "G", True, hidden=17, word_size=33), make_batch(forest))


@pytest.mark.parametrize("name", ["contree-lex", "topdown"])
def test_trees_of_one_word_have_no_levels(name: str) -> None:
    batch = make_batch([Tree.leaf("a"), Tree.leaf("b")])
    assert_as_exact_as_pytorch(config_of(name, "G", True, hidden=3, word_size=4), batch)


@pytest.mark.parametrize("method", ["G", *(pytest.param(name, marks=pytest.mark.slow) for name in "LRA")])
def test_filled_up_batch_gives_the_same(method: str) -> None:
    """What is filled up is in no level and gets no gradient; the first leaf, which is node 0, has a parent here."""
    batch = make_batch(ODD_SHAPES[::-1])
    # Every node has a label, so that none is without gradient.
    batch.label_index.clamp_(min=0)
    filled = fill_batch(batch, batch.num_leaves + 5, batch.num_nodes - batch.num_leaves + 3, 40)
    model = (
        make_model(config_of("bicontree", method, True, hidden=3, word_size=4), batch.num_leaves)
        .float()
        .to(DEVICE)
    )
    model.backend_name = "fused"
    results: list[dict[str, Tensor]] = []
    for shape in (batch, filled):
        model.zero_grad()
        loss = model.loss(shape.to(DEVICE), "all")
        loss.backward()
        results.append({"loss": loss.detach(), **gradients_of(model)})
    assert all(gradient.any() for gradient in results[0].values())
    for name, error in relative_errors(results[1], results[0]).items():
        assert error < 1e-6, f"{name} differs by {error:.1e}"


def gradients_of(model: TreeClassifier) -> dict[str, Tensor]:
    return {
        name: weight.grad.to_dense() for name, weight in model.named_parameters() if weight.grad is not None
    }


@on_gpu
@pytest.mark.parametrize(("name", "method", "share"), variants)
@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_every_model_is_as_exact_as_pytorch(name: str, method: str, share: bool, precision: str) -> None:
    forest = [*ODD_SHAPES, chain(40, left=True), chain(33, left=False), *ODD_SHAPES]
    config = config_of(name, method, share, hidden=50, word_size=70)
    assert_as_exact_as_pytorch(config, make_batch(forest), precision)


@on_gpu
@pytest.mark.parametrize("name", [name for name in CONSTITUENCY_MODELS if not name.startswith("bilstm")])
@given(
    forest=st.lists(trees(max_words=30, binary=True), min_size=1, max_size=40),
    hidden=st.sampled_from([1, 17, 64]),
)
@settings(max_examples=10, deadline=None)
def test_random_forests_are_as_exact_as_pytorch(name: str, forest: list[Tree], hidden: int) -> None:
    config = config_of(name, "G", True, hidden=hidden, word_size=2 * hidden + 1)
    assert_as_exact_as_pytorch(config, make_batch(forest))


@on_gpu
@pytest.mark.parametrize("num_trees", [1, 25, 100, 300])
def test_every_size_of_tile_is_as_exact_as_pytorch(num_trees: int) -> None:
    forest = [chain(2 + number % 23, left=number % 2 == 0) for number in range(num_trees)]
    assert_as_exact_as_pytorch(
        config_of("bicontree", "G", True, hidden=150, word_size=300), make_batch(forest)
    )


@on_gpu
def test_a_chain_of_many_levels() -> None:
    batch = make_batch([chain(3000, left=True)])
    assert_as_exact_as_pytorch(config_of("bicontree", "G", True, hidden=20, word_size=30), batch)


@on_gpu
def test_the_same_numbers_every_time() -> None:
    """Each sum has one order, whichever program is first: no number may depend on the timing."""
    batch = make_batch([chain(2 + number % 9, left=True) for number in range(64)]).to("cuda")
    model = make_model(config_of("bicontree", "G", True, hidden=150, word_size=300), 1).float().cuda()
    encoder = model.encoder
    assert isinstance(encoder, BiConTree)
    assert encoder.heads is not None
    backend = get_backend("fused", "cuda")
    words = torch.randn(batch.num_leaves, 300, device="cuda", requires_grad=True)

    def compute() -> list[Tensor]:
        x = encoder.heads(words, batch, backend)
        up, down = encoder.bottom_up(x, batch, backend), encoder.top_down(x, batch, backend)
        (gradient,) = torch.autograd.grad(up.square().sum() + down.square().sum(), words)
        return [x.detach(), up.detach(), down.detach(), gradient]

    first = compute()
    for _ in range(5):
        assert all(torch.equal(again, tensor) for again, tensor in zip(compute(), first, strict=True))


@on_gpu
def test_bf16_gives_nearly_the_same_scores() -> None:
    batch = make_batch([*ODD_SHAPES, chain(30, left=True)])
    model = make_model(config_of("bicontree", "G", True, hidden=150, word_size=300), batch.num_leaves).cuda()
    model.backend_name = "levelwise"
    errors: dict[str, float] = {}
    with torch.no_grad():
        exact = model(batch.to("cuda"))
        model.bfloat16()
        for backend in ("levelwise", "fused"):
            model.backend_name = backend
            errors[backend] = float((model(batch.to("cuda")).double() - exact).norm() / exact.norm())
    assert errors["fused"] <= 2 * errors["levelwise"]
    assert errors["fused"] < 0.02


def test_fused_is_asked_for_by_name() -> None:
    operations = operations_of({"model": "bicontree"})
    assert set(get_backend("fused", DEVICE).report(operations).values()) == {"fused"}
    expected = [{"fused"}] if DEVICE == "cuda" else [{"native"}, {"levelwise"}]
    assert set(get_backend("auto", DEVICE).report(operations).values()) in expected
