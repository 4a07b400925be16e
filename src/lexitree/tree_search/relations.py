"""How the nodes of a tree are related: for a set of nodes, all that have one of them as a child, a sister and so on.

A set of nodes is a Boolean array in pre-order. Each relation is a few passes over arrays, so it takes time linear in
the number of nodes, whatever the shape of the tree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lexitree.arrays import BoolArray, IndexArray
from lexitree.trees.tree import Tree

Relation = Callable[[Tree, BoolArray], BoolArray]
"""Takes a tree and some of its nodes, and gives the nodes that are so related to one of them."""


def with_child(tree: Tree, others: BoolArray) -> BoolArray:
    """The parents of the nodes."""
    found = np.zeros_like(others)
    found[tree.parents[1:][others[1:]]] = True
    return found


def with_parent(tree: Tree, others: BoolArray) -> BoolArray:
    """The children of the nodes."""
    found = others[tree.parents]
    found[0] = False
    return found


def with_descendant(tree: Tree, others: BoolArray) -> BoolArray:
    """The nodes above them, at any distance."""
    num_before = np.concatenate([[0], np.cumsum(others)])
    return num_before[_subtree_ends(tree)] > num_before[1:]


def with_ancestor(tree: Tree, others: BoolArray) -> BoolArray:
    """The nodes below them, at any distance."""
    nodes = np.flatnonzero(others)
    change = np.zeros(tree.num_nodes + 1, dtype=np.int64)
    # Each subtree opens after its top and closes after its last node.
    np.add.at(change, nodes + 1, 1)
    np.add.at(change, _subtree_ends(tree)[nodes], -1)
    return np.cumsum(change)[:-1] > 0


def with_sister(tree: Tree, others: BoolArray) -> BoolArray:
    """The other children of their parents."""
    num_children = np.bincount(tree.parents[1:][others[1:]], minlength=tree.num_nodes)
    found = num_children[tree.parents] > others
    found[0] = False
    return found


def just_before(tree: Tree, others: BoolArray) -> BoolArray:
    """The nodes whose last word stands immediately before the first word of one of them."""
    is_start = np.zeros(tree.num_words + 1, dtype=np.bool_)
    is_start[tree.starts[others]] = True
    return is_start[tree.ends]


def just_after(tree: Tree, others: BoolArray) -> BoolArray:
    """The nodes whose first word stands immediately after the last word of one of them."""
    is_end = np.zeros(tree.num_words + 1, dtype=np.bool_)
    is_end[tree.ends[others]] = True
    return is_end[tree.starts]


def before(tree: Tree, others: BoolArray) -> BoolArray:
    """The nodes all of whose words stand before those of one of them."""
    return tree.ends <= np.max(tree.starts[others], initial=-1)


def after(tree: Tree, others: BoolArray) -> BoolArray:
    """The nodes all of whose words stand after those of one of them."""
    return tree.starts >= np.min(tree.ends[others], initial=tree.num_words + 1)


def _subtree_ends(tree: Tree) -> IndexArray:
    """For each node, the number after that of its last descendant."""
    # In pre-order, starts never decrease: outside of a subtree are those nodes that start where its phrase ends.
    num_started = np.cumsum(np.bincount(tree.starts, minlength=tree.num_words))
    return num_started[tree.ends - 1]


RELATIONS: dict[str, Relation] = {
    "<": with_child,
    "<<": with_descendant,
    ">": with_parent,
    ">>": with_ancestor,
    "$": with_sister,
    ".": just_before,
    "..": before,
    ",": just_after,
    ",,": after,
}
"""The relations by their signs: `A < B` is an A with a child B."""
