"""Statistics of trees: sizes, label frequencies and shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lexitree.trees.tree import Tree

_FIGURES = (
    *("num_trees", "num_nodes", "num_phrases", "num_words", "num_word_types"),
    *("mean_length", "max_length", "mean_depth", "max_depth", "unary_share", "binary_share", "nary_share"),
)


@dataclass(slots=True)
class TreeStatistics:
    """Counts over trees; depth is the number of edges to the deepest word."""

    num_trees: int = 0
    num_nodes: int = 0
    num_words: int = 0
    words: set[str] = field(default_factory=set[str])
    label_counts: Counter[str] = field(default_factory=Counter[str])
    root_label_counts: Counter[str] = field(default_factory=Counter[str])
    arity_counts: Counter[int] = field(default_factory=Counter[int])
    length_counts: Counter[int] = field(default_factory=Counter[int])
    depth_counts: Counter[int] = field(default_factory=Counter[int])

    def add(self, tree: Tree) -> None:
        """Count one more tree."""
        self.num_trees += 1
        self.num_nodes += tree.num_nodes
        self.num_words += tree.num_words
        self.words.update(tree.words)
        self.label_counts.update(tree.labels)
        self.root_label_counts[tree.label] += 1
        arities, counts = np.unique(tree.arity, return_counts=True)
        self.arity_counts.update(dict(zip(arities.tolist(), counts.tolist(), strict=True)))
        self.length_counts[tree.num_words] += 1
        self.depth_counts[int(tree.heights[0])] += 1

    @property
    def num_word_types(self) -> int:
        """The number of distinct words."""
        return len(self.words)

    @property
    def num_phrases(self) -> int:
        """The number of nodes with children."""
        return self.num_nodes - self.num_words

    @property
    def mean_length(self) -> float:
        return self.num_words / max(self.num_trees, 1)

    @property
    def max_length(self) -> int:
        return max(self.length_counts, default=0)

    @property
    def mean_depth(self) -> float:
        return sum(depth * count for depth, count in self.depth_counts.items()) / max(self.num_trees, 1)

    @property
    def max_depth(self) -> int:
        return max(self.depth_counts, default=0)

    @property
    def unary_share(self) -> float:
        """The share of phrases with one child."""
        return self.arity_counts[1] / max(self.num_phrases, 1)

    @property
    def binary_share(self) -> float:
        """The share of phrases with two children."""
        return self.arity_counts[2] / max(self.num_phrases, 1)

    @property
    def nary_share(self) -> float:
        """The share of phrases with three or more children."""
        num_wide = sum(count for arity, count in self.arity_counts.items() if arity > 2)
        return num_wide / max(self.num_phrases, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain values for JSON; labels by frequency, histograms by size."""
        return {
            **{name: getattr(self, name) for name in _FIGURES},
            "label_counts": dict(self.label_counts.most_common()),
            "root_label_counts": dict(self.root_label_counts.most_common()),
            "arity_counts": _by_size(self.arity_counts),
            "length_counts": _by_size(self.length_counts),
            "depth_counts": _by_size(self.depth_counts),
        }


def tree_statistics(trees: Iterable[Tree]) -> TreeStatistics:
    """Compute statistics of a stream of trees; only counts and distinct words stay in memory."""
    statistics = TreeStatistics()
    for tree in trees:
        statistics.add(tree)
    return statistics


def _by_size(counts: Counter[int]) -> dict[str, int]:
    # JSON keys are strings: converted here, so that the dict survives a round trip.
    return {str(size): counts[size] for size in sorted(counts)}
