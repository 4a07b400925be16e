"""Each operation finds the implementation that a user asked for, or the fastest; what runs is reported truthfully."""

from __future__ import annotations

from typing import Any

import pytest

from lexitree.errors import BackendError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.catalog import operations_of
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.registries import ENCODERS
from lexitree.models.word_table import WordTable
from lexitree.ops import levelwise, operations, reference, registry
from lexitree.ops.numpy import numpy_run_bottom_up
from lexitree.ops.operations import (
    BOTTOM_UP,
    CHILD_SUM,
    COMPOSE_HEADS,
    DENSE,
    MIX_HEADS,
    SEQUENCES,
    TOP_DOWN,
    UPDATE_ROWS,
)
from lexitree.ops.registry import Implementation, Operation, check_backend, describe_report, get_backend
from tests.tiny import LABELS, SIZES

pytestmark = pytest.mark.usefixtures("forget_choices")

LEVELWISE_ONLY = {
    "deptree": "child_sum",
    "rntn": "tensor_network",
    "contree-le": "gated_children",
    "bilstm": "sequences",
    "bilstm-plain": "sequences",
}
"""The models without a fused kernel, and their operation."""


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which kernels can run."""
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


@pytest.mark.filterwarnings("error")
def test_numpy_arrays_take_the_fastest_or_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [COMPOSE_HEADS, BOTTOM_UP, TOP_DOWN, SEQUENCES, CHILD_SUM, DENSE]
    by_name = get_backend("numpy", library="numpy")
    assert set(by_name.report(asked).values()) == {"numpy"}
    assert by_name.on_arrays(BOTTOM_UP) is numpy_run_bottom_up
    monkeypatch.setattr(operations, "why_absent", lambda: None)
    for name in ("auto", "native"):
        assert get_backend(name, dtype="float64", library="numpy").report(asked) == {
            "compose_heads": "native",
            "bottom_up": "native",
            "top_down": "native",
            "sequences": "native",
            "child_sum": "numpy",
            "dense": "native",
        }
    monkeypatch.setattr(operations, "why_absent", lambda: "the kernels are not compiled")
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


def test_what_has_no_backward_pass_does_not_train() -> None:
    quick = Implementation("fused", lambda: abs, trains=False)
    slow = Implementation("levelwise", lambda: round)
    operation = Operation("both", (quick, slow))
    assert get_backend("auto").implementation(operation) is quick
    with pytest.warns(UserWarning, match="no backward pass"):
        assert get_backend("auto", training=True).implementation(operation) is slow
    with pytest.raises(BackendError, match="no backward pass"):
        get_backend("fused", training=True).implementation(operation)
