"""A moving average of the weights over all updates: steadier than the last weights, and often better."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_torch: Any = torch
"""PyTorch's operations on many tensors at once have no public names."""

MAX_TOGETHER = 1 << 22
"""Larger weights are averaged one at a time."""


class WeightAverage:
    """A moving average of weights: at first the plain mean of all updates, later each counts for a fixed share.

    The average has tensors of its own and the weights stay where they are, so that a recorded step can update both.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], share: float) -> None:
        self.weights = dict(weights)
        self.share = share
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.groups = self._group()

    def _group(self) -> list[list[str]]:
        """The names of weights that are updated together: those of one dtype, but large ones one at a time.

        An update of several weights needs as much memory again for a moment.
        """
        groups: dict[object, list[str]] = {}
        for name, average in self.averages.items():
            key = name if average.numel() > MAX_TOGETHER else average.dtype
            groups.setdefault(key, []).append(name)
        return list(groups.values())

    @torch.no_grad()
    def update(self, num_updates: Tensor) -> None:
        """Add the weights as they are after `num_updates` updates; the number stays on its device."""
        share = num_updates.float().reciprocal_().clamp_min_(self.share)
        for names in self.groups:
            averages = [self.averages[name] for name in names]
            # Like `lerp`, but for many weights at once: on a GPU, each call costs more than its arithmetic.
            distances = _torch._foreach_sub([self.weights[name] for name in names], averages)
            _torch._foreach_mul_(distances, share.to(averages[0].dtype))
            _torch._foreach_add_(averages, distances)

    @contextmanager
    @torch.no_grad()
    def in_place(self) -> Generator[None]:
        """Lend the model the average; afterwards its weights are what they were."""
        kept = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self._write(self.averages)
        try:
            yield
        finally:
            self._write(kept)

    @torch.no_grad()
    def _write(self, values: Mapping[str, Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(values[name])
