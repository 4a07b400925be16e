"""The reference implementation against equations written out by hand for the smallest trees."""

from __future__ import annotations

import numpy as np
import torch
from torch import sigmoid, tanh

from lexitree.ops import reference
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    GatedChildrenWeights,
    HeadWeights,
    SequenceWeights,
    TensorWeights,
    TopDownWeights,
)
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree

PAIR = TreeBatch.from_trees([tree_from_brackets("(X a b)")])


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.float64)


def scalar(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_gated_head_of_a_pair() -> None:
    words = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    weights = HeadWeights(
        torch.tensor([[0.5, -0.25]], dtype=torch.float64), torch.tensor([0.1], dtype=torch.float64)
    )
    x = reference.reference_compose_heads(words, weights, PAIR, "G")
    z = sigmoid(scalar(0.5 * 1 - 0.25 * 3 + 0.1))
    assert torch.allclose(x[2], z * 1 + (1 - z) * 3)
    assert reference.reference_compose_heads(words, None, PAIR, "A")[2].item() == 2
    assert reference.reference_compose_heads(words, None, PAIR, "L")[2].item() == 1
    assert reference.reference_compose_heads(words, None, PAIR, "R")[2].item() == 3


def test_bottom_up_state_of_a_pair_with_one_number_everywhere() -> None:
    """With H = D = 1 and distinct weights the whole node fits in a few lines of arithmetic."""
    w_xf, w_xi, w_xg, w_xo = 0.3, -0.2, 0.7, 0.4
    weights = BottomUpWeights(
        x=torch.tensor([[w_xf], [w_xi], [w_xg], [w_xo]], dtype=torch.float64),
        h=torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8], [0.9, 1.0]], dtype=torch.float64),
        c=torch.tensor([[-0.1, -0.2], [-0.3, -0.4], [-0.5, -0.6]], dtype=torch.float64),
        peephole=torch.tensor([[0.25]], dtype=torch.float64),
        bias=torch.tensor([0.01, 0.02, 0.03, 0.04, 0.05], dtype=torch.float64),
    )
    x = torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)
    h = reference.reference_run_bottom_up(x, weights, PAIR)

    def leaf(value: float) -> tuple[torch.Tensor, torch.Tensor]:
        c = sigmoid(scalar(w_xi * value + 0.03)) * tanh(scalar(w_xg * value + 0.04))
        return sigmoid(scalar(w_xo * value + 0.05)) * tanh(c), c

    (h_l, c_l), (h_r, c_r) = leaf(1.0), leaf(-2.0)
    f_l = sigmoid(w_xf * 0.5 + 0.1 * h_l + 0.2 * h_r - 0.1 * c_l - 0.2 * c_r + 0.01)
    f_r = sigmoid(w_xf * 0.5 + 0.3 * h_l + 0.4 * h_r - 0.3 * c_l - 0.4 * c_r + 0.02)
    i = sigmoid(w_xi * 0.5 + 0.5 * h_l + 0.6 * h_r - 0.5 * c_l - 0.6 * c_r + 0.03)
    g = tanh(w_xg * 0.5 + 0.7 * h_l + 0.8 * h_r + 0.04)
    c = f_l * c_l + f_r * c_r + i * g
    o = sigmoid(w_xo * 0.5 + 0.9 * h_l + 1.0 * h_r + 0.25 * c + 0.05)
    assert torch.allclose(h.flatten(), torch.stack([h_l, h_r, o * tanh(c)]), rtol=0, atol=1e-14)


def test_without_peepholes_the_gates_do_not_see_the_cells() -> None:
    """The N-ary cell of Tai et al. is the cell of Zhu et al. whose weights of c are zero."""
    torch.manual_seed(0)
    hidden, size = 3, 4
    batch = TreeBatch.from_trees([tree_from_brackets("(X (X a b) (X c (X d e)))")])
    x = torch.randn(batch.num_leaves, size, dtype=torch.float64)
    weights = BottomUpWeights(
        x=torch.randn(3 * hidden, size, dtype=torch.float64),
        h=torch.randn(5 * hidden, 2 * hidden, dtype=torch.float64),
        c=None,
        peephole=None,
        bias=torch.randn(5 * hidden, dtype=torch.float64),
    )
    zeroed = weights._replace(c=0 * ones(3 * hidden, 2 * hidden), peephole=0 * ones(hidden, hidden))
    h = reference.reference_run_bottom_up(x, weights, batch)
    assert torch.allclose(h, reference.reference_run_bottom_up(x, zeroed, batch), rtol=0, atol=1e-14)


def test_child_sum_state_of_a_node_with_three_children() -> None:
    """With H = D = 1 the whole node fits in a few lines of arithmetic."""
    w_f, w_i, w_g, w_o = 0.3, -0.2, 0.7, 0.4
    weights = ChildSumWeights(
        x=torch.tensor([[w_f], [w_i], [w_g], [w_o]], dtype=torch.float64),
        h=torch.tensor([[0.1], [0.2], [-0.3], [0.4]], dtype=torch.float64),
        bias=torch.tensor([0.01, 0.02, 0.03, 0.04], dtype=torch.float64),
    )
    batch = TreeBatch.from_trees([tree_from_brackets("(X a b c)")])
    words = [1.0, -2.0, 0.5, 3.0]
    h = reference.reference_run_child_sum(torch.tensor(words, dtype=torch.float64)[:, None], weights, batch)

    c_leaf = [sigmoid(scalar(w_i * x + 0.02)) * tanh(scalar(w_g * x + 0.03)) for x in words[:3]]
    h_leaf = [sigmoid(scalar(w_o * x + 0.04)) * tanh(c_k) for x, c_k in zip(words[:3], c_leaf, strict=True)]
    h_sum = sum(h_leaf)
    c = sigmoid(w_i * 3 + 0.2 * h_sum + 0.02) * tanh(w_g * 3 - 0.3 * h_sum + 0.03)
    for h_k, c_k in zip(h_leaf, c_leaf, strict=True):
        c = c + sigmoid(w_f * 3 + 0.1 * h_k + 0.01) * c_k
    root = sigmoid(w_o * 3 + 0.4 * h_sum + 0.04) * tanh(c)
    assert torch.allclose(h.flatten(), torch.stack([*h_leaf, root]), rtol=0, atol=1e-14)


def test_top_down_uses_other_weights_for_each_side() -> None:
    weights = TopDownWeights(
        x=torch.tensor([[[0.3], [-0.2], [0.7], [0.4]]], dtype=torch.float64),
        h=torch.tensor([[[0.1], [0.2], [0.3], [0.4]], [[0.5], [0.6], [0.7], [0.8]]], dtype=torch.float64),
        c=torch.tensor([[[-0.1], [-0.2]], [[-0.3], [-0.4]]], dtype=torch.float64),
        peephole=torch.tensor([[[0.25]], [[-0.35]]], dtype=torch.float64),
        bias=torch.tensor([[0.01, 0.02, 0.03, 0.04]], dtype=torch.float64),
    )
    x = torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)
    h = reference.reference_run_top_down(x, weights, PAIR)

    c_p = sigmoid(scalar(-0.2 * 0.5 + 0.02)) * tanh(scalar(0.7 * 0.5 + 0.03))
    h_p = sigmoid(scalar(0.4 * 0.5 + 0.04)) * tanh(c_p)
    expected = []
    for x_t, (hf, hi, hg, ho), (cf, ci), co in (
        (1.0, (0.1, 0.2, 0.3, 0.4), (-0.1, -0.2), 0.25),
        (-2.0, (0.5, 0.6, 0.7, 0.8), (-0.3, -0.4), -0.35),
    ):
        f = sigmoid(0.3 * x_t + hf * h_p + cf * c_p + 0.01)
        i = sigmoid(-0.2 * x_t + hi * h_p + ci * c_p + 0.02)
        g = tanh(0.7 * x_t + hg * h_p + 0.03)
        c = f * c_p + i * g
        expected.append(sigmoid(0.4 * x_t + ho * h_p + co * c + 0.04) * tanh(c))
    assert torch.allclose(h.flatten(), torch.stack([*expected, h_p]), rtol=0, atol=1e-14)


def test_a_top_down_path_to_the_right_is_a_sequence_lstm() -> None:
    """Down a right chain the model is a sequence LSTM whose first step has no peephole."""
    torch.manual_seed(0)
    hidden, size, num_words = 3, 4, 5
    arity = [2, 0] * (num_words - 1) + [0]
    batch = TreeBatch.from_trees([Tree(arity, ["X"] * len(arity), ["w"] * num_words)])
    sequence = SequenceWeights(
        *(
            torch.randn(*shape, dtype=torch.float64)
            for shape in (
                (4 * hidden, size),
                (4 * hidden, hidden),
                (2 * hidden, hidden),
                (hidden, hidden),
                (4 * hidden,),
            )
        )
    )
    right = TopDownWeights(
        sequence.x[None], *(torch.stack([torch.zeros_like(w), w]) for w in sequence[1:4]), sequence.bias[None]
    )
    x = torch.randn(batch.num_nodes, size, dtype=torch.float64)
    h = reference.reference_run_top_down(x, right, batch)
    path = [batch.root_index[0].item()]
    while path[-1] >= batch.num_leaves:
        path.append(batch.children_index.view(-1, 2)[path[-1] - batch.num_leaves, 1].item())
    schedule = SequenceSchedule.from_spans(np.array([0]), np.array([len(path)]))
    without_peephole = sequence._replace(peephole=torch.zeros_like(sequence.peephole))
    first_only = reference.reference_run_sequences(
        x[path[:1]], without_peephole, SequenceSchedule.from_spans(np.array([0]), np.array([1]))
    )
    assert torch.allclose(h[path[0]], first_only[0], rtol=0, atol=1e-14)
    last = reference.reference_run_sequences(x[path], sequence, schedule)
    # Peephole at the first step apart, the two agree: the states converge onto the same cells.
    zero_peephole = right._replace(peephole=torch.zeros_like(right.peephole))
    h_plain = reference.reference_run_top_down(x, zero_peephole, batch)
    last_plain = reference.reference_run_sequences(x[path], without_peephole, schedule)
    assert torch.allclose(h_plain[path[-1]], last_plain[0], rtol=0, atol=1e-14)
    assert not torch.allclose(last[0], last_plain[0])


def test_gated_children_of_a_tree_of_three_words() -> None:
    """With H = D = 1; only above the first phrase is there a cell to forget."""
    weights = GatedChildrenWeights(
        x=torch.tensor([[0.6]], dtype=torch.float64),
        x_bias=torch.tensor([0.05], dtype=torch.float64),
        own_x=torch.tensor([[-0.15], [0.35]], dtype=torch.float64),
        sister_x=torch.tensor([[0.55], [-0.65]], dtype=torch.float64),
        candidate_x=torch.tensor([[[0.75]], [[-0.85]]], dtype=torch.float64),
        output_x=torch.tensor([[[0.95]], [[-1.05]]], dtype=torch.float64),
        own_h=torch.tensor([[0.1], [0.2]], dtype=torch.float64),
        sister_h=torch.tensor([[0.3], [-0.4]], dtype=torch.float64),
        own_c=torch.tensor([[-0.5], [0.6]], dtype=torch.float64),
        sister_c=torch.tensor([[0.7], [0.8]], dtype=torch.float64),
        candidate=torch.tensor([[[0.9]], [[-1.1]]], dtype=torch.float64),
        output=torch.tensor([[0.25, -0.35]], dtype=torch.float64),
        peephole=torch.tensor([[0.45]], dtype=torch.float64),
        bias=torch.tensor([0.01, 0.02, 0.03, 0.04], dtype=torch.float64),
    )
    batch = TreeBatch.from_trees([tree_from_brackets("(X (X a b) c)")])
    words = [1.0, -2.0, 0.5]
    h = reference.reference_run_gated_children(
        torch.tensor(words, dtype=torch.float64)[:, None], weights, batch
    )

    a, b, c = (scalar(x) for x in words)
    i_1 = sigmoid(0.35 * a - 0.65 * b + 0.02)
    i_2 = sigmoid(0.35 * b - 0.65 * a + 0.02)
    c_1 = tanh(0.75 * a * i_1 - 0.85 * b * i_2 + 0.03)
    h_1 = sigmoid(0.95 * a - 1.05 * b + 0.45 * c_1 + 0.04) * tanh(c_1)
    f_1 = sigmoid(0.1 * h_1 + 0.55 * c - 0.5 * c_1 + 0.01)
    i_1 = sigmoid(0.2 * h_1 - 0.65 * c + 0.6 * c_1 + 0.02)
    i_2 = sigmoid(0.35 * c - 0.4 * h_1 + 0.8 * c_1 + 0.02)
    c_2 = f_1 * c_1 + tanh(0.9 * h_1 * i_1 - 0.85 * c * i_2 + 0.03)
    root = sigmoid(0.25 * h_1 - 1.05 * c + 0.45 * c_2 + 0.04) * tanh(c_2)
    expected = torch.stack([0.6 * a + 0.05, 0.6 * b + 0.05, 0.6 * c + 0.05, h_1, root])
    assert torch.allclose(h.flatten(), expected, rtol=0, atol=1e-14)


def test_tensor_network_of_a_pair() -> None:
    """With d = 1 a slice is a quadratic form of two numbers."""
    weights = TensorWeights(
        slices=torch.tensor([[[0.1, 0.2], [0.3, 0.4]]], dtype=torch.float64),
        matrix=torch.tensor([[0.5, -0.6]], dtype=torch.float64),
        bias=torch.tensor([0.07], dtype=torch.float64),
    )
    p = reference.reference_run_tensor_network(
        torch.tensor([[1.0], [-2.0]], dtype=torch.float64), weights, PAIR
    )
    a, b = tanh(scalar(1.0)), tanh(scalar(-2.0))
    parent = tanh(0.1 * a * a + (0.2 + 0.3) * a * b + 0.4 * b * b + 0.5 * a - 0.6 * b + 0.07)
    assert torch.allclose(p.flatten(), torch.stack([a, b, parent]), rtol=0, atol=1e-14)


def test_a_sequence_lstm_without_peepholes_does_not_see_its_cells() -> None:
    torch.manual_seed(0)
    hidden, size = 3, 4
    schedule = SequenceSchedule.from_spans(np.array([0, 1]), np.array([5, 3]))
    x = torch.randn(5, size, dtype=torch.float64)
    plain = SequenceWeights(
        torch.randn(4 * hidden, size, dtype=torch.float64),
        torch.randn(4 * hidden, hidden, dtype=torch.float64),
        None,
        None,
        torch.randn(4 * hidden, dtype=torch.float64),
    )
    zeroed = plain._replace(c=0 * ones(2 * hidden, hidden), peephole=0 * ones(hidden, hidden))
    h = reference.reference_run_sequences(x, plain, schedule)
    assert torch.allclose(h, reference.reference_run_sequences(x, zeroed, schedule), rtol=0, atol=1e-14)
