"""The paper's equations, one node at a time: word vectors and a batch in, node vectors out.

This is the implementation to read. It is slow, correct, and what every faster one is compared with. Paper
symbols keep their names: superscripts L and R are the left and the right child, `s` is the sigmoid.
"""

from __future__ import annotations

import itertools
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, tanh
from torch import sigmoid as s

from lexitree.batch import TreeBatch
from lexitree.ops.sequences import SequenceSchedule
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    TopDownWeights,
)

State = tuple[Tensor, Tensor]
"""h and c of one node."""


def reference_compose_heads(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node: its word's at a leaf, a combination of its children's at a phrase."""
    x = list(word_vectors.unbind(0))
    for left, right in _children(batch):
        x.append(_head(x[left], x[right], weights, method))
    return _stack(x, like=word_vectors)


def _head(x_L: Tensor, x_R: Tensor, weights: HeadWeights | None, method: HeadMethod) -> Tensor:
    if method == "L":
        return x_L
    if method == "R":
        return x_R
    if method == "A" or weights is None:
        return (x_L + x_R) / 2
    W_zx_L, W_zx_R = weights.gate.chunk(2, dim=1)
    z = s(W_zx_L @ x_L + W_zx_R @ x_R + weights.bias)
    return z * x_L + (1 - z) * x_R


def reference_run_bottom_up(
    x: Float[Tensor, "inputs word"], weights: BottomUpWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its children; `x` holds all nodes (+Lex) or the leaves only."""
    states = [_leaf_state(x[leaf], weights) for leaf in range(batch.num_leaves)]
    for node, (left, right) in enumerate(_children(batch), start=batch.num_leaves):
        x_t = x[node] if weights.is_lexical else None
        states.append(_node_state(x_t, states[left], states[right], weights))
    return _stack([h for h, _ in states], like=weights.bias, width=weights.hidden)


def _leaf_state(x_t: Tensor, weights: BottomUpWeights) -> State:
    W_xi, W_xg, W_xo = weights.x.chunk(4)[1:] if weights.is_lexical else weights.x.chunk(3)
    _, _, b_i, b_g, b_o = weights.bias.chunk(5)
    i = s(W_xi @ x_t + b_i)
    g = tanh(W_xg @ x_t + b_g)
    o = s(W_xo @ x_t + b_o)
    c = i * g
    return o * tanh(c), c


def _node_state(x_t: Tensor | None, left: State, right: State, weights: BottomUpWeights) -> State:
    (h_L, c_L), (h_R, c_R) = left, right
    W_h_L, W_h_R = weights.h.chunk(2, dim=1)
    W_hfl_L, W_hfr_L, W_hi_L, W_hg_L, W_ho_L = W_h_L.chunk(5)
    W_hfl_R, W_hfr_R, W_hi_R, W_hg_R, W_ho_R = W_h_R.chunk(5)
    b_fl, b_fr, b_i, b_g, b_o = weights.bias.chunk(5)
    # What the head word adds; nothing in the plain tree LSTM of Zhu et al.
    x_f, x_i, x_g, x_o = (weights.x @ x_t).chunk(4) if x_t is not None else (0.0, 0.0, 0.0, 0.0)
    # What the children's cells add; nothing in the N-ary tree LSTM of Tai et al.
    c_fl, c_fr, c_i = (
        (weights.c @ torch.cat([c_L, c_R])).chunk(3) if weights.c is not None else (0.0, 0.0, 0.0)
    )

    f_L = s(x_f + W_hfl_L @ h_L + W_hfl_R @ h_R + c_fl + b_fl)
    f_R = s(x_f + W_hfr_L @ h_L + W_hfr_R @ h_R + c_fr + b_fr)
    i = s(x_i + W_hi_L @ h_L + W_hi_R @ h_R + c_i + b_i)
    g = tanh(x_g + W_hg_L @ h_L + W_hg_R @ h_R + b_g)
    c = f_L * c_L + f_R * c_R + i * g
    c_o = weights.peephole @ c if weights.peephole is not None else 0.0
    o = s(x_o + W_ho_L @ h_L + W_ho_R @ h_R + c_o + b_o)
    return o * tanh(c), c


def reference_run_child_sum(
    x: Float[Tensor, "nodes word"], weights: ChildSumWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its word and the states of its children, however many."""
    states = [_child_sum_state(x[leaf], [], weights) for leaf in range(batch.num_leaves)]
    children, offsets = _numbers(batch.children_index), _numbers(batch.children_offset)
    for node, (first, last) in enumerate(itertools.pairwise(offsets), start=batch.num_leaves):
        states.append(_child_sum_state(x[node], [states[child] for child in children[first:last]], weights))
    return _stack([h for h, _ in states], like=weights.bias, width=weights.hidden)


def _child_sum_state(x_t: Tensor, children: list[State], weights: ChildSumWeights) -> State:
    x_f, x_i, x_g, x_o = (weights.x @ x_t + weights.bias).chunk(4)
    U_f, U_i, U_g, U_o = weights.h.chunk(4)
    h_sum = sum((h_k for h_k, _ in children), start=torch.zeros_like(x_f))

    i = s(x_i + U_i @ h_sum)
    g = tanh(x_g + U_g @ h_sum)
    o = s(x_o + U_o @ h_sum)
    c = sum((s(x_f + U_f @ h_k) * c_k for h_k, c_k in children), start=i * g)
    return o * tanh(c), c


def reference_run_top_down(
    x: Float[Tensor, "nodes word"], weights: TopDownWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its parent's; the paths from the root are sequence LSTMs."""
    states: dict[int, State] = {}
    for root in _numbers(batch.root_index):
        states[root] = _root_state(x[root], weights)
    inner = list(enumerate(_children(batch), start=batch.num_leaves))
    # Parents stand after their children in the up order, so walking backwards meets every parent first.
    for parent, children in reversed(inner):
        for side, child in enumerate(children):
            states[child] = _child_state(x[child], states[parent], side, weights)
    return _stack(
        [states[node][0] for node in range(batch.num_nodes)], like=weights.bias, width=weights.hidden
    )


def _root_state(x_t: Tensor, weights: TopDownWeights) -> State:
    _, x_i, x_g, x_o = (weights.x[0] @ x_t + weights.bias[0]).chunk(4)
    c = s(x_i) * tanh(x_g)
    return s(x_o) * tanh(c), c


def _child_state(x_t: Tensor, parent: State, side: int, weights: TopDownWeights) -> State:
    h_p, c_p = parent
    shared = min(side, weights.x.shape[0] - 1)
    x_f, x_i, x_g, x_o = (weights.x[shared] @ x_t + weights.bias[shared]).chunk(4)
    W_hf, W_hi, W_hg, W_ho = weights.h[side].chunk(4)
    W_cf, W_ci = weights.c[side].chunk(2)
    W_co = weights.peephole[side]

    f = s(x_f + W_hf @ h_p + W_cf @ c_p)
    i = s(x_i + W_hi @ h_p + W_ci @ c_p)
    g = tanh(x_g + W_hg @ h_p)
    c = f * c_p + i * g
    o = s(x_o + W_ho @ h_p + W_co @ c)
    return o * tanh(c), c


def reference_run_sequences(
    x: Float[Tensor, "leaves word"], weights: SequenceWeights, schedule: SequenceSchedule
) -> Float[Tensor, "spans hidden"]:
    """The last state of a peephole LSTM over each span."""
    leaf_index = _numbers(schedule.leaf_index)
    zero = weights.bias.new_zeros(weights.hidden)
    states: list[State] = []
    first_place = 0
    for step, step_size in enumerate(schedule.step_sizes):
        previous = first_place - schedule.step_sizes[step - 1]
        for row in range(step_size):
            before = states[previous + row] if step else (zero, zero)
            states.append(_sequence_state(x[leaf_index[first_place + row]], before, weights))
        first_place += step_size
    return _stack(
        [states[place][0] for place in _numbers(schedule.last_index)], like=weights.bias, width=weights.hidden
    )


def _sequence_state(x_t: Tensor, before: State, weights: SequenceWeights) -> State:
    h_p, c_p = before
    x_f, x_i, x_g, x_o = (weights.x @ x_t + weights.bias).chunk(4)
    W_hf, W_hi, W_hg, W_ho = weights.h.chunk(4)
    W_cf, W_ci = weights.c.chunk(2)

    f = s(x_f + W_hf @ h_p + W_cf @ c_p)
    i = s(x_i + W_hi @ h_p + W_ci @ c_p)
    g = tanh(x_g + W_hg @ h_p)
    c = f * c_p + i * g
    o = s(x_o + W_ho @ h_p + weights.peephole @ c)
    return o * tanh(c), c


def _children(batch: TreeBatch) -> list[tuple[int, int]]:
    """(left, right) of every inner node, in up order."""
    left, right = batch.children_index.view(-1, 2).unbind(1)
    return list(zip(_numbers(left), _numbers(right), strict=True))


def _numbers(index: Tensor) -> list[int]:
    return cast(list[int], index.tolist())


def _stack(rows: list[Tensor], *, like: Tensor, width: int | None = None) -> Tensor:
    """Rows as a matrix; an empty batch gives a matrix without rows."""
    if rows:
        return torch.stack(rows)
    return like.new_zeros(0, width if width is not None else like.shape[-1])
