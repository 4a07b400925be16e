"""The operations of the models, with the implementations that each has.

`reference` reads like the paper, `levelwise` computes all trees of a batch one level at a time, `native` runs all
levels in one call of C on a CPU, and `fused` in one GPU kernel. Not every operation has all four. For NumPy arrays,
there are `numpy` and, for some operations, `native`. `lexitree.ops.registry` chooses among them.

To add an implementation, write a function with the operation's signature and list it below, fastest first.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lexitree.kernels.library import why_absent
from lexitree.ops.registry import Implementation, Operation
from lexitree.ops.weights import HeadMethod

if TYPE_CHECKING:
    from torch import Tensor

    from lexitree.ops.spans import SequenceSchedule
    from lexitree.ops.tree_batch import TreeBatch
    from lexitree.ops.weights import (
        BottomUpWeights,
        ChildSumWeights,
        GatedChildrenWeights,
        HeadWeights,
        SequenceWeights,
        ShareOfLeft,
        TensorWeights,
        TopDownWeights,
    )

OLDEST_TRITON = (3, 3)
"""The first version that can keep all programs of a kernel resident; without it a barrier might wait forever."""
OLDEST_GPU = (8, 0)
"""The first compute capability with TF32, which the kernels build float32 products from."""


def _why_no_triton(device_type: str) -> str | None:
    """What keeps a Triton kernel from running."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed (pip install triton)"
    if device_type == "cuda":
        return _why_not_on_this_gpu()
    return None if _is_interpreted() else f"it needs a CUDA device, and this is {device_type}"


@functools.cache
def _why_not_on_this_gpu() -> str | None:
    version = importlib.metadata.version("triton")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_TRITON:
        oldest = ".".join(map(str, OLDEST_TRITON))
        return f"Triton {version} cannot keep all programs of a kernel running; {oldest} can"
    import torch

    if torch.cuda.is_available() and torch.cuda.get_device_capability() < OLDEST_GPU:
        return f"{torch.cuda.get_device_name()} has no matrix units for float32"
    return None


def _is_interpreted() -> bool:
    from lexitree.ops.fused.launch import IS_INTERPRETED

    return IS_INTERPRETED


def _loaded_from(module: str, function: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module(f"lexitree.ops.{module}"), function)


def _reference(function: str) -> Implementation[Any]:
    return Implementation("reference", _loaded_from("reference", function), waits_for_host=True)


def _levelwise(function: str, *, waits_for_host: bool = False) -> Implementation[Any]:
    return Implementation(
        "levelwise",
        _loaded_from("levelwise", function),
        waits_for_host=waits_for_host,
        shares_nodes=True,
    )


def _native(function: str) -> Implementation[Any]:
    return Implementation(
        "native",
        _loaded_from("native", function),
        device_type="cpu",
        dtypes=("float32", "float64"),
        shares_nodes=True,
        may_be_absent=True,
        requirement=_why_not_native,
    )


def _why_not_native(device_type: str) -> str | None:
    """What keeps a native kernel from running."""
    return _why_no_cpu(device_type) or why_absent()


def _why_no_cpu(device_type: str) -> str | None:
    return None if device_type == "cpu" else f"it needs a CPU, and this is {device_type}"


def _fused(function: str) -> Implementation[Any]:
    return Implementation(
        "fused",
        _loaded_from("fused", function),
        device_type="cuda",
        dtypes=("float32", "bfloat16"),
        is_recordable=True,
        requirement=_why_no_triton,
    )


def _native_on_arrays(function: str, prepare: str | None = None) -> Implementation[Any]:
    def pack(weights: Any) -> Any:
        return weights if prepare is None else _loaded_from("numpy.native", prepare)()(weights)

    load = _loaded_from("numpy.native", function)
    return replace(_native(function), load=load, library="numpy", prepare=pack, trains=False)


def _numpy(function: str) -> Implementation[Any]:
    return Implementation(
        "numpy",
        _loaded_from("numpy", function),
        library="numpy",
        device_type="cpu",
        dtypes=("float32", "float64"),
        trains=False,
        shares_nodes=True,
        requirement=_why_no_cpu,
    )


@runtime_checkable
class RunTopDown(Protocol):
    """With `source`, the row of x of each node, nodes can have rows in common."""

    def __call__(
        self, x: Tensor, weights: TopDownWeights, batch: TreeBatch, source: Tensor | None = None
    ) -> Tensor: ...


if TYPE_CHECKING:
    ComposeHeads = Callable[[Tensor, HeadWeights | None, TreeBatch, HeadMethod, Tensor | None], Tensor]

COMPOSE_HEADS: Operation[ComposeHeads] = Operation(
    "compose_heads",
    (
        _fused("fused_compose_heads"),
        _native("native_compose_heads"),
        _levelwise("levelwise_compose_heads"),
        _reference("reference_compose_heads"),
        _native_on_arrays("native_array_heads", "pack_heads"),
        _numpy("numpy_compose_heads"),
    ),
)
"""By the learned gate."""
FIXED_HEADS: Operation[ComposeHeads] = Operation(
    "compose_heads",
    (
        _fused("fused_compose_heads"),
        _levelwise("levelwise_compose_heads"),
        _reference("reference_compose_heads"),
        _numpy("numpy_compose_heads"),
    ),
)
"""By another head method: without products, a native kernel has nothing to gain."""
HEADS_AND_SHARES: Operation[Callable[..., Any]] = Operation(
    "compose_heads",
    (
        _native_on_arrays("native_array_heads_and_shares", "pack_heads"),
        _numpy("numpy_heads_and_shares"),
    ),
)
"""By the learned gate, with the gate of every phrase beside the head vectors; for NumPy arrays only."""
MIX_HEADS: Operation[Callable[[Tensor, ShareOfLeft, TreeBatch], Tensor]] = Operation(
    "mix_heads",
    (
        # The host asks for the children, to call a gate that may be any Python code.
        _levelwise("levelwise_mix_heads", waits_for_host=True),
        _reference("reference_mix_heads"),
    ),
)
BOTTOM_UP: Operation[Callable[[Tensor, BottomUpWeights, TreeBatch], Tensor]] = Operation(
    "bottom_up",
    (
        _fused("fused_run_bottom_up"),
        _native("native_run_bottom_up"),
        _levelwise("levelwise_run_bottom_up"),
        _reference("reference_run_bottom_up"),
        _native_on_arrays("native_array_bottom_up", "pack_bottom_up"),
        _numpy("numpy_run_bottom_up"),
    ),
)
TOP_DOWN: Operation[RunTopDown] = Operation(
    "top_down",
    (
        _fused("fused_run_top_down"),
        _native("native_run_top_down"),
        _levelwise("levelwise_run_top_down"),
        _reference("reference_run_top_down"),
        _native_on_arrays("native_array_top_down", "pack_top_down"),
        _numpy("numpy_run_top_down"),
    ),
)
CHILD_SUM: Operation[Callable[[Tensor, ChildSumWeights, TreeBatch], Tensor]] = Operation(
    "child_sum",
    (
        # The host asks for the numbers of edges of the levels.
        _levelwise("levelwise_run_child_sum", waits_for_host=True),
        _reference("reference_run_child_sum"),
        _numpy("numpy_run_child_sum"),
    ),
)
GATED_CHILDREN: Operation[Callable[[Tensor, GatedChildrenWeights, TreeBatch], Tensor]] = Operation(
    "gated_children",
    (
        # The host asks which children are words.
        _levelwise("levelwise_run_gated_children", waits_for_host=True),
        _reference("reference_run_gated_children"),
        _numpy("numpy_run_gated_children"),
    ),
)
TENSOR_NETWORK: Operation[Callable[[Tensor, TensorWeights, TreeBatch], Tensor]] = Operation(
    "tensor_network",
    (
        _levelwise("levelwise_run_tensor_network"),
        _reference("reference_run_tensor_network"),
        _numpy("numpy_run_tensor_network"),
    ),
)
SEQUENCES: Operation[Callable[[Tensor, SequenceWeights, SequenceSchedule], Tensor]] = Operation(
    "sequences",
    (
        _native("native_run_sequences"),
        # The schedule is made on the host.
        _levelwise("levelwise_run_sequences", waits_for_host=True),
        _reference("reference_run_sequences"),
        _native_on_arrays("native_array_sequences", "pack_sequences"),
        _numpy("numpy_run_sequences"),
    ),
)
UPDATE_ROWS: Operation[Callable[..., None]] = Operation(
    "update_rows",
    (_fused("fused_update_rows"), _reference("reference_update_rows")),
    is_forward=False,
)
FIND_HEADS: Operation[Callable[..., Any]] = Operation(
    "find_heads", (_native_on_arrays("native_array_find_heads"), _numpy("numpy_find_heads"))
)
"""The head word of every node, for NumPy arrays only."""
GATHER_FEATURES: Operation[Callable[..., Any]] = Operation(
    "gather_features", (_native_on_arrays("native_array_features"), _numpy("numpy_gather_features"))
)
"""The features of a top-down or bidirectional model, for NumPy arrays only."""
DENSE: Operation[Callable[..., Any]] = Operation(
    "dense", (_native_on_arrays("native_array_dense", "pack_dense"), _numpy("numpy_run_dense"))
)
"""A dense layer, for NumPy arrays only: torch has its own."""


def compose_heads_by(method: HeadMethod) -> Operation[ComposeHeads]:
    """The operation that composes head vectors by a head method."""
    return COMPOSE_HEADS if method == "G" else FIXED_HEADS
