"""Learning from labels that leave something open: the loss is that of all labels that may be meant, together."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.corpora.further import Grain


class LabelGrains:
    """What each label number says: first the labels that the model learns, then coarser ones.

    A label means some of the labels that the model learns, among those that its corpus tells apart. Its loss is the
    negative logarithm of their summed probability, out of that of all labels its corpus tells apart:

        log sum over `among` of exp(score) - log sum over `meant` of exp(score)

    A label that means one among all has the ordinary cross entropy.

    Args:
        num_labels: How many labels the model learns.
        grains: The coarser labels, whose numbers follow.
        label_weights: How much a node counts that has one of the labels the model learns; by default 1.
        scale: A factor for all weights: what a teacher leaves to labels.
    """

    def __init__(
        self,
        num_labels: int,
        grains: Sequence[Grain],
        *,
        label_weights: Float[Tensor, " labels"] | None = None,
        scale: float = 1.0,
    ) -> None:
        everything = tuple(range(num_labels))
        own = torch.ones(num_labels) if label_weights is None else label_weights
        rows = [
            # The row of nodes without a label, which are numbered -1: they count nothing.
            Grain(everything, everything, 0.0),
            *(Grain((number,), everything, float(own[number])) for number in everything),
            *grains,
        ]
        self.meant = torch.stack([_log_mask(row.meant, num_labels) for row in rows])
        self.among = torch.stack([_log_mask(row.among, num_labels) for row in rows])
        self.weights = scale * torch.tensor([row.weight for row in rows])

    def to(self, device: torch.device | str) -> LabelGrains:
        """Move the tables to a device; they are moved in place."""
        self.meant, self.among = self.meant.to(device), self.among.to(device)
        self.weights = self.weights.to(device)
        return self

    def losses(
        self, scores: Float[Tensor, "nodes labels"], label_index: Int[Tensor, " nodes"]
    ) -> Float[Tensor, " nodes"]:
        """The loss of each node, weighted; 0 for nodes without a label."""
        rows = label_index + 1
        both = torch.stack([self.among.index_select(0, rows), self.meant.index_select(0, rows)])
        among, meant = (scores + both.to(scores.dtype)).logsumexp(2)
        return (among - meant) * self.weights.to(scores.dtype).index_select(0, rows)


def _log_mask(numbers: Sequence[int], num_labels: int) -> Tensor:
    """0 for the given labels, minus infinity for the others: what is added to scores to leave these out."""
    mask = torch.full((num_labels,), -torch.inf)
    mask[list(numbers)] = 0
    return mask
