"""Sets how exactly PyTorch computes products of float32 numbers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal, get_args

import torch

from lexitree.errors import ConfigError

Precision = Literal["float32", "tf32", "bf16"]
"""float32 throughout; products on a GPU's matrix units with 10 bits (tf32); all of it with 8 bits (bf16)."""

_MATMUL = {"float32": "highest", "tf32": "high", "bf16": "highest"}


def check_precision(precision: str, *, training: bool = False) -> None:
    """Check that a precision exists; bf16 is for prediction only.

    Raises:
        ConfigError: If it is unknown, or cannot be used for training.
    """
    choices = [name for name in get_args(Precision) if not (training and name == "bf16")]
    if precision not in choices:
        why = "bf16 is for prediction only" if precision == "bf16" else f"unknown precision '{precision}'"
        raise ConfigError(why, remedy=f"Choose one of: {', '.join(choices)}.")


def set_precision(precision: str) -> None:
    """Set PyTorch's own switch, which holds for the whole process; the fused kernels follow it."""
    torch.set_float32_matmul_precision(_MATMUL[precision])


@contextmanager
def products_in(precision: str) -> Generator[None, None, None]:
    """Compute the block in a precision, and restore the process's setting afterwards."""
    before = torch.get_float32_matmul_precision()
    set_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
