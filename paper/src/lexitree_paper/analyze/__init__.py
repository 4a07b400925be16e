"""Comparisons of trained systems: mistakes, lengths, head words, plots."""

from lexitree_paper.analyze.comparison import accuracy_by_length, compare_systems
from lexitree_paper.analyze.curves import plot_curves, plot_lengths, read_curve
from lexitree_paper.analyze.head_overlap import head_overlap

__all__ = [
    "accuracy_by_length",
    "compare_systems",
    "head_overlap",
    "plot_curves",
    "plot_lengths",
    "read_curve",
]
