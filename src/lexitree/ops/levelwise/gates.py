"""Pieces that all recurrences share: weights made ready, the squashing functions' gradients, a Function applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

CACHE_LINE = 64
"""Bytes."""


def for_products(weight: Tensor) -> Tensor:
    """The transpose of a weight, laid out anew once a batch: narrow levels multiply by it faster than by a view.

    Each row starts a cache line, since loads that straddle two of them slow the products down.
    """
    *sides, columns, rows = weight.shape
    line = CACHE_LINE // weight.element_size()
    padded = weight.new_empty(*sides, rows, -(-columns // line) * line)
    return padded[..., :columns].copy_(weight.mT)


def sigmoid_gradient(gradient: Tensor, output: Tensor, out: Tensor) -> None:
    """Write the gradient of the input of a sigmoid, from that of its output."""
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=out)


def tanh_gradient(gradient: Tensor, output: Tensor, out: Tensor | None = None) -> Tensor:
    """The gradient of the input of a tanh, from that of its output; written to `out` if given."""
    if out is None:
        return cast(Tensor, torch.ops.aten.tanh_backward(gradient, output))
    return cast(Tensor, torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=out))


def run_leaves(gates: Sequence[Tensor], h: Tensor, c: Tensor, tanh_c: Tensor) -> None:
    """Squash the gates i, g, o in place and fill the states of nodes that have nobody to forget."""
    i, g, o = gates
    torch.mul(i.sigmoid_(), g.tanh_(), out=c)
    torch.tanh(c, out=tanh_c)
    torch.mul(o.sigmoid_(), tanh_c, out=h)


def cell_slopes(gates: Sequence[Tensor], tanh_c: Tensor, slopes: Sequence[Tensor]) -> Tensor:
    """Fill what turns the gradient of the cell into those of i and g, and that of h into o's; return c's by h."""
    (i, g, o), (slope_i, slope_g, slope_o) = gates, slopes
    sigmoid_gradient(g, i, out=slope_i)
    tanh_gradient(i, g, out=slope_g)
    sigmoid_gradient(tanh_c, o, out=slope_o)
    return tanh_gradient(o, tanh_c)


def apply(function: type[torch.autograd.Function], *arguments: object) -> Tensor:
    """Run a Function that gives one tensor."""
    return cast(Tensor, function.apply(*arguments))
