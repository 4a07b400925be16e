"""A device is tried before it is used."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lexitree.errors import BackendError
from lexitree.ops import devices
from lexitree.ops.devices import choose_device

BEST_DEVICE = devices._best_device
"""As it is outside of the tests, which otherwise run on the CPU."""


def test_auto_is_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_best_device", BEST_DEVICE)
    monkeypatch.setattr(devices, "_may_have_gpu", lambda: True)
    for is_there, device in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda is_there=is_there: is_there)
        assert choose_device("auto") == device
    with pytest.raises(BackendError, match="no CUDA device"):
        choose_device("cuda:1")


@pytest.mark.parametrize("device", ["nonsense", "meta"])
def test_a_device_that_does_not_work_is_refused(device: str) -> None:
    with pytest.raises(BackendError, match=f"no device called '{device}'"):
        choose_device(device)


def test_a_device_without_float64_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    make_zeros = torch.zeros

    def zeros(*sizes: int, dtype: torch.dtype = torch.float32, device: str) -> Any:
        if device == "mps" and dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return make_zeros(*sizes, dtype=dtype)

    monkeypatch.setattr(torch, "zeros", zeros)
    assert choose_device("cpu") == "cpu"
    with pytest.raises(BackendError, match=r"'mps' has no 64-bit numbers \(float64\).*\nUse --device cpu"):
        choose_device("mps")
