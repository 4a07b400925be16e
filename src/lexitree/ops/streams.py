"""Two computations that do not need each other in, both results out of a GPU that ran them side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def run_on_two_streams(
    first: Callable[[], Tensor], second: Callable[[], Tensor], inputs: Sequence[Tensor], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Both results; the second runs on a stream of its own, and so will its backward pass.

    A tree has few nodes a level, so one recurrence leaves most of a GPU idle. `inputs` are what the second reads.
    """
    here, aside = torch.cuda.current_stream(device), _second_stream(device)
    aside.wait_stream(here)
    for tensor in inputs:
        # Its backward pass reads them too: when the host lets them go, their memory is not free yet.
        tensor.record_stream(aside)
    with torch.cuda.stream(aside):
        other = second()
    result = first()
    here.wait_stream(aside)
    return result, other


@functools.cache
def _second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
