"""Writing weights with fewer bytes: one per number for tables and transformers, two for all others."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from jaxtyping import Float, Float16, Int8
from torch import Tensor

from lexitree.saving.stored_arrays import SCALE
from lexitree.saving.stored_arrays import TableForm as TableForm

_LARGEST_BYTE = 127


def shrink_tensors(
    tensors: Mapping[str, Tensor], tables: Collection[str], form: TableForm
) -> dict[str, Tensor]:
    """Convert tensors to the form in which they are written.

    Args:
        tensors: The weights by name.
        tables: The names of those that `int8` writes with one byte per number.
        form: The form; `float32` keeps the precision that the tensors have.
    """
    shrunk: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu()
        if form == "int8" and name in tables:
            shrunk[name], shrunk[name + SCALE] = bytes_from_rows(tensor)
        else:
            shrunk[name] = (tensor if form == "float32" else half(tensor)).contiguous()
    return shrunk


def shrink_encoder(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert the weights of a transformer to int8: its matrices, which are nearly all of it, have a scale by row.

    A weight with two names is written once.
    """
    names: dict[int, str] = {}
    once = {name: each for name, each in weights.items() if names.setdefault(each.data_ptr(), name) == name}
    return shrink_tensors(once, [name for name, each in once.items() if each.ndim == 2], "int8")


def restore_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert tensors in `float16` or `int8` back to 32 bits.

    Raises:
        ValueError: If a tensor is of another type, or an int8 table has no scale.
    """
    scales = {name + SCALE for name, tensor in tensors.items() if tensor.dtype == torch.int8}
    return {
        name: _restore(name, tensor, tensors.get(name + SCALE))
        for name, tensor in tensors.items()
        if name not in scales
    }


def _restore(name: str, tensor: Tensor, scale: Tensor | None) -> Tensor:
    if tensor.dtype == torch.float16:
        return tensor.float()
    if tensor.dtype != torch.int8:
        raise ValueError(f"{name} must be float16, or int8 with a scale")
    if tensor.ndim != 2 or scale is None or scale.dtype != torch.float16 or scale.shape != tensor.shape[:1]:
        raise ValueError(f"{name} has no scale for each of its rows")
    return rows_from_bytes(tensor, scale)


def bytes_from_rows(
    table: Float[Tensor, "rows size"],
) -> tuple[Int8[Tensor, "rows size"], Float16[Tensor, " rows"]]:
    """Round a table to int8, with a scale for each row that maps its largest number to 127."""
    # A parser without vectors has a table without columns; the padding gives each row a maximum.
    largest = torch.nn.functional.pad(table.abs(), (0, 1)).amax(1)
    scale = half(largest / _LARGEST_BYTE)
    steps = table / torch.where(scale > 0, scale.float(), 1).unsqueeze(1)
    return steps.round().clamp(-_LARGEST_BYTE, _LARGEST_BYTE).to(torch.int8), scale


def rows_from_bytes(
    steps: Int8[Tensor, "rows size"], scale: Float16[Tensor, " rows"]
) -> Float[Tensor, "rows size"]:
    """Restore a table from `bytes_from_rows`, to within half a step."""
    return steps.float().mul_(scale.float().unsqueeze(1))


def half(tensor: Tensor) -> Tensor:
    """Round a tensor to 16 bits; numbers that are too large become the largest there is."""
    largest = torch.finfo(torch.float16).max
    return tensor.detach().clamp(-largest, largest).to(torch.float16)
