"""Launches the kernels: how many programs run, in which tiles and with which precision."""

from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lexitree.ops.tree_batch import TreeBatch

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Triton can run kernels as plain Python, one program after the other: slow, but it needs no GPU."""


class Tiles(NamedTuple):
    """The tile sizes of products: rows and columns that a program computes at once, and inputs it sums at a time."""

    rows: int
    columns: int
    inner: int
    warps: int


NARROW = Tiles(rows=16, columns=16, inner=32, warps=4)
MEDIUM = Tiles(rows=16, columns=32, inner=32, warps=4)
WIDE = Tiles(rows=32, columns=32, inner=32, warps=4)


def choose_tiles(batch: TreeBatch) -> Tiles:
    """Small tiles spread a narrow level over more multiprocessors, large ones read weights less often."""
    if IS_INTERPRETED or batch.num_trees <= 64:
        return NARROW
    return MEDIUM if batch.num_trees <= 256 else WIDE


@functools.cache
def num_programs(device: torch.device) -> int:
    """One program per multiprocessor; only one when interpreted, as programs cannot wait for each other then."""
    return 1 if IS_INTERPRETED else torch.cuda.get_device_properties(device).multi_processor_count


def product_precision() -> str:
    """The precision of float32 products by PyTorch's own switch: full unless the user allowed TF32.

    Full precision is three TF32 products, of the leading and the trailing digits. Measured against float64, they
    are more accurate than Triton's own float32 products.
    """
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def launch(kernel: Any, batch: TreeBatch, *arguments: object, **constants: object) -> None:
    """Run a kernel over all levels of a batch; all of its programs are resident at the same time."""
    tiles = choose_tiles(batch)
    arrivals = torch.zeros(1, dtype=torch.int32, device=batch.device)
    options: dict[str, Any] = {} if IS_INTERPRETED else {"launch_cooperative_grid": True}
    kernel[(num_programs(batch.device),)](
        *arguments,
        arrivals,
        **constants,
        ROWS=tiles.rows,
        COLUMNS=tiles.columns,
        INNER=tiles.inner,
        PRECISION=product_precision(),
        num_warps=tiles.warps,
        **options,
    )


def zeros(like: Tensor, *shapes: tuple[int, int]) -> list[Tensor]:
    """Several float32 matrices, zero, in one allocation: rows that no level reaches stay zero."""
    sizes = [rows * columns for rows, columns in shapes]
    # Each starts at a multiple of 16 bytes: kernels are compiled anew for addresses that do not.
    padded = [-(-size // 4) * 4 for size in sizes]
    parts = torch.split(torch.zeros(sum(padded), dtype=torch.float32, device=like.device), padded)
    return [part[:size].view(shape) for part, size, shape in zip(parts, sizes, shapes, strict=True)]
