"""The paper's equations, one node at a time: the implementation to read.

It is slow and correct, and the tests compare every faster implementation with it. Paper symbols keep their names:
superscripts L and R are the left and the right child, `s` is the sigmoid.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, tanh
from torch import sigmoid as s

from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    GatedChildrenWeights,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    ShareOfLeft,
    TensorWeights,
    TopDownWeights,
    check_head_method,
)

State = tuple[Tensor, Tensor]
"""h and c of one node."""


def reference_compose_heads(
    word_vectors: Float[Tensor, "leaves word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
    lean: Float[Tensor, " phrases"] | None = None,
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node: the word's at a leaf, a combination of the children's at a phrase.

    The paper's method is the learned gate (G). For a phrase with the head vectors x_L and x_R of its children:

        z = s(W_zx^L x_L + W_zx^R x_R + b_z)
        x = z * x_L + (1 - z) * x_R

    The other methods take the left child's (L), the right child's (R) or their mean (A).

    `lean` is a constant of each phrase that is added to its gate's input: a large one decides the gate, for the left
    child if it is positive.
    """
    check_head_method(method, weights)
    x = list(word_vectors.unbind(0))
    leans = itertools.repeat(0.0) if lean is None else lean.unbind(0)
    for (left, right), lean_t in zip(_children(batch), leans, strict=False):
        x.append(_head(x[left], x[right], lean_t, weights, method))
    return _stack(x, like=word_vectors)


def _head(
    x_L: Tensor, x_R: Tensor, lean: Tensor | float, weights: HeadWeights | None, method: HeadMethod
) -> Tensor:
    """The head gate: z = s(W_zx^L x_L + W_zx^R x_R + b_z + lean), x = z * x_L + (1 - z) * x_R."""
    if method == "L":
        return x_L
    if method == "R":
        return x_R
    if method == "A":
        return (x_L + x_R) / 2
    assert weights is not None
    W_zx_L, W_zx_R = weights.gate.chunk(2, dim=1)
    z = s(W_zx_L @ x_L + W_zx_R @ x_R + weights.bias + lean)
    return z * x_L + (1 - z) * x_R


def reference_mix_heads(
    word_vectors: Float[Tensor, "leaves word"], gate: ShareOfLeft, batch: TreeBatch
) -> Float[Tensor, "nodes word"]:
    """The head vector of every node, by a gate that is not the paper's: x = z * x_L + (1 - z) * x_R."""
    x = list(word_vectors.unbind(0))
    for left, right in _children(batch):
        x_L, x_R = x[left], x[right]
        z = gate(x_L.unsqueeze(0), x_R.unsqueeze(0)).squeeze(0)
        x.append(z * x_L + (1 - z) * x_R)
    return _stack(x, like=word_vectors)


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


def reference_run_gated_children(
    x: Float[Tensor, "leaves word"], weights: GatedChildrenWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node by Le and Zuidema (2015), with gates of their own for both children.

    For a node with the children 1 and 2:

        f_1 = s(W_f1 h_1 + W_f2 h_2 + W_cf1 c_1 + W_cf2 c_2 + b_f), f_2 with the children with swapped roles
        i_1 = s(W_i1 h_1 + W_i2 h_2 + W_ci1 c_1 + W_ci2 c_2 + b_i), i_2 likewise
        c   = f_1 * c_1 + f_2 * c_2 + tanh(W_c1 h_1 * i_1 + W_c2 h_2 * i_2 + b_c)
        o   = s(W_o1 h_1 + W_o2 h_2 + W_co c + b_o)
        h   = o * tanh(c)

    A child that is a word has no cell; its vector x stands for h, with other weights. What stands for the state of
    a word where labels are scored is W_x x + b_x.
    """
    words = [_WordChild(x_t) for x_t in x.unbind(0)]
    nodes: list[_WordChild | State] = [*words]
    for left, right in _children(batch):
        nodes.append(_gated_children_state(nodes[left], nodes[right], weights))
    h = [weights.x @ node.x + weights.x_bias if isinstance(node, _WordChild) else node[0] for node in nodes]
    return _stack(h, like=weights.bias, width=weights.hidden)


class _WordChild(NamedTuple):
    x: Tensor


class _ChildTerms(NamedTuple):
    """What a child adds to its own two gates, to its sister's, to the candidate and to the output gate; its cell."""

    own: Tensor
    sister: Tensor
    candidate: Tensor
    output: Tensor
    c: Tensor | float


def _child_terms(child: _WordChild | State, side: int, weights: GatedChildrenWeights) -> _ChildTerms:
    if isinstance(child, _WordChild):
        x = child.x
        candidate, output = weights.candidate_x[side] @ x, weights.output_x[side] @ x
        return _ChildTerms(weights.own_x @ x, weights.sister_x @ x, candidate, output, 0.0)
    h, c = child
    own = weights.own_h @ h + weights.own_c @ c
    sister = weights.sister_h @ h + weights.sister_c @ c
    W_o = weights.output.chunk(2, dim=1)[side]
    return _ChildTerms(own, sister, weights.candidate[side] @ h, W_o @ h, c)


def _gated_children_state(
    left: _WordChild | State, right: _WordChild | State, weights: GatedChildrenWeights
) -> State:
    first, second = _child_terms(left, 0, weights), _child_terms(right, 1, weights)
    b_f, b_i, b_c, b_o = weights.bias.chunk(4)
    b_fi = torch.cat([b_f, b_i])

    f_1, i_1 = s(first.own + second.sister + b_fi).chunk(2)
    f_2, i_2 = s(second.own + first.sister + b_fi).chunk(2)
    c = f_1 * first.c + f_2 * second.c + tanh(first.candidate * i_1 + second.candidate * i_2 + b_c)
    o = s(first.output + second.output + weights.peephole @ c + b_o)
    return o * tanh(c), c


def reference_run_tensor_network(
    x: Float[Tensor, "leaves hidden"], weights: TensorWeights, batch: TreeBatch
) -> Float[Tensor, "nodes hidden"]:
    """The vector of every node by Socher et al. (2013): the tanh of its word's, or made of its children's.

    The paper prints the word vector itself at a leaf; its authors' code takes the tanh, and so do we: all
    vectors then lie between -1 and 1, and the first composition meets nothing that later ones do not.
    """
    p = [tanh(x_t) for x_t in x.unbind(0)]
    for left, right in _children(batch):
        p.append(_tensor_vector(p[left], p[right], weights))
    return _stack(p, like=x)


def _tensor_vector(a: Tensor, b: Tensor, weights: TensorWeights) -> Tensor:
    ab = torch.cat([a, b])
    bilinear = torch.stack([ab @ V_k @ ab for V_k in weights.slices])
    return tanh(bilinear + weights.matrix @ ab + weights.bias)


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
    x: Float[Tensor, "rows word"],
    weights: TopDownWeights,
    batch: TreeBatch,
    source: Int[Tensor, " nodes"] | None = None,
) -> Float[Tensor, "nodes hidden"]:
    """The state h of every node, computed from its parent's; the paths from the root are sequence LSTMs.

    `source` is the row of x of each node, where nodes have rows in common.
    """
    x = x if source is None else x.index_select(0, source)
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
    """The last state of an LSTM over each span."""
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
    # What the cell before adds; nothing in the plain LSTM.
    c_f, c_i = (weights.c @ c_p).chunk(2) if weights.c is not None else (0.0, 0.0)

    f = s(x_f + W_hf @ h_p + c_f)
    i = s(x_i + W_hi @ h_p + c_i)
    g = tanh(x_g + W_hg @ h_p)
    c = f * c_p + i * g
    c_o = weights.peephole @ c if weights.peephole is not None else 0.0
    o = s(x_o + W_ho @ h_p + c_o)
    return o * tanh(c), c


def reference_update_rows(
    table: Float[Tensor, "rows word"],
    moments: Float[Tensor, "rows word"],
    squares: Float[Tensor, "rows word"],
    gradient: Tensor,
    batch: TreeBatch | None,
    betas: Float[Tensor, " 2"],
    num_steps: Int[Tensor, ""],
    rate_scale: Float[Tensor, ""],
    *,
    learning_rate: float,
    epsilon: float,
    shrink: float,
    l2: float,
) -> None:
    """Move the rows of a table that a sparse gradient has, by Adam; other rows and their moments stay.

    Args:
        table: The weights; updated in place, as are the moments.
        moments: Running means of the gradients.
        squares: Running means of their squares.
        gradient: The sparse gradient of the table.
        batch: The batch whose leaves the rows belong to; only a kernel needs it.
        betas: The decay rates of both running means, in float64.
        num_steps: The number of this step, from 1.
        rate_scale: The share of the step size and of the decay that this step takes, in float64.
        learning_rate: The step size.
        epsilon: Keeps the quotient finite.
        shrink: The share by which rows decay (decoupled decay); 0 for none.
        l2: The factor of the L2 term in the gradient; 0 for none.
    """
    del batch
    gradient = gradient.coalesce()
    rows, values = gradient.indices()[0], gradient.values()
    beta1, beta2 = cast(list[float], betas.tolist())
    share = float(rate_scale)
    vectors = table.index_select(0, rows)
    if l2:
        values = values + l2 * vectors
    if shrink:
        vectors.mul_(1 - shrink * share)
    moment = moments.index_select(0, rows).lerp_(values, 1 - beta1)
    square = squares.index_select(0, rows).mul_(beta2).addcmul_(values, values, value=1 - beta2)
    moments.index_copy_(0, rows, moment)
    squares.index_copy_(0, rows, square)
    step, rate = int(num_steps), share * learning_rate
    spread = (square / (1 - beta2**step)).sqrt_().add_(epsilon)
    table.index_copy_(0, rows, vectors.addcdiv_(moment, spread, value=-rate / (1 - beta1**step)))


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
