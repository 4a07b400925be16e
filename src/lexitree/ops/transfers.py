"""Moves tensors between the host and a GPU without making either wait for the other."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from lexitree.pending import Pending, done


def send(tensor: Tensor, device: torch.device | str) -> Tensor:
    """Copy a tensor to a device; the host does not wait for a GPU to receive it."""
    if torch.device(device).type == "cuda" and not tensor.is_cuda:
        # Only a copy from pinned memory does not wait for the device.
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def leave(tensor: Tensor) -> Pending[npt.NDArray[Any]]:
    """Let a tensor leave its device for the host, after the work that computes it."""
    if not tensor.is_cuda:
        numbers: npt.NDArray[Any] = tensor.cpu().numpy()
        return done(numbers)
    on_host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    on_host.copy_(tensor, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(tensor.device))

    def wait() -> npt.NDArray[Any]:
        arrived.synchronize()
        return on_host.numpy()

    return Pending(wait)
