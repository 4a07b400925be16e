"""Chooses the device that a model runs on, and checks that it works."""

from __future__ import annotations

import torch

from lexitree.errors import BackendError


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
        return "cuda" if torch.cuda.is_available() else "cpu"
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


def _try_float64(device: str) -> None:
    """Some devices, such as mps, have no float64, which parts of the arithmetic need."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise BackendError(
            f"the device '{device}' has no 64-bit numbers (float64), which lexitree needs",
            remedy="Use --device cpu.",
        ) from error
