"""Pieces that all recurrences share: weights made ready, the squashing functions' gradients, a Function applied."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor


def for_products(weight: Tensor) -> Tensor:
    """The transpose of a weight, laid out anew once a batch: narrow levels multiply by it faster than by a view."""
    return weight.mT.contiguous()


def sigmoid_gradient(gradient: Tensor, output: Tensor, out: Tensor) -> None:
    """Write the gradient of the input of a sigmoid, from that of its output."""
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=out)


def tanh_gradient(gradient: Tensor, output: Tensor, out: Tensor | None = None) -> Tensor:
    """The gradient of the input of a tanh, from that of its output; written to `out` if given."""
    if out is None:
        return cast(Tensor, torch.ops.aten.tanh_backward(gradient, output))
    return cast(Tensor, torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=out))


def apply(function: type[torch.autograd.Function], *arguments: object) -> Tensor:
    """Run a Function that gives one tensor."""
    return cast(Tensor, function.apply(*arguments))
