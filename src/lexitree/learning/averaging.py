"""The weights of many updates in, their moving average out: steadier than the last ones, and often better."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """A moving average of weights: the plain mean of the first updates, later ones count for a fixed share.

    The average has tensors of its own and the weights stay where they are, so that a recorded step can do both.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], share: float) -> None:
        self.weights = dict(weights)
        self.share = share
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}

    @torch.no_grad()
    def update(self, num_updates: Tensor) -> None:
        """Take in the weights as they are after that many updates; the number stays on its device."""
        share = num_updates.float().reciprocal_().clamp_min_(self.share)
        for name, average in self.averages.items():
            average.lerp_(self.weights[name], share.to(average.dtype))

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
