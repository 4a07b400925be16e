"""Calls of kernels: every array is compared with the numbers that C goes by before C gets its address."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from lexitree.errors import SizeError
from lexitree.kernels.signatures import Shape, Signature

_NO_MEMORY, _WRONG_INDICES = 1, 2
"""What kernels return; see indices.h."""
_NUMPY_TYPES = {name: np.dtype(name).str for name in ("float32", "float64", "int64", "bool")}
_REAL = {"f32": "float32", "f64": "float64"}
_REMEDY = (
    "Make trees with lexitree.TreeBatch.from_trees, and give each a vector of the size that the weights have."
)


class _Array(NamedTuple):
    """An array among the arguments of a kernel."""

    name: str
    dtype: str
    numpy_type: str
    is_optional: bool


def checked_kernel(function: Any, name: str, signature: Signature, precision: str) -> Callable[..., None]:
    """The function of a kernel, which takes tensors and arrays in the place of addresses.

    Args:
        function: The function of the C library; its types are set.
        name: The name of the kernel.
        signature: Its arguments.
        precision: The precision of its numbers, f32 or f64.
    """
    arguments = signature.arguments.split()
    function.argtypes = [_type_of(each) for each in arguments]
    arrays = _arrays_of(arguments, precision)
    sizes = [number for number, each in enumerate(arguments) if each.startswith("#")]
    # A slice for a single number, which would come without its tuple.
    take_sizes: Any = itemgetter(*sizes) if len(sizes) > 1 else itemgetter(slice(sizes[0], sizes[0] + 1))
    shapes_of = signature.shapes

    def run(*given: Any) -> None:
        called = list(given)
        for (position, array), shape in zip(arrays, shapes_of(*take_sizes(given)), strict=True):
            called[position] = _address(name, array, given[position], shape)
        failed = function(*called)
        if failed == _NO_MEMORY:
            raise MemoryError
        if failed == _WRONG_INDICES:
            raise _wrong_indices(name, arguments, given)

    return run


def _type_of(argument: str) -> Any:
    return {"#": ctypes.c_int64, "~": ctypes.c_double}.get(argument[0], ctypes.c_void_p)


def _arrays_of(arguments: Sequence[str], precision: str) -> list[tuple[int, _Array]]:
    """The arrays among some arguments, each with its position."""
    found: list[tuple[int, _Array]] = []
    for position, argument in enumerate(arguments):
        if argument[0] not in "#~":
            dtype = {":": "int64", "=": "int64", "!": "bool"}.get(argument[-1], _REAL[precision])
            is_optional = argument.endswith("?")
            array = _Array(argument.rstrip(":=!?"), dtype, _NUMPY_TYPES[dtype], is_optional)
            found.append((position, array))
    return found


def _address(name: str, array: _Array, value: Any, shape: Shape | None) -> int | None:
    """Where the numbers of an array lie that is as C will use it.

    Raises:
        SizeError: It has another shape or type, has gaps, or is not in the memory of the processor.
    """
    if value is None or shape is None:
        if value is None and (shape is None or array.is_optional):
            return None
    elif isinstance(value, np.ndarray):
        # Unlike `ctypes.data`, this makes no object. The strides are given where there are gaps.
        found: dict[str, Any] = value.__array_interface__
        if found["shape"] == shape and found["typestr"] == array.numpy_type and found["strides"] is None:
            return found["data"][0]
    elif (
        value.shape == shape
        and _torch_names[value.dtype] == array.dtype
        and value.is_cpu
        and value.is_contiguous()
    ):
        return value.data_ptr()
    raise _wrong_array(name, array, value, shape)


class _TorchNames(dict[Any, str]):
    """The names of torch's types, such as float32, without an import of torch; making one takes long."""

    def __missing__(self, dtype: Any) -> str:
        name = self[dtype] = str(dtype).removeprefix("torch.")
        return name


_torch_names = _TorchNames()


def _wrong_array(name: str, array: _Array, value: Any, shape: Shape | None) -> SizeError:
    place = f"'{array.name}' of the kernel {name}"
    if value is None or shape is None:
        return SizeError(f"{place} is {'missing' if value is None else 'given without others of its kind'}")
    if tuple(value.shape) != shape:
        return SizeError(
            f"{place} has the shape {list(value.shape)}, and the other sizes ask for {list(shape)}",
            remedy=_REMEDY,
        )
    found = str(value.dtype).removeprefix("torch.")
    if found != array.dtype:
        return SizeError(f"{place} is of type {found}, and the kernel reads {array.dtype}")
    return SizeError(f"{place} must lie in the memory of the processor, its rows one after the other")


def _wrong_indices(name: str, arguments: Sequence[str], given: Sequence[Any]) -> SizeError:
    named = list(zip(arguments, given, strict=True))
    sizes = ", ".join(f"{argument[1:]} {int(value)}" for argument, value in named if argument[0] == "#")
    indices = [
        f"'{argument[:-1]}' from {int(value.min())} to {int(value.max())}"
        for argument, value in named
        if argument[-1] == ":" and len(value)
    ]
    return SizeError(
        f"indices given to the kernel {name} do not fit its sizes ({sizes}): {', '.join(indices)}",
        remedy=_REMEDY,
    )
