"""The name of a precision in, PyTorch's switches set: how exactly products of float32 numbers are computed."""

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
    """Whether there is such a precision; bf16 is for models that are trained."""
    choices = [name for name in get_args(Precision) if not (training and name == "bf16")]
    if precision not in choices:
        why = "bf16 is for prediction only" if precision == "bf16" else f"there is no precision '{precision}'"
        raise ConfigError(why, remedy=f"Choose one of: {', '.join(choices)}.")


def set_precision(precision: str) -> None:
    """Set PyTorch's own switch, which is one for the process; the fused kernels follow it."""
    torch.set_float32_matmul_precision(_MATMUL[precision])


@contextmanager
def products_in(precision: str) -> Generator[None, None, None]:
    """Compute in a precision, and leave the caller's process as it was."""
    before = torch.get_float32_matmul_precision()
    set_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
