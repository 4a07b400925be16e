"""How far a run is, as it says while it goes on, and the file of what its epochs brought."""

from __future__ import annotations

from dataclasses import dataclass

METRICS_FILE = "metrics.jsonl"
"""A line an epoch, in the directory of the run."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Where the run is within an epoch."""

    epoch: int
    num_epochs: int
    num_trees_done: int
    num_trees: int
    loss: float
    """The mean loss per sentence so far in this epoch."""
    trees_per_second: float
