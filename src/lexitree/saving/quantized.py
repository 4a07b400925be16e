"""Weights in, fewer bytes for the disk out, and back: tables with one byte a number, all else with two."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import torch
from jaxtyping import Float, Float16, Int8
from torch import Tensor

TableForm = Literal["float32", "float16", "int8"]
"""How the numbers of a table are written; with the two short forms, all other weights have 16 bits."""

SCALE = ".scale"
"""Beside a table of bytes stands a tensor with this after its name: what one of each row's steps is worth."""

LARGEST_BYTE = 127


def shrink_tensors(
    tensors: Mapping[str, Tensor], tables: Collection[str], form: TableForm
) -> dict[str, Tensor]:
    """The tensors as they are written; with float32 as they are, whatever that is."""
    shrunk: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu()
        if form == "int8" and name in tables:
            shrunk[name], shrunk[name + SCALE] = bytes_from_rows(tensor)
        else:
            shrunk[name] = (tensor if form == "float32" else half(tensor)).contiguous()
    return shrunk


def restore_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a short form in 32 bits; a ValueError for other numbers, and for bytes without their scale."""
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
        raise ValueError(f"{name} must hold numbers of 16 bits, or bytes with a scale")
    if tensor.ndim != 2 or scale is None or scale.dtype != torch.float16 or scale.shape != tensor.shape[:1]:
        raise ValueError(f"{name} has no scale for each of its rows")
    return rows_from_bytes(tensor, scale)


def bytes_from_rows(
    table: Float[Tensor, "rows size"],
) -> tuple[Int8[Tensor, "rows size"], Float16[Tensor, " rows"]]:
    """A byte for each number, and for each row what a step of one is worth: its largest number is 127 steps."""
    # A parser without vectors has a table without columns: beside one of zeros there is always a largest.
    largest = torch.nn.functional.pad(table.abs(), (0, 1)).amax(1)
    scale = half(largest / LARGEST_BYTE)
    steps = table / torch.where(scale > 0, scale.float(), 1).unsqueeze(1)
    return steps.round().clamp(-LARGEST_BYTE, LARGEST_BYTE).to(torch.int8), scale


def rows_from_bytes(
    steps: Int8[Tensor, "rows size"], scale: Float16[Tensor, " rows"]
) -> Float[Tensor, "rows size"]:
    """The inverse of `bytes_from_rows`, to within half a step."""
    return steps.float().mul_(scale.float().unsqueeze(1))


def half(tensor: Tensor) -> Tensor:
    """In 16 bits, which are enough for trained weights; what would be too large is made as large as it can be."""
    largest = torch.finfo(torch.float16).max
    return tensor.detach().clamp(-largest, largest).to(torch.float16)
