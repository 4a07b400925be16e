"""Each operation finds the implementation that a user asked for, or the fastest; what runs is reported truthfully."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.errors import BackendError, ConfigError
from lexitree.kernels import compiling, library
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.catalog import operations_of
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.registries import ENCODERS
from lexitree.models.word_table import WordTable
from lexitree.ops import levelwise, reference, registry
from lexitree.ops.numpy import numpy_run_bottom_up
from lexitree.ops.registry import (
    BACKENDS,
    BOTTOM_UP,
    CHILD_SUM,
    COMPOSE_HEADS,
    DENSE,
    FIND_HEADS,
    FIXED_HEADS,
    GATHER_FEATURES,
    HEADS_AND_SHARES,
    MIX_HEADS,
    SEQUENCES,
    TOP_DOWN,
    UPDATE_ROWS,
    Implementation,
    Operation,
    check_backend,
    compose_heads_by,
    describe_report,
    get_backend,
)
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadMethod, check_head_method
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import FASTEST_ON_A_CPU, LABELS, SIZES, tiny_model

LEVELWISE_ONLY = {
    "deptree": "child_sum",
    "rntn": "tensor_network",
    "contree-le": "gated_children",
    "bilstm": "sequences",
    "bilstm-plain": "sequences",
}
"""The models without a fused kernel, and their operation."""


@pytest.fixture(autouse=True)
def forget_choices() -> Iterator[None]:
    """What can run is asked for once a process; these tests change the answer."""

    def forget() -> None:
        remembered = (registry._get_backend, registry._warn_of_fallback, registry._why_not_on_this_gpu)
        for known in (*remembered, library._load):
            known.cache_clear()

    forget()
    yield
    forget()


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which kernels can run."""
    monkeypatch.setattr(registry, "_why_no_triton", lambda _: None)
    monkeypatch.setattr(Implementation, "obstacle", _ignore_requirement)


def _ignore_requirement(
    self: Implementation[Any], device_type: str, dtype: str, *, training: bool = False
) -> str | None:
    return None if self.dtypes is None or dtype in self.dtypes else "dtype"


def test_implementations_by_name() -> None:
    def runs(backend: str, operation: Operation[Any], device: str = "cpu") -> object:
        # Around it is only what keeps autocast out.
        return vars(get_backend(backend, device)[operation])["__wrapped__"]

    assert runs("reference", BOTTOM_UP) is reference.reference_run_bottom_up
    assert runs("levelwise", BOTTOM_UP) is levelwise.levelwise_run_bottom_up
    assert runs("auto", CHILD_SUM) is levelwise.levelwise_run_child_sum
    assert runs("levelwise", SEQUENCES) is levelwise.levelwise_run_sequences
    assert runs("reference", TOP_DOWN, "cuda") is reference.reference_run_top_down
    assert get_backend("auto")[UPDATE_ROWS] is reference.reference_update_rows


def test_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(BackendError, match="quantum") as error:
        get_backend("quantum")
    assert "levelwise" in str(error.value)
    with pytest.raises(BackendError, match="quantum"):
        check_backend("quantum")


@pytest.mark.parametrize("model", ENCODERS)
@pytest.mark.usefixtures("with_gpu")
def test_what_runs_on_a_gpu_is_reported_by_operation(model: str) -> None:
    report = get_backend("auto", "cuda").report(operations_of({"model": model}))
    expected = {LEVELWISE_ONLY[model]: "levelwise"} if model in LEVELWISE_ONLY else None
    if expected is None:
        assert set(report.values()) == ({"fused"} if model != "pooled" else set())
    else:
        assert report == expected


@pytest.mark.usefixtures("with_gpu")
def test_an_operation_without_the_implementation_takes_the_next_and_says_so() -> None:
    backend = get_backend("fused", "cuda")
    assert backend.report([BOTTOM_UP, SEQUENCES]) == {"bottom_up": "fused", "sequences": "levelwise"}
    assert (
        describe_report(backend.report([BOTTOM_UP, SEQUENCES])) == "fused (bottom_up), levelwise (sequences)"
    )
    assert describe_report(backend.report([BOTTOM_UP, TOP_DOWN])) == "the fused backend"
    assert describe_report({}) == "no tree operation"


@pytest.mark.parametrize("model", LEVELWISE_ONLY)
def test_asking_for_what_a_model_lacks_is_an_error(model: str) -> None:
    operations = operations_of({"model": model})
    with pytest.raises(BackendError, match=f"no fused implementation.*{LEVELWISE_ONLY[model]}"):
        check_backend("fused", operations)
    for name in ("auto", "reference", "levelwise"):
        check_backend(name, operations)
    with pytest.raises(BackendError, match="no fused implementation"):
        TreeClassifier(
            ModelConfig(model=model, labels=LABELS, **SIZES),
            WordTable.random(Vocabulary(["a"]), 8),
            backend="fused",
        )


def test_every_operation_has_a_reference_that_runs_everywhere() -> None:
    operations = [value for value in vars(registry).values() if isinstance(value, Operation)]
    with_tensors = [each for each in operations if each.find("reference")]
    assert [operation for operation in operations if operation not in with_tensors] == [
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
    operations = [value for value in vars(registry).values() if isinstance(value, Operation)]
    without = [operation for operation in operations if operation.find("numpy", "numpy") is None]
    assert without == [MIX_HEADS, UPDATE_ROWS]
    for operation in operations:
        of_numpy = [each for each in operation.implementations if each.library == "numpy"]
        assert [each.backend for each in of_numpy] in (["native", "numpy"], ["numpy"], [])
        for each in of_numpy:
            assert not each.trains
            assert callable(each.load())


@pytest.mark.filterwarnings("error")
def test_numpy_arrays_take_the_fastest_or_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [COMPOSE_HEADS, BOTTOM_UP, TOP_DOWN, SEQUENCES, CHILD_SUM, DENSE]
    by_name = get_backend("numpy", library="numpy")
    assert set(by_name.report(asked).values()) == {"numpy"}
    assert by_name.on_arrays(BOTTOM_UP) is numpy_run_bottom_up
    monkeypatch.setattr(registry, "why_absent", lambda: None)
    for name in ("auto", "native"):
        assert get_backend(name, dtype="float64", library="numpy").report(asked) == {
            "compose_heads": "native",
            "bottom_up": "native",
            "top_down": "native",
            "sequences": "native",
            "child_sum": "numpy",
            "dense": "native",
        }
    monkeypatch.setattr(registry, "why_absent", lambda: "the kernels are not compiled")
    registry._get_backend.cache_clear()
    assert set(get_backend("auto", library="numpy").report(asked).values()) == {"numpy"}
    with pytest.raises(
        BackendError, match=r"native backend cannot run: the kernels are not compiled\n.*numpy"
    ):
        get_backend("native", library="numpy")[BOTTOM_UP]


def test_each_library_has_its_backends() -> None:
    for name in ("reference", "levelwise", "fused"):
        with pytest.raises(BackendError, match=f"the {name} backend needs torch\n.*auto, numpy, native"):
            get_backend(name, library="numpy")
    with pytest.raises(BackendError, match="the numpy backend takes NumPy arrays"):
        get_backend("numpy")
    with pytest.raises(BackendError, match="the numpy backend takes NumPy arrays"):
        check_backend("numpy", [BOTTOM_UP])
    check_backend("numpy", [BOTTOM_UP], library="numpy")
    with pytest.raises(BackendError, match="no native implementation: there is none of child_sum"):
        check_backend("native", [CHILD_SUM], library="numpy")
    check_backend("native", [SEQUENCES], library="numpy")


def test_what_cannot_run_on_numpy_arrays_says_so() -> None:
    backend = get_backend("auto", library="numpy")
    with pytest.raises(BackendError, match="no implementation of mix_heads takes the arrays of numpy"):
        backend[MIX_HEADS]
    with pytest.raises(BackendError, match="no implementation of dense takes the arrays of torch"):
        get_backend("auto")[DENSE]
    with pytest.raises(BackendError, match="numpy backend cannot run: it needs a CPU, and this is cuda"):
        get_backend("numpy", "cuda", library="numpy")[BOTTOM_UP]
    with pytest.raises(BackendError, match="no implementation of bottom_up can run on cuda"):
        get_backend("auto", "cuda", library="numpy")[BOTTOM_UP]
    with pytest.raises(BackendError, match="float32 or float64, not in float16"):
        get_backend("numpy", dtype="float16", library="numpy")[BOTTOM_UP]
    with pytest.raises(BackendError, match="no backward pass"):
        get_backend("numpy", training=True, library="numpy")[BOTTOM_UP]


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
    for value in vars(registry).values():
        if isinstance(value, Operation):
            for each in value.implementations:
                assert each.is_recordable == (each.backend == "fused")
                assert each.shares_nodes == (each.backend in ("levelwise", "native", "numpy"))
                is_levelwise = each.backend == "levelwise"
                expected = value.name in waiting if is_levelwise else each.backend == "reference"
                assert each.waits_for_host == expected


def test_what_has_no_backward_pass_does_not_train() -> None:
    quick = Implementation("fused", lambda: abs, trains=False)
    slow = Implementation("levelwise", lambda: round)
    operation = Operation("both", (quick, slow))
    assert get_backend("auto").implementation(operation) is quick
    with pytest.warns(UserWarning, match="no backward pass"):
        assert get_backend("auto", training=True).implementation(operation) is slow
    with pytest.raises(BackendError, match="no backward pass"):
        get_backend("fused", training=True).implementation(operation)


def test_fused_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_is_interpreted", lambda: False)
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
        registry.importlib.util, "find_spec", lambda name: None if name == "triton" else find(name)
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
    monkeypatch.setattr(registry.importlib.metadata, "version", lambda _: triton)
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda _: object())
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
