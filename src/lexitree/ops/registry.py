"""The name of an implementation in, its functions out: which one runs is explicit and can be asked for."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from lexitree.errors import BackendError
from lexitree.ops import levelwise, reference
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    GatedChildrenWeights,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    TensorWeights,
    TopDownWeights,
)

BackendName = Literal["auto", "reference", "levelwise", "fused"]

FUSED_TYPES = (torch.float32, torch.bfloat16)
"""What the kernels compute in; tests in float64 take another implementation."""


OLDEST_TRITON = (3, 3)
"""The first with launches whose programs are all resident, without which a barrier might wait for ever."""
OLDEST_GPU = (8, 0)
"""The first compute capability with TF32, of which the kernels make float32 products."""


@runtime_checkable
class RunTopDown(Protocol):
    """Vectors in, top-down states out; with `source`, the row of x of each node, nodes can have rows in common."""

    def __call__(
        self, x: Tensor, weights: TopDownWeights, batch: TreeBatch, source: Tensor | None = None
    ) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class Backend:
    """One implementation of the recurrences; all have the same signatures and give the same tensors."""

    name: str
    compose_heads: Callable[[Tensor, HeadWeights | None, TreeBatch, HeadMethod], Tensor]
    run_bottom_up: Callable[[Tensor, BottomUpWeights, TreeBatch], Tensor]
    run_child_sum: Callable[[Tensor, ChildSumWeights, TreeBatch], Tensor]
    run_gated_children: Callable[[Tensor, GatedChildrenWeights, TreeBatch], Tensor]
    run_tensor_network: Callable[[Tensor, TensorWeights, TreeBatch], Tensor]
    run_top_down: RunTopDown
    run_sequences: Callable[[Tensor, SequenceWeights, SequenceSchedule], Tensor]


REFERENCE = Backend(
    "reference",
    reference.reference_compose_heads,
    reference.reference_run_bottom_up,
    reference.reference_run_child_sum,
    reference.reference_run_gated_children,
    reference.reference_run_tensor_network,
    reference.reference_run_top_down,
    reference.reference_run_sequences,
)
LEVELWISE = Backend(
    "levelwise",
    levelwise.levelwise_compose_heads,
    levelwise.levelwise_run_bottom_up,
    levelwise.levelwise_run_child_sum,
    levelwise.levelwise_run_gated_children,
    levelwise.levelwise_run_tensor_network,
    levelwise.levelwise_run_top_down,
    levelwise.levelwise_run_sequences,
)
BACKENDS = ("auto", "reference", "levelwise", "fused")


def check_backend(name: str) -> None:
    """Whether there is a backend of that name, wherever it may run."""
    if name not in BACKENDS:
        raise BackendError(
            f"there is no backend called '{name}'", remedy=f"Choose one of: {', '.join(BACKENDS)}."
        )


def get_backend(
    name: str = "auto", device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Backend:
    """The implementation of that name; `auto` is the fused one on a GPU and the level-wise one elsewhere."""
    check_backend(name)
    if name == "reference":
        return REFERENCE
    device_type = torch.device(device).type
    if name == "levelwise" or (name == "auto" and device_type != "cuda"):
        return LEVELWISE
    obstacle = why_not_fused(device_type, dtype)
    if obstacle is None:
        return _fused()
    if name == "fused":
        raise BackendError(f"the fused backend cannot run: {obstacle}", remedy="Choose auto or levelwise.")
    _report_fallback(obstacle)
    return LEVELWISE


def why_not_fused(device_type: str, dtype: torch.dtype) -> str | None:
    """What keeps the fused backend from running, None if nothing does."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed (pip install triton)"
    if dtype not in FUSED_TYPES:
        return f"it computes in float32 or bfloat16, not in {str(dtype).removeprefix('torch.')}"
    if device_type == "cuda":
        return _why_not_on_this_gpu()
    return None if _is_interpreted() else f"it needs a CUDA device, and this is {device_type}"


@functools.cache
def _why_not_on_this_gpu() -> str | None:
    version = importlib.metadata.version("triton")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_TRITON:
        oldest = ".".join(map(str, OLDEST_TRITON))
        return f"Triton {version} cannot keep all programs of a kernel running; {oldest} can"
    if torch.cuda.is_available() and torch.cuda.get_device_capability() < OLDEST_GPU:
        return f"{torch.cuda.get_device_name()} has no matrix units for float32"
    return None


def _is_interpreted() -> bool:
    from lexitree.ops.fused.launch import IS_INTERPRETED

    return IS_INTERPRETED


@functools.cache
def _fused() -> Backend:
    """Imported when it is needed: Triton may be missing, and takes its time."""
    from lexitree.ops import fused

    return Backend(
        "fused",
        fused.fused_compose_heads,
        fused.fused_run_bottom_up,
        levelwise.levelwise_run_child_sum,
        levelwise.levelwise_run_gated_children,
        levelwise.levelwise_run_tensor_network,
        fused.fused_run_top_down,
        levelwise.levelwise_run_sequences,
    )


@functools.cache
def _report_fallback(obstacle: str) -> None:
    warnings.warn(f"the level-wise backend runs on this GPU, since {obstacle}", stacklevel=2)
