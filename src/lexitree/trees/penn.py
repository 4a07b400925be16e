"""Remove traces and function tags from Penn Treebank trees."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from lexitree.trees.tree import CHAIN_JOINT, Tree

TRACE_LABEL = "-NONE-"
"""The label of a leaf that is an empty element, not a word."""

# A label that starts with a dash, such as -LRB-, is not a category with tags.
_CATEGORY_AND_TAGS = re.compile(r"(@?[^-=@][^-=]*)[-=].*", re.DOTALL)


def strip_traces(tree: Tree) -> Tree | None:
    """Remove traces (`-NONE-` leaves) and the phrases that become empty; None if no word remains."""
    leaves: list[int] = tree.leaves.tolist()
    is_word = np.array([tree.labels[leaf] != TRACE_LABEL for leaf in leaves], dtype=np.bool_)
    if is_word.all():
        return tree
    if not is_word.any():
        return None
    num_words_before = np.concatenate([[0], np.cumsum(is_word)])
    kept = num_words_before[tree.ends] > num_words_before[tree.starts]
    arity = np.bincount(tree.parents[kept][1:], minlength=tree.num_nodes)[kept]
    labels = [tree.labels[node] for node in np.flatnonzero(kept).tolist()]
    return Tree(arity, labels, [tree.words[word] for word in np.flatnonzero(is_word).tolist()])


def strip_function_tags(tree: Tree) -> Tree:
    """Reduce labels to categories: `NP-SBJ-1` and `NP=2` become NP; `-LRB-` and `ADVP|PRT` stay."""
    labels = tuple(map(_without_tags, tree.labels))
    return tree if labels == tree.labels else tree.with_labels(labels)


@lru_cache(maxsize=4096)
def _without_tags(label: str) -> str:
    parts = label.split(CHAIN_JOINT)
    matches = map(_CATEGORY_AND_TAGS.fullmatch, parts)
    return CHAIN_JOINT.join(match[1] if match else part for part, match in zip(parts, matches, strict=True))
