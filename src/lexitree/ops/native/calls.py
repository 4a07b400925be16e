"""What the native implementations share: the kernels for a tensor's precision, and contiguous tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from lexitree.kernels.library import Kernels, find_kernels

_PRECISIONS = {torch.float32: "f32", torch.float64: "f64"}


def kernels_for(tensor: Tensor) -> Kernels:
    """The kernels that compute in the precision of a tensor."""
    return find_kernels(_PRECISIONS[tensor.dtype])


def in_rows(tensor: Tensor | None) -> Tensor | None:
    """A tensor whose numbers lie one after the other."""
    return None if tensor is None else tensor.contiguous()
