"""Moves tensors between the host and a GPU without making either wait for the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt
import torch
from torch import Tensor


def send(tensor: Tensor, device: torch.device | str) -> Tensor:
    """Copy a tensor to a device; the host does not wait for a GPU to receive it."""
    if torch.device(device).type == "cuda" and not tensor.is_cuda:
        # Only a copy from pinned memory does not wait for the device.
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


class Arriving(NamedTuple):
    """A tensor on its way to the host."""

    on_host: Tensor
    arrived: torch.cuda.Event | None
    """When the numbers are there; None if they have been from the start."""

    @classmethod
    def of(cls, tensor: Tensor) -> Arriving:
        """Let a tensor leave its device after the work that computes it."""
        if not tensor.is_cuda:
            return cls(tensor.cpu(), None)
        on_host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        on_host.copy_(tensor, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record(torch.cuda.current_stream(tensor.device))
        return cls(on_host, arrived)

    def wait(self) -> npt.NDArray[Any]:
        """The numbers; waits for a GPU."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return self.on_host.numpy()
