"""Short forms of weights: how near they are, that they are final, and what is refused."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lexitree.saving.quantized import bytes_from_rows, half, restore_tensors, rows_from_bytes, shrink_tensors

numbers = st.floats(-1e4, 1e4, width=32)
tables = st.integers(1, 5).flatmap(
    lambda size: st.lists(st.lists(numbers, min_size=size, max_size=size), min_size=1, max_size=6)
)


@given(tables)
def test_every_number_is_within_a_step_and_written_again_the_same(rows: list[list[float]]) -> None:
    table = torch.tensor(rows)
    steps, scale = bytes_from_rows(table)
    restored = rows_from_bytes(steps, scale)
    # Half a step for rounding; the step itself is rounded to three digits, so that the largest may be cut by a little.
    allowed = table.abs().amax(1, keepdim=True) / 127 * 0.6 + 1e-5
    assert ((restored - table).abs() <= allowed).all()
    again = bytes_from_rows(restored)
    assert torch.equal(again[0], steps)
    assert torch.equal(again[1], scale)


def test_rows_have_scales_of_their_own() -> None:
    table = torch.tensor([[0.0, 0.0], [1e-3, -5e-4], [1e3, 10.0]])
    steps, scale = bytes_from_rows(table)
    assert steps.tolist() == [[0, 0], [127, -64], [127, 1]]
    torch.testing.assert_close(rows_from_bytes(steps, scale)[1], table[1], rtol=0.01, atol=0)


def test_what_is_no_number_stays_none() -> None:
    assert rows_from_bytes(*bytes_from_rows(torch.tensor([[math.nan, 1.0]])))[0].isnan().all()


def test_what_is_too_large_for_16_bits_is_as_large_as_can_be() -> None:
    assert half(torch.tensor([1e9, -1e9])).tolist() == [65504, -65504]
    assert rows_from_bytes(*bytes_from_rows(torch.tensor([[1e12, 1.0]]))).isfinite().all()


def test_forms() -> None:
    tensors = {"table": torch.randn(3, 4), "weight": torch.randn(5, dtype=torch.float64).t()}
    kinds = {
        form: {name: str(t.dtype)[6:] for name, t in shrink_tensors(tensors, ["table"], form).items()}
        for form in ("float32", "float16", "int8")
    }
    assert kinds == {
        "float32": {"table": "float32", "weight": "float64"},
        "float16": {"table": "float16", "weight": "float16"},
        "int8": {"table": "int8", "table.scale": "float16", "weight": "float16"},
    }
    restored = restore_tensors(shrink_tensors(tensors, ["table"], "int8"))
    assert {name: tensor.dtype for name, tensor in restored.items()} == dict.fromkeys(tensors, torch.float32)


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": torch.zeros(2, 2)},
        {"a": torch.zeros(2, 2, dtype=torch.int32)},
        {"a": torch.zeros(2, 2, dtype=torch.int8)},
        {"a": torch.zeros(2, dtype=torch.int8), "a.scale": torch.zeros(2).half()},
        {"a": torch.zeros(2, 2, dtype=torch.int8), "a.scale": torch.zeros(3).half()},
        {"a": torch.zeros(2, 2, dtype=torch.int8), "a.scale": torch.zeros(2)},
        {"a": torch.zeros(2, 2, dtype=torch.int8), "a.scale": torch.zeros(2, 2, dtype=torch.int8)},
    ],
)
def test_other_numbers_are_refused(tensors: dict[str, torch.Tensor]) -> None:
    with pytest.raises(ValueError, match="a"):
        restore_tensors(tensors)
