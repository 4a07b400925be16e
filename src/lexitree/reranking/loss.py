"""Scores of candidates and their numbers of wrong constituents in, the structured margin loss out."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def margin_loss(
    scores: Float[Tensor, "lists ranks"],
    wrong: Float[Tensor, "lists ranks"],
    is_there: Bool[Tensor, "lists ranks"],
    margin: float,
) -> Float[Tensor, " lists"]:
    """By how much the worst offender of each list comes too close to its best candidate.

    The best candidate has the fewest wrong constituents; of several, the one that the scores like most. Another one
    should score lower by `margin` for each constituent it has wrong beyond those: the loss is the largest shortfall,
    max over candidates of (score + margin * wrong) less that of the best, and 0 where all keep their distance.
    """
    nowhere = float("inf")
    fewest = wrong.masked_fill(~is_there, nowhere).amin(1, keepdim=True)
    best = scores.masked_fill(~is_there | (wrong > fewest), -nowhere).amax(1)
    offending = (scores + margin * (wrong - fewest)).masked_fill(~is_there, -nowhere).amax(1)
    return torch.clamp(offending - best, min=0.0)
