"""Initial weights: uniform within the bounds that Glorot and Bengio (2010) give for a single matrix."""

from __future__ import annotations

import math

import pytest
import torch

from lexitree.models.cells import glorot_bias, glorot_matrix
from tests.tiny import tiny_model

ROWS, COLUMNS = 40, 60


def assert_uniform(values: torch.Tensor, bound: float) -> None:
    """A uniform law on [-bound, bound] has the variance bound ** 2 / 3, and its largest of many values is near bound."""
    assert values.abs().max().item() <= bound
    assert values.abs().max().item() > 0.99 * bound
    assert values.var().item() == pytest.approx(bound**2 / 3, rel=0.05)


def test_a_matrix_is_drawn_within_the_bounds_of_glorot() -> None:
    torch.manual_seed(1)
    matrix = glorot_matrix(ROWS, COLUMNS, rows=ROWS, columns=COLUMNS)
    assert_uniform(matrix.detach(), math.sqrt(6 / (ROWS + COLUMNS)))


def test_stacked_matrices_have_the_bounds_of_a_single_one() -> None:
    torch.manual_seed(1)
    matrices = glorot_matrix(5 * ROWS, COLUMNS, rows=ROWS, columns=COLUMNS)
    assert_uniform(matrices.detach(), math.sqrt(6 / (ROWS + COLUMNS)))


def test_a_bias_is_drawn_like_a_matrix_of_one_dimension_or_zero() -> None:
    torch.manual_seed(1)
    assert_uniform(glorot_bias(1000, rows=ROWS, init="uniform").detach(), math.sqrt(6 / ROWS))
    assert not glorot_bias(1000, rows=ROWS, init="zero").any()


def test_the_cells_of_a_model_are_drawn_so() -> None:
    torch.manual_seed(1)
    model = tiny_model(hidden=ROWS, word_size=COLUMNS)
    weights = dict(model.encoder.named_parameters())
    assert_uniform(weights["bottom_up.weight_x"].detach(), math.sqrt(6 / (ROWS + COLUMNS)))
    assert_uniform(weights["bottom_up.weight_h"].detach(), math.sqrt(6 / (ROWS + ROWS)))
    assert_uniform(weights["top_down.weight_h"].detach(), math.sqrt(6 / (ROWS + ROWS)))
