"""Trees as flat arrays: reading and writing, binarization, head words, statistics."""

from __future__ import annotations

from lexitree.trees.binarize import (
    BinarizedTree,
    Direction,
    binarize,
    collapse_unary,
    expand_unary,
    to_binary,
    unbinarize,
)
from lexitree.trees.brackets import (
    ReadReport,
    read_bracket_lines,
    read_trees,
    surface_form,
    tree_from_brackets,
    tree_to_brackets,
    write_trees,
)
from lexitree.trees.dependencies import DependencyTree, label_by_spans, read_dependencies
from lexitree.trees.head_rules import head_children, head_words
from lexitree.trees.jsonl import read_json_lines, tree_from_json, tree_to_json, write_json_lines
from lexitree.trees.nltk_trees import tree_from_nltk, tree_to_nltk
from lexitree.trees.penn import strip_function_tags, strip_traces
from lexitree.trees.statistics import TreeStatistics, tree_statistics
from lexitree.trees.tree import NO_LABEL, Tree

__all__ = [
    "NO_LABEL",
    "BinarizedTree",
    "DependencyTree",
    "Direction",
    "ReadReport",
    "Tree",
    "TreeStatistics",
    "binarize",
    "collapse_unary",
    "expand_unary",
    "head_children",
    "head_words",
    "label_by_spans",
    "read_bracket_lines",
    "read_dependencies",
    "read_json_lines",
    "read_trees",
    "strip_function_tags",
    "strip_traces",
    "surface_form",
    "to_binary",
    "tree_from_brackets",
    "tree_from_json",
    "tree_from_nltk",
    "tree_statistics",
    "tree_to_brackets",
    "tree_to_json",
    "tree_to_nltk",
    "unbinarize",
    "write_json_lines",
    "write_trees",
]
