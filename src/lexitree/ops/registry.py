"""The operations of the models: which implementations each has, what they can do, and which of them runs.

`reference` reads like the paper, `levelwise` computes all trees of a batch one level at a time, `native` runs all
levels in one call of C on a CPU, and `fused` in one GPU kernel. Not every operation has all four. A model asks
`get_backend` for what a user chose and calls `backend[BOTTOM_UP](...)`; `Backend.report` tells what really runs,
operation by operation.

A model of NumPy arrays, which needs no torch, has `numpy` and, for some operations, `native`. It prepares its weights
once and calls what `Backend.on_arrays` returns:

    backend = get_backend("auto", library="numpy")
    prepared = backend.prepare(BOTTOM_UP, weights)
    h = backend.on_arrays(BOTTOM_UP)(x, prepared, layout)

To add an implementation, write a function with the operation's signature and list it below, fastest first.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast, runtime_checkable

from lexitree.errors import BackendError
from lexitree.kernels.library import why_absent
from lexitree.ops.weights import HeadMethod

if TYPE_CHECKING:
    import torch
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

BACKENDS = ("auto", "reference", "levelwise", "numpy", "native", "fused")
"""What a user may ask for; `auto` takes the fastest implementation of each operation that is made for the device."""

Library = Literal["torch", "numpy"]
"""Whose arrays an implementation takes: tensors of torch, or NumPy arrays."""

BACKENDS_OF: Mapping[str, tuple[str, ...]] = {
    "torch": tuple(name for name in BACKENDS if name != "numpy"),
    "numpy": ("auto", "numpy", "native"),
}
"""What can be asked for by library."""

OLDEST_TRITON = (3, 3)
"""The first version that can keep all programs of a kernel resident; without it a barrier might wait forever."""
OLDEST_GPU = (8, 0)
"""The first compute capability with TF32, which the kernels build float32 products from."""

Run = TypeVar("Run", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Implementation(Generic[Run]):
    """One implementation of an operation, and what it can do."""

    backend: str
    """The name that a user asks for."""
    load: Callable[[], Run]
    """Returns the function. It is imported only here: torch or Triton may be missing, and both are slow to import."""
    library: Library = "torch"
    """Whose arrays it takes."""
    prepare: Callable[[Any], Any] = lambda weights: weights
    """Makes of weights what the function reads fastest, once for many calls; it also takes the weights themselves."""
    device_type: str | None = None
    """The kind of device it is made for, None for any."""
    dtypes: tuple[str, ...] | None = None
    """The names of the types it computes in, None for any."""
    trains: bool = True
    """Whether it has a backward pass."""
    waits_for_host: bool = False
    """Whether a GPU has to wait for the host in the middle of it."""
    is_recordable: bool = False
    """Whether a GPU can record it once and replay it on other batches: the host need not know the levels."""
    shares_nodes: bool = False
    """Whether it is used on trees that share nodes. The reference reads single trees, to compare sharing with."""
    may_be_absent: bool = False
    """Whether nobody is told when the next one runs instead, but by `Backend.report`."""
    requirement: Callable[[str], str | None] = lambda _: None
    """What else keeps it from running on a kind of device, None if nothing does."""

    def obstacle(self, device_type: str, dtype: torch.dtype | str, *, training: bool = False) -> str | None:
        """What keeps it from running, None if nothing does."""
        if training and not self.trains:
            return "it has no backward pass"
        name = _name_of(dtype)
        if self.dtypes is not None and name not in self.dtypes:
            return f"it computes in {' or '.join(self.dtypes)}, not in {name}"
        return self.requirement(device_type)


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Generic[Run]):
    """Something that models compute, with its implementations: same arguments, same results."""

    name: str
    implementations: tuple[Implementation[Run], ...]
    """Fastest first."""
    is_forward: bool = True
    """Whether it takes vectors and weights and is part of a model's forward pass, where autocast may be on."""

    def find(self, backend: str, library: Library = "torch") -> Implementation[Run] | None:
        """The implementation of that name, if there is one."""
        found = (each for each in self.implementations if (each.backend, each.library) == (backend, library))
        return next(found, None)


def check_known(name: str) -> None:
    """Check that there is a backend of this name, for whatever arrays.

    Raises:
        BackendError: If there is none.
    """
    if name not in BACKENDS:
        raise BackendError(f"unknown backend '{name}'", remedy=f"Choose one of: {', '.join(BACKENDS)}.")


def check_backend(
    name: str, operations: Iterable[Operation[Any]] = (), *, library: Library = "torch"
) -> None:
    """Check that a backend exists for a library's arrays and, where operations are given, that one of them has it.

    Raises:
        BackendError: If it does not exist, or none of the operations has it.
    """
    check_known(name)
    if name not in BACKENDS_OF[library]:
        why = "needs torch" if library == "numpy" else "takes NumPy arrays, and this model has tensors"
        raise BackendError(
            f"the {name} backend {why}", remedy=f"Choose one of: {', '.join(BACKENDS_OF[library])}."
        )
    operations = list(operations)
    if name != "auto" and operations and not any(operation.find(name, library) for operation in operations):
        names = ", ".join(operation.name for operation in operations)
        raise BackendError(
            f"this model has no {name} implementation: there is none of {names}", remedy="Choose auto."
        )


def get_backend(
    name: str = "auto",
    device: torch.device | str = "cpu",
    dtype: torch.dtype | str = "float32",
    *,
    training: bool = False,
    library: Library = "torch",
) -> Backend:
    """What runs on a device when a user asks for a backend by name."""
    check_backend(name, library=library)
    return _get_backend(name, _device_type(device, library), _name_of(dtype), training, library)


def _device_type(device: torch.device | str, library: Library) -> str:
    if library == "numpy":
        return str(device)
    import torch

    return torch.device(device).type


def _name_of(dtype: torch.dtype | str) -> str:
    """The name of a type of numbers, such as float32."""
    return str(dtype).removeprefix("torch.")


def describe_report(report: Mapping[str, str]) -> str:
    """What runs in words: "the fused backend", or "levelwise (sequences), fused (bottom_up)" where it differs."""
    names = list(dict.fromkeys(report.values()))
    if len(names) < 2:
        return f"the {names[0]} backend" if names else "no tree operation"
    by_name = [(name, [operation for operation, runs in report.items() if runs == name]) for name in names]
    return ", ".join(f"{name} ({', '.join(operations)})" for name, operations in by_name)


class Backend:
    """One implementation for each operation.

    An operation without the implementation that was asked for takes the one that `auto` would choose, and `report`
    says so.
    """

    def __init__(self, asked: str, device_type: str, dtype: str, training: bool, library: Library) -> None:
        self._asked = asked
        self._device_type = device_type
        self._dtype = dtype
        self._training = training
        self._library: Library = library
        self._functions: dict[Operation[Any], Any] = {}

    def __getitem__(self, operation: Operation[Run]) -> Run:
        """The function that computes an operation."""
        if operation not in self._functions:
            function = self.implementation(operation).load()
            has_autocast = operation.is_forward and self._library == "torch"
            self._functions[operation] = _outside_autocast(function) if has_autocast else function
        return self._functions[operation]

    def on_arrays(self, operation: Operation[Any]) -> Callable[..., Any]:
        """The same for NumPy arrays, which the signatures of operations do not name: arrays in, arrays out."""
        return self[operation]

    def prepare(self, operation: Operation[Any], weights: Any) -> Any:
        """The weights of an operation as its function reads them fastest: made once, and passed in their place."""
        return self.implementation(operation).prepare(weights)

    def implementation(self, operation: Operation[Run]) -> Implementation[Run]:
        """The implementation of an operation that runs.

        Raises:
            BackendError: If it was asked for by name and cannot run here.
        """
        named = operation.find(self._asked, self._library)
        if named is None:
            return self._fastest(operation)
        obstacle = self._obstacle(named)
        if obstacle is not None:
            slower = "levelwise" if self._library == "torch" else "numpy"
            raise BackendError(
                f"the {named.backend} backend cannot run: {obstacle}", remedy=f"Choose auto or {slower}."
            )
        return named

    def report(self, operations: Iterable[Operation[Any]]) -> dict[str, str]:
        """What runs, by operation: {"bottom_up": "fused", "sequences": "levelwise"}."""
        return {operation.name: self.implementation(operation).backend for operation in operations}

    def _fastest(self, operation: Operation[Run]) -> Implementation[Run]:
        """The fastest implementation that is made for the device and can run there."""
        for each in operation.implementations:
            if each.library == self._library and each.device_type in (None, self._device_type):
                obstacle = self._obstacle(each)
                if obstacle is None:
                    return each
                if not each.may_be_absent:
                    _warn_of_fallback(each.backend, obstacle)
        if not any(each.library == self._library for each in operation.implementations):
            raise BackendError(f"no implementation of {operation.name} takes the arrays of {self._library}")
        raise BackendError(f"no implementation of {operation.name} can run on {self._device_type}")

    def _obstacle(self, implementation: Implementation[Any]) -> str | None:
        return implementation.obstacle(self._device_type, self._dtype, training=self._training)


_get_backend = functools.cache(Backend)


@functools.cache
def _warn_of_fallback(backend: str, obstacle: str) -> None:
    warnings.warn(f"the {backend} backend does not run on this GPU: {obstacle}", stacklevel=2)


def _outside_autocast(function: Run) -> Run:
    """The function in the precision of its weights, whatever autocast is set to and whatever type the vectors have.

    A recurrence adds up rounding errors level by level, and writes into buffers, which autocast does not follow.
    """
    import torch

    @functools.wraps(function)
    def run(x: Tensor, weights: Any, *arguments: Any) -> Tensor:
        x = x.to(_precision(weights, x.dtype))
        if not torch.is_autocast_enabled(x.device.type):
            return function(x, weights, *arguments)
        with torch.autocast(x.device.type, enabled=False):
            return function(x, weights, *arguments)

    return cast(Run, run)


def _precision(weights: Any, default: torch.dtype) -> torch.dtype:
    """The type of the weights of an operation, or of a module; the default if there are none."""
    import torch

    parameters = weights.parameters() if isinstance(weights, torch.nn.Module) else weights or ()
    return next((each.dtype for each in parameters if each is not None), default)


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
