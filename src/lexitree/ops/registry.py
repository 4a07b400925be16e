"""Chooses which implementation of an operation runs; `lexitree.ops.operations` lists the operations.

A model asks `get_backend` for what a user chose and calls `backend[BOTTOM_UP](...)`; `Backend.report` tells what
really runs, operation by operation.

A model of NumPy arrays, which needs no torch, prepares its weights once and calls what `Backend.on_arrays` returns:

    backend = get_backend("auto", library="numpy")
    prepared = backend.prepare(BOTTOM_UP, weights)
    h = backend.on_arrays(BOTTOM_UP)(x, prepared, layout)
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from lexitree.errors import BackendError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BACKENDS = ("auto", "reference", "levelwise", "numpy", "native", "fused")
"""What a user may ask for; `auto` takes the fastest implementation of each operation that is made for the device."""

Library = Literal["torch", "numpy"]
"""Whose arrays an implementation takes: tensors of torch, or NumPy arrays."""

BACKENDS_OF: Mapping[str, tuple[str, ...]] = {
    "torch": tuple(name for name in BACKENDS if name != "numpy"),
    "numpy": ("auto", "numpy", "native"),
}
"""What can be asked for by library."""

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
