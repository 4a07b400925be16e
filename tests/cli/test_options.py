"""The choices that options offer are those of the library, and a device is tried before it is taken."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch

from lexitree.cli import options
from lexitree.corpora import corpus
from lexitree.errors import BackendError
from lexitree.models import cells, transformer
from lexitree.ops import precision
from lexitree.ops.devices import choose_device
from lexitree.saving import quantized
from lexitree.tasks.classify import config, parsed_corpus
from lexitree.trees import Direction


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (options.Supervision, corpus.Supervision),
        (options.SplitName, corpus.SplitName),
        (options.Direction, Direction),
        (options.Parses, parsed_corpus.Parses),
        (options.DecayKind, config.DecayKind),
        (options.Schedule, config.Schedule),
        (options.LayerChoice, transformer.LayerChoice),
        (options.BiasInit, cells.BiasInit),
        (options.Precision, precision.Precision),
        (options.TableForm, quantized.TableForm),
    ],
)
def test_choices_are_those_of_the_library(offered: object, known: object) -> None:
    assert get_args(offered) == get_args(known)
    assert len(get_args(known)) >= 2


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
