"""Tensors that leave for the host, or come from it."""

from __future__ import annotations

import pytest
import torch

from lexitree.ops.transfers import leave, send

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=on_gpu)])
def test_numbers_arrive_as_they_were_sent(device: str) -> None:
    numbers = torch.arange(1000).view(20, 50)
    sent = send(numbers, device)
    assert sent.device.type == device
    assert (leave(2 * sent).result() == 2 * numbers.numpy()).all()


@on_gpu
def test_what_arrives_is_not_changed_by_later_work() -> None:
    sent = torch.ones(5, device="cuda")
    arriving = leave(sent)
    sent.zero_()
    assert arriving.result().tolist() == [1] * 5
