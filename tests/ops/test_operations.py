"""Every operation has the implementations that it should have, and each says what keeps it from running."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from lexitree.errors import BackendError, ConfigError
from lexitree.kernels import compiling, library
from lexitree.ops import levelwise, operations, reference
from lexitree.ops.operations import (
    BOTTOM_UP,
    CHILD_SUM,
    DENSE,
    FIND_HEADS,
    FIXED_HEADS,
    GATHER_FEATURES,
    HEADS_AND_SHARES,
    MIX_HEADS,
    TOP_DOWN,
    UPDATE_ROWS,
    compose_heads_by,
)
from lexitree.ops.registry import BACKENDS, Operation, get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadMethod, check_head_method
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import FASTEST_ON_A_CPU, tiny_model

pytestmark = pytest.mark.usefixtures("forget_choices")

OPERATIONS = [value for value in vars(operations).values() if isinstance(value, Operation)]


def test_every_operation_has_a_reference_that_runs_everywhere() -> None:
    with_tensors = [each for each in OPERATIONS if each.find("reference")]
    assert [operation for operation in OPERATIONS if operation not in with_tensors] == [
        HEADS_AND_SHARES,
        FIND_HEADS,
        GATHER_FEATURES,
        DENSE,
    ]
    assert len(with_tensors) == 10
    for operation in with_tensors:
        of_torch = [each for each in operation.implementations if each.library == "torch"]
        names = [each.backend for each in of_torch]
        assert names == [name for name in reversed(BACKENDS) if name in names]
        last = of_torch[-1]
        assert last.backend == "reference"
        assert last.obstacle("cuda", torch.float64) is last.obstacle("cpu", torch.float32) is None


def test_every_forward_operation_but_the_gates_of_others_has_a_numpy_implementation() -> None:
    without = [operation for operation in OPERATIONS if operation.find("numpy", "numpy") is None]
    assert without == [MIX_HEADS, UPDATE_ROWS]
    for operation in OPERATIONS:
        of_numpy = [each for each in operation.implementations if each.library == "numpy"]
        assert [each.backend for each in of_numpy] in (["native", "numpy"], ["numpy"], [])
        for each in of_numpy:
            assert not each.trains
            assert callable(each.load())


@pytest.mark.parametrize("method", ["L", "R", "A"])
def test_head_methods_without_a_gate_are_not_reported_as_native(method: HeadMethod) -> None:
    model = tiny_model("bicontree", head_method=method)
    assert model.what_runs["compose_heads"] == "levelwise"
    assert model.what_runs["bottom_up"] == FASTEST_ON_A_CPU
    assert tiny_model("bicontree").what_runs["compose_heads"] == FASTEST_ON_A_CPU
    assert compose_heads_by(method) is FIXED_HEADS
    assert get_backend("auto", library="numpy").report([FIXED_HEADS]) == {"compose_heads": "numpy"}


def test_who_waits_for_the_host_and_what_can_be_recorded() -> None:
    waiting = {"child_sum", "gated_children", "mix_heads", "sequences"}
    for operation in OPERATIONS:
        for each in operation.implementations:
            assert each.is_recordable == (each.backend == "fused")
            assert each.shares_nodes == (each.backend in ("levelwise", "native", "numpy"))
            is_levelwise = each.backend == "levelwise"
            expected = operation.name in waiting if is_levelwise else each.backend == "reference"
            assert each.waits_for_host == expected


def test_fused_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_is_interpreted", lambda: False)
    with pytest.raises(BackendError, match=r"cannot run: .*(CUDA|Triton)"):
        get_backend("fused", "cpu")[BOTTOM_UP]


def test_fused_computes_in_no_other_precision() -> None:
    with pytest.raises(BackendError, match="float32 or bfloat16, not in float64"):
        get_backend("fused", "cuda", torch.float64)[BOTTOM_UP]


@pytest.mark.filterwarnings("error")
def test_without_compiled_kernels_a_cpu_is_level_wise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody is warned: there may be no compiler, and nothing is missing but speed."""
    monkeypatch.setattr(compiling, "LIBRARY", tmp_path / "none.so")
    library._load.cache_clear()
    assert get_backend("auto").report([BOTTOM_UP, TOP_DOWN]) == {
        "bottom_up": "levelwise",
        "top_down": "levelwise",
    }
    with pytest.raises(BackendError, match="native backend cannot run: the kernels are not compiled"):
        get_backend("native")[BOTTOM_UP]


def test_native_kernels_are_for_a_cpu() -> None:
    with pytest.raises(BackendError, match="native backend cannot run: it needs a CPU, and this is cuda"):
        get_backend("native", "cuda")[BOTTOM_UP]
    with pytest.raises(BackendError, match="float32 or float64, not in bfloat16"):
        get_backend("native", "cpu", torch.bfloat16)[BOTTOM_UP]


def test_without_triton_auto_is_level_wise_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        operations.importlib.util, "find_spec", lambda name: None if name == "triton" else find(name)
    )
    with pytest.warns(UserWarning, match=r"fused backend does not run on this GPU.*Triton is not installed"):
        assert get_backend("auto", "cuda").report([BOTTOM_UP]) == {"bottom_up": "levelwise"}
    with pytest.raises(BackendError, match="Triton is not installed"):
        get_backend("fused", "cuda")[BOTTOM_UP]
    assert get_backend("auto", "cuda").report([CHILD_SUM]) == {"child_sum": "levelwise"}


@pytest.mark.parametrize(
    ("triton", "capability", "obstacle"),
    [("3.2.0", (9, 0), "Triton 3.2.0"), ("3.6.0", (7, 5), "matrix units"), ("3.3.0", (8, 0), None)],
)
def test_old_triton_and_old_gpus_are_told(
    monkeypatch: pytest.MonkeyPatch, triton: str, capability: tuple[int, int], obstacle: str | None
) -> None:
    monkeypatch.setattr(operations.importlib.metadata, "version", lambda _: triton)
    monkeypatch.setattr(operations.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "an old GPU")
    fused = BOTTOM_UP.find("fused")
    assert fused is not None
    found = fused.obstacle("cuda", torch.float32)
    assert found is None if obstacle is None else found is not None and obstacle in found


def compose_heads() -> list[Callable[..., torch.Tensor]]:
    functions: list[Callable[..., torch.Tensor]] = [
        reference.reference_compose_heads,
        levelwise.levelwise_compose_heads,
    ]
    if importlib.util.find_spec("triton"):
        from lexitree.ops.fused import fused_compose_heads

        functions.append(fused_compose_heads)
    return functions


@pytest.mark.parametrize("compose", compose_heads())
def test_an_unknown_head_method_is_an_error_and_not_a_mean(compose: Callable[..., torch.Tensor]) -> None:
    batch = TreeBatch.from_trees([tree_from_brackets("(X a b)")])
    # Without the type checks that tests add.
    compose = inspect.unwrap(compose)
    with pytest.raises(ConfigError, match=r"unknown head method 'X'\n.*G, L, R, A"):
        compose(torch.zeros(2, 3), None, batch, "X")
    with pytest.raises(ConfigError, match="needs the weights of its gate"):
        compose(torch.zeros(2, 3), None, batch, "G")


def test_head_methods_are_checked() -> None:
    with pytest.raises(ConfigError, match="unknown head method 'mean'"):
        check_head_method("mean", None)
    for method in "LRA":
        check_head_method(method, None)
