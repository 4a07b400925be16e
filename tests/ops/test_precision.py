"""Precisions by name; PyTorch's switch is left as it was."""

from __future__ import annotations

import pytest
import torch

from lexitree.errors import ConfigError
from lexitree.ops.devices import check_precision, products_in


@pytest.mark.parametrize(("precision", "switch"), [("float32", "highest"), ("tf32", "high")])
def test_the_switch_is_set_and_set_back(precision: str, switch: str) -> None:
    before = torch.get_float32_matmul_precision()
    with products_in(precision):
        assert torch.get_float32_matmul_precision() == switch
    assert torch.get_float32_matmul_precision() == before


def test_unknown_precision_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="float8") as error:
        check_precision("float8")
    assert "bf16" in str(error.value)


def test_training_takes_no_bf16() -> None:
    check_precision("bf16")
    with pytest.raises(ConfigError, match="prediction only"):
        check_precision("bf16", training=True)
