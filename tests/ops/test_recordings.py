"""Recordings belong to the weights that they read; tests/gpu/test_recordings.py replays them on a GPU."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from lexitree.ops import recordings
from lexitree.ops.recordings import recordings_of

CPU = torch.device("cpu")


class NoRecordings:
    """Stands in for recordings, which need a GPU."""

    def __init__(self, device: torch.device) -> None:
        self.device = device


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(recordings, "Recordings", NoRecordings)
    yield
    recordings._kept.clear()


def small_module() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2, bias=False))


def test_recordings_stay_while_weights_change_in_place() -> None:
    module = small_module()
    kept = recordings_of(module, CPU)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(1)
    module.load_state_dict(small_module().state_dict())
    assert recordings_of(module, CPU) is kept
    assert recordings_of(small_module(), CPU) is not kept


@pytest.mark.parametrize("what", ["moved", "another weight", "another buffer", "no weight"])
def test_weights_that_are_elsewhere_are_recorded_anew(what: str) -> None:
    module = small_module()
    last, norm = module[2], module[1]
    assert isinstance(last, nn.Linear)
    assert isinstance(norm, nn.BatchNorm1d)
    kept = recordings_of(module, CPU)
    if what == "moved":
        module.double()
    elif what == "another weight":
        last.weight = nn.Parameter(last.weight.detach().clone())
    elif what == "another buffer":
        norm.running_mean = torch.zeros(4)
    else:
        del last.weight
    anew = recordings_of(module, CPU)
    assert anew is not kept
    assert recordings_of(module, CPU) is anew


def test_other_settings_are_recorded_anew() -> None:
    module = small_module()
    first, second = ["warm"], ["warm"]
    kept = recordings_of(module, CPU, first)
    assert recordings_of(module, CPU, first) is kept
    assert recordings_of(module, CPU, second) is not kept


def test_recordings_end_with_their_module() -> None:
    module = small_module()
    recordings_of(module, CPU)
    assert len(recordings._kept) == 1
    del module
    gc.collect()
    assert not recordings._kept
