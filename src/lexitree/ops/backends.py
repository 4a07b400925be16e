"""The name of an implementation in, its functions out: which one runs is explicit and can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.errors import BackendError
from lexitree.ops import levelwise, reference
from lexitree.ops.sequences import SequenceSchedule
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    TopDownWeights,
)

BackendName = Literal["auto", "reference", "levelwise"]


@dataclass(frozen=True, slots=True)
class Backend:
    """One implementation of the recurrences; all have the same signatures and give the same tensors."""

    name: str
    compose_heads: Callable[[Tensor, HeadWeights | None, TreeBatch, HeadMethod], Tensor]
    run_bottom_up: Callable[[Tensor, BottomUpWeights, TreeBatch], Tensor]
    run_child_sum: Callable[[Tensor, ChildSumWeights, TreeBatch], Tensor]
    run_top_down: Callable[[Tensor, TopDownWeights, TreeBatch], Tensor]
    run_sequences: Callable[[Tensor, SequenceWeights, SequenceSchedule], Tensor]


REFERENCE = Backend(
    "reference",
    reference.reference_compose_heads,
    reference.reference_run_bottom_up,
    reference.reference_run_child_sum,
    reference.reference_run_top_down,
    reference.reference_run_sequences,
)
LEVELWISE = Backend(
    "levelwise",
    levelwise.levelwise_compose_heads,
    levelwise.levelwise_run_bottom_up,
    levelwise.levelwise_run_child_sum,
    levelwise.levelwise_run_top_down,
    levelwise.levelwise_run_sequences,
)
BACKENDS = {backend.name: backend for backend in (REFERENCE, LEVELWISE)}


def get_backend(name: str = "auto") -> Backend:
    """The implementation of that name; `auto` is the level-wise one."""
    if name == "auto":
        return LEVELWISE
    if name not in BACKENDS:
        known = ", ".join(["auto", *BACKENDS])
        raise BackendError(f"there is no backend called '{name}'", remedy=f"Choose one of: {known}.")
    return BACKENDS[name]
