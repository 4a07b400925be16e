"""Labelled trees made by hand, without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lexitree.labels import LabelSet
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.tree import Tree


class Weigher:
    """Gives the weights that a function says."""

    def __init__(self, weights: Callable[[int], Sequence[float]]) -> None:
        self.weights = weights

    def word_weights(self, node: int) -> tuple[float, ...]:
        return tuple(self.weights(node))


def labelled(
    tree: Tree,
    labels: LabelSet | Sequence[str],
    rows: Sequence[Sequence[float]],
    heads: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    weigh: Callable[[int], Sequence[float]] | None = None,
) -> LabelledTree:
    """A tree with these probabilities by node, head words and weights."""
    return LabelledTree(
        source=tree,
        label_set=labels if isinstance(labels, LabelSet) else LabelSet(tuple(labels)),
        node_probabilities=np.array(rows, dtype=np.float32),
        head_index=None if heads is None else np.array(heads),
        head_weight=None if weights is None else np.array(weights, dtype=np.float32),
        weigher=None if weigh is None else Weigher(weigh),
    )
