"""A tree LSTM node by node in float64, with which every system must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from peers.exchange import NO_WORD, PlainTree


def run_recursion(
    cell: str, trees: Sequence[PlainTree], weights: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    """The loss of the trees and its gradient by every weight."""
    w = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in weights.items()
    }
    update = _update_nary if cell == "n-ary" else _update_child_sum
    states: list[Tensor] = []
    for tree in trees:
        h: list[Tensor] = [torch.empty(0)] * len(tree.words)
        c = list(h)
        for node in reversed(range(len(tree.words))):
            x = w["embedding"][tree.words[node]]  # -1, the last row, stands for phrases
            children = [(h[child], c[child]) for child in tree.children[node]]
            assert (tree.words[node] == NO_WORD) == bool(children)
            h[node], c[node] = update(x, children, w)
        states += h
    labels = torch.tensor([label for tree in trees for label in tree.labels])
    loss = cross_entropy(torch.stack(states) @ w["output"].t() + w["output_bias"], labels, reduction="sum")
    loss.backward()
    return loss.item(), {name: weight.grad.numpy() for name, weight in w.items() if weight.grad is not None}


def _update_nary(
    x: Tensor, children: list[tuple[Tensor, Tensor]], w: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    hidden = w["h"].shape[1] // 2
    if not children:
        i, g, o = (w["x"] @ x + w["bias"][2 * hidden :]).chunk(3)
        c = i.sigmoid() * g.tanh()
    else:
        (h_l, c_l), (h_r, c_r) = children
        f_l, f_r, i, g, o = (w["h"] @ torch.cat([h_l, h_r]) + w["bias"]).chunk(5)
        c = i.sigmoid() * g.tanh() + f_l.sigmoid() * c_l + f_r.sigmoid() * c_r
    return o.sigmoid() * c.tanh(), c


def _update_child_sum(
    x: Tensor, children: list[tuple[Tensor, Tensor]], w: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    W_f, W_i, W_g, W_o = w["x"].chunk(4)
    U_f, U_i, U_g, U_o = w["h"].chunk(4)
    b_f, b_i, b_g, b_o = w["bias"].chunk(4)
    h_sum = sum((h for h, _ in children), torch.zeros(U_f.shape[0], dtype=x.dtype))
    i = (W_i @ x + U_i @ h_sum + b_i).sigmoid()
    g = (W_g @ x + U_g @ h_sum + b_g).tanh()
    o = (W_o @ x + U_o @ h_sum + b_o).sigmoid()
    c = i * g
    for h_k, c_k in children:
        c = c + (W_f @ x + U_f @ h_k + b_f).sigmoid() * c_k
    return o * c.tanh(), c
