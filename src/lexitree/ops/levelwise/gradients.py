"""Gradients of the two squashing functions by their outputs, as the backward passes need them."""

from __future__ import annotations

import torch
from torch import Tensor


def sigmoid_gradient(gradient: Tensor, output: Tensor) -> Tensor:
    """The gradient of the input of a sigmoid, from that of its output."""
    return torch.ops.aten.sigmoid_backward(gradient, output)


def tanh_gradient(gradient: Tensor, output: Tensor) -> Tensor:
    """The gradient of the input of a tanh, from that of its output."""
    return torch.ops.aten.tanh_backward(gradient, output)
