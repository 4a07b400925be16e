"""Chooses the device that a model runs on, and how exactly it multiplies float32 numbers.

torch is imported only where something other than a CPU may be meant.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from lexitree.errors import BackendError, ConfigError, import_extra

if TYPE_CHECKING:
    import torch

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
    import torch

    torch.set_float32_matmul_precision(_MATMUL[precision])


@contextmanager
def products_in(precision: str) -> Generator[None, None, None]:
    """Compute the block in a precision, and restore the process's setting afterwards."""
    import torch

    before = torch.get_float32_matmul_precision()
    set_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def choose_device(device: str) -> str:
    """Resolve the name of a device.

    Args:
        device: `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1` or another name that PyTorch knows.

    Returns:
        The name of a device that is present and works.

    Raises:
        BackendError: There is no such device, or it lacks the numbers that lexitree needs.
    """
    if device == "auto":
        return _best_device()
    if device == "cpu":
        return device
    torch: Any = import_extra("torch", extra="train", purpose=f"The device '{device}'")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise BackendError("this machine has no CUDA device", remedy="Use --device cpu or --device auto.")
    try:
        # A name can be right and the device still be missing, or hold no numbers ("meta"): try it.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BackendError(
            f"there is no device called '{device}' here", remedy="Use --device cpu or --device auto."
        ) from error
    _try_float64(device)
    return device


def device_type(device: str | torch.device) -> str:
    """The kind of a device: cuda for `cuda:1`."""
    return str(device).partition(":")[0]


def _best_device() -> str:
    if not _may_have_gpu():
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _may_have_gpu() -> bool:
    """Whether it is worth a second to import torch and ask it for a GPU."""
    if importlib.util.find_spec("torch") is None or sys.platform == "darwin":
        return False
    # The driver of an NVIDIA GPU shows itself here on Linux, also in a container; WSL has the other name.
    return sys.platform != "linux" or any(Path(path).exists() for path in ("/dev/nvidiactl", "/dev/dxg"))


def _try_float64(device: str) -> None:
    """Some devices, such as mps, have no float64, which parts of the arithmetic need."""
    import torch

    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise BackendError(
            f"the device '{device}' has no 64-bit numbers (float64), which lexitree needs",
            remedy="Use --device cpu.",
        ) from error
