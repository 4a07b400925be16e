"""A coarse label is learned as the sum of what it means, among what its corpus tells apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lexitree.arrays import NO_INDEX
from lexitree.corpora.further import Grain
from lexitree.models.label_grains import LabelGrains
from lexitree.ops.tree_batch import batch_examples
from tests.tiny import tiny_model, tiny_trees

NUM_LABELS = 5
SIDES = (Grain((0, 1), (0, 1, 3, 4), 2.0), Grain((3, 4), (0, 1, 3, 4), 0.5))
"""Two-way labels: neutral, number 2, is left open."""

seeds = st.integers(0, 2**32 - 1)


def scores_of(seed: int, num_nodes: int = 7, spread: float = 3.0) -> torch.Tensor:
    drawn = np.random.default_rng(seed).normal(0, spread, (num_nodes, NUM_LABELS))
    return torch.tensor(drawn, requires_grad=True)


def plain_loss(scores: list[float], grain: Grain) -> float:
    """The loss of one node as the docstring has it, number by number."""
    weights = [math.exp(score) for score in scores]
    meant, among = (sum(weights[number] for number in group) for group in (grain.meant, grain.among))
    return -grain.weight * math.log(meant / among)


@given(seed=seeds, labels=st.lists(st.integers(NO_INDEX, NUM_LABELS - 1), min_size=7, max_size=7))
def test_labels_that_mean_one_among_all_have_the_ordinary_loss(seed: int, labels: list[int]) -> None:
    scores, numbers = scores_of(seed), torch.tensor(labels)
    usual = nn.functional.cross_entropy(scores, numbers, ignore_index=NO_INDEX, reduction="none")
    found = LabelGrains(NUM_LABELS, SIDES).losses(scores, numbers)
    torch.testing.assert_close(found, usual)
    gradients = [torch.autograd.grad(loss.sum(), scores)[0] for loss in (found, usual)]
    torch.testing.assert_close(*gradients)


@st.composite
def grains(draw: st.DrawFn) -> Grain:
    among = draw(st.sets(st.integers(0, NUM_LABELS - 1), min_size=1))
    meant = draw(st.sets(st.sampled_from(sorted(among)), min_size=1))
    return Grain(tuple(sorted(meant)), tuple(sorted(among)), draw(st.floats(0, 4)))


@given(seed=seeds, some=st.lists(grains(), min_size=1, max_size=4))
def test_a_coarse_label_is_the_sum_of_what_it_means(seed: int, some: list[Grain]) -> None:
    scores = scores_of(seed, len(some))
    numbers = torch.arange(NUM_LABELS, NUM_LABELS + len(some))
    losses = LabelGrains(NUM_LABELS, some).losses(scores, numbers)
    expected = [plain_loss(row, grain) for row, grain in zip(scores.tolist(), some, strict=True)]
    np.testing.assert_allclose(losses.tolist(), expected, rtol=1e-6, atol=1e-9)


@given(seed=seeds, grain=grains())
def test_its_gradient_is_the_difference_of_two_distributions(seed: int, grain: Grain) -> None:
    scores = scores_of(seed, 1)
    loss = LabelGrains(NUM_LABELS, [grain]).losses(scores, torch.tensor([NUM_LABELS]))
    [gradient] = torch.autograd.grad(loss.sum(), scores)
    weights = scores.detach().exp()[0]
    shares = []
    for group in (grain.among, grain.meant):
        mask = torch.zeros(NUM_LABELS, dtype=torch.float64)
        mask[list(group)] = 1
        shares.append(weights * mask / (weights * mask).sum())
    torch.testing.assert_close(gradient[0], grain.weight * (shares[0] - shares[1]), rtol=1e-6, atol=1e-8)


def test_a_two_way_label_says_nothing_about_neutral() -> None:
    scores = scores_of(1, 2)
    losses = LabelGrains(NUM_LABELS, SIDES).losses(scores, torch.tensor([5, 6]))
    [gradient] = torch.autograd.grad(losses.sum(), scores)
    assert gradient[:, 2].tolist() == [0, 0]
    moved = scores.detach().clone()
    moved[:, 2] += 7
    torch.testing.assert_close(
        LabelGrains(NUM_LABELS, SIDES).losses(moved, torch.tensor([5, 6])), losses.detach()
    )


def test_nodes_without_a_label_count_nothing_and_weights_multiply() -> None:
    scores, weights = scores_of(2, 3), torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    numbers = torch.tensor([NO_INDEX, 1, 5])
    plain = LabelGrains(NUM_LABELS, SIDES).losses(scores, numbers)
    half = LabelGrains(NUM_LABELS, SIDES, label_weights=weights, scale=0.5).losses(scores, numbers)
    assert plain[0] == half[0] == 0
    torch.testing.assert_close(half, plain * torch.tensor([0.0, 1.0, 0.5], dtype=plain.dtype))


@pytest.mark.parametrize("root_weight", [1.0, 3.0])
@pytest.mark.parametrize("taught", [False, True])
def test_a_model_with_fine_labels_alone_has_the_loss_that_it_has_without_grains(
    root_weight: float, taught: bool
) -> None:
    """With a teacher, the label's share is learned besides the targets, which comes to the same."""
    model = tiny_model()
    examples = model.prepare(tiny_trees(6))
    plain = batch_examples(examples)
    grained, usual, scale = plain, plain, 1.0
    if taught:
        share = torch.rand(plain.num_nodes, 2, dtype=torch.float64).softmax(1)
        labels = plain.label_index
        labelled = (labels != NO_INDEX).double()[:, None]
        lessons = share * (1 - 0.4 * labelled)
        hard = nn.functional.one_hot(labels.clamp(0), 2) * labelled
        grained = plain.with_arrays(
            {**plain.arrays(), "target_bits": lessons.view(-1).view(torch.int64).numpy()}
        )
        mixed = (lessons + 0.4 * hard).view(-1).view(torch.int64).numpy()
        usual, scale = plain.with_arrays({**plain.arrays(), "target_bits": mixed}), 0.4
    found = model.loss(grained, root_weight=root_weight, grains=LabelGrains(2, [], scale=scale))
    torch.testing.assert_close(found, model.loss(usual, root_weight=root_weight))
