"""The weights of many updates in, their moving average out: steadier than the last ones, and often better."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_torch: Any = torch
"""Its operations on many tensors at once, which its own optimizers are made of, have no public names."""

MAX_TOGETHER = 1 << 22
"""Weights of more numbers are averaged each for itself."""


class WeightAverage:
    """A moving average of weights: the plain mean of the first updates, later ones count for a fixed share.

    The average has tensors of its own and the weights stay where they are, so that a recorded step can do both.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], share: float) -> None:
        self.weights = dict(weights)
        self.share = share
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.groups = self._group()

    def _group(self) -> list[list[str]]:
        """The names of what is updated together: weights of one kind, and large ones each for itself.

        Together, weights need as much memory again for a moment.
        """
        groups: dict[object, list[str]] = {}
        for name, average in self.averages.items():
            key = name if average.numel() > MAX_TOGETHER else average.dtype
            groups.setdefault(key, []).append(name)
        return list(groups.values())

    @torch.no_grad()
    def update(self, num_updates: Tensor) -> None:
        """Take in the weights as they are after that many updates; the number stays on its device."""
        share = num_updates.float().reciprocal_().clamp_min_(self.share)
        for names in self.groups:
            averages = [self.averages[name] for name in names]
            # As `lerp` does it, but for a hundred weights at a time: on a GPU, each call costs more than its numbers.
            distances = _torch._foreach_sub([self.weights[name] for name in names], averages)
            _torch._foreach_mul_(distances, share.to(averages[0].dtype))
            _torch._foreach_add_(averages, distances)

    @contextmanager
    @torch.no_grad()
    def in_place(self) -> Generator[None]:
        """Inside, the model's weights are the average; afterwards they are as they were."""
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
