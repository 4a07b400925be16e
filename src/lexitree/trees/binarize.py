"""Convert trees to binary trees and back.

Unary chains are collapsed and wide phrases are split. In pre-order these are insertions into and deletions from
flat arrays, so they take a few NumPy calls, whatever the depth of the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lexitree.arrays import NO_INDEX, BoolArray, NodeArray
from lexitree.errors import TreeError
from lexitree.trees.head_rules import STANFORD, head_children
from lexitree.trees.tree import (
    CHAIN_JOINT,
    INTERMEDIATE_MARK,
    NO_LABEL,
    Tree,
    child_slots,
    intermediate_nodes,
    nearest_kept_ancestors,
    refuse_inner_words,
)

Direction = Literal["left", "right", "head"]


@dataclass(frozen=True, slots=True)
class BinarizedTree:
    """A binary tree, and where each node of its source went, so that labels can be carried over."""

    tree: Tree
    source: Tree
    node_of: NodeArray
    """For every node of `source`, its node in `tree`; the nodes of a unary chain share one."""


def to_binary(
    tree: Tree, direction: Direction = "right", *, has_sentence_label: bool = False
) -> BinarizedTree:
    """Make the binary tree that a model reads: collapse unary chains and split wide phrases.

    A collapsed chain has the label of its topmost labelled node; inserted nodes have no label.

    Args:
        tree: Any tree of phrases.
        direction: Which child of a wide phrase becomes the innermost; see `binarize`.
        has_sentence_label: Whether the root's label is the answer to the task and not a phrase category. It then
            does not influence the shape, since no model may infer the answer from its input.

    Raises:
        TreeError: The tree is a dependency tree.
    """
    refuse_inner_words(tree, "binarized")
    if tree.is_binary:
        return unchanged(tree)
    labels = [NO_LABEL, *tree.labels[1:]] if has_sentence_label else tree.labels
    heads = _head_slots(tree.with_labels(labels), direction)
    absorbed = _absorbed(tree)
    collapsed, collapsed_of = _collapse(tree, _topmost_labels(tree, absorbed))
    bottoms = np.append(np.flatnonzero(~absorbed)[1:], tree.num_nodes) - 1
    binary, binary_of = _split_wide(collapsed, heads[bottoms], mark=None)
    return BinarizedTree(binary, tree, binary_of[collapsed_of])


def unchanged(tree: Tree) -> BinarizedTree:
    """Wrap a tree that is read as it is, each node representing itself."""
    return BinarizedTree(tree, tree, np.arange(tree.num_nodes, dtype=np.int32))


def binarize(tree: Tree, direction: Direction = "right") -> Tree:
    """Split phrases of three or more children; unary phrases stay. Nodes inserted into an NP are labelled @NP.

    Args:
        tree: Any tree of phrases.
        direction: Which child becomes the innermost: `left` the first, `right` the last, `head` the head child, to
            which first its right and then its left siblings are attached, as in the Stanford Sentiment Treebank
            (see `head_rules.STANFORD`). Phrases without Penn labels are split to the right.

    Raises:
        TreeError: The tree is a dependency tree or already has nodes labelled @X.
    """
    refuse_inner_words(tree, "binarized")
    marked = np.flatnonzero(intermediate_nodes(tree))
    if marked.size:
        raise TreeError(
            f"the label {tree.labels[marked[0]]!r} already marks an intermediate node",
            remedy="Undo the binarization first (unbinarize, or --undo).",
        )
    return _split_wide(tree, _head_slots(tree, direction), mark=INTERMEDIATE_MARK)[0]


def unbinarize(tree: Tree) -> Tree:
    """Remove the nodes labelled @X, giving their children to their parent; the inverse of `binarize`.

    If the parent is not an X, as in `(S (@VP ...) ...)`, it is a collapsed chain of an S over a VP that was split:
    the VP gets its node back.
    """
    marked = intermediate_nodes(tree)
    if not marked.any():
        return tree
    phrases = nearest_kept_ancestors(tree, marked)
    arity = np.bincount(phrases[~marked][1:], minlength=tree.num_nodes).astype(np.int32)
    lost: dict[int, str] = {}
    for node in np.flatnonzero(marked).tolist():
        lost.setdefault(int(phrases[node]), tree.labels[node].removeprefix(INTERMEDIATE_MARK))
    chains = [
        dict.fromkeys((tree.labels[node], lost.get(node, tree.labels[node])))
        for node in np.flatnonzero(~marked).tolist()
    ]
    return _with_chains(arity[~marked], chains, tree.words)


def collapse_unary(tree: Tree) -> Tree:
    """Join each unary chain into one node labelled `S+VP`; a chain over a word becomes a leaf.

    Raises:
        TreeError: The tree is a dependency tree, or a label already contains `+`.
    """
    refuse_inner_words(tree, "collapsed")
    joined = next((label for label in tree.labels if CHAIN_JOINT in label), None)
    if joined:
        raise TreeError(f"the label {joined!r} contains {CHAIN_JOINT!r}, which joins the labels of a chain")
    tops = np.flatnonzero(~_absorbed(tree))
    ends = np.append(tops[1:], tree.num_nodes)
    # A chain extends from its top to the next top: in pre-order an only child follows its parent.
    labels = [
        CHAIN_JOINT.join(tree.labels[top:end]) for top, end in zip(tops.tolist(), ends.tolist(), strict=True)
    ]
    return _collapse(tree, labels)[0]


def expand_unary(tree: Tree) -> Tree:
    """Expand labels such as `S+VP` into unary chains; the inverse of `collapse_unary`."""
    return _with_chains(tree.arity, [label.split(CHAIN_JOINT) for label in tree.labels], tree.words)


def _with_chains(arity: NodeArray, chains: Sequence[Collection[str]], words: Iterable[str]) -> Tree:
    """Build a tree whose nodes are unary chains, given by their labels from top to bottom."""
    bottoms = np.cumsum([len(chain) for chain in chains]) - 1
    full = np.ones(bottoms[-1] + 1, dtype=np.int32)
    full[bottoms] = arity
    return Tree(full, [label for chain in chains for label in chain], words)


def _absorbed(tree: Tree) -> BoolArray:
    """Return whether each node is an only child, which collapsing merges into its parent."""
    return np.concatenate([[False], tree.arity[:-1] == 1])


def _collapse(tree: Tree, labels: list[str]) -> tuple[Tree, NodeArray]:
    absorbed = _absorbed(tree)
    collapsed_of = (np.cumsum(~absorbed) - 1).astype(np.int32)
    bottoms = np.append(np.flatnonzero(~absorbed)[1:], tree.num_nodes) - 1
    return Tree(tree.arity[bottoms], labels, tree.words), collapsed_of


def _topmost_labels(tree: Tree, absorbed: BoolArray) -> list[str]:
    labels: list[str] = []
    for label, merges in zip(tree.labels, absorbed.tolist(), strict=True):
        if not merges:
            labels.append(label)
        elif labels[-1] == NO_LABEL:
            labels[-1] = label
    return labels


def _head_slots(tree: Tree, direction: Direction) -> NodeArray:
    """Return which child of each node becomes the innermost, counted from 0."""
    if direction == "left":
        return np.zeros_like(tree.arity)
    if direction == "right":
        return np.maximum(tree.arity - 1, 0)
    return head_children(tree, STANFORD)


def _split_wide(tree: Tree, heads: NodeArray, mark: str | None) -> tuple[Tree, NodeArray]:
    """Insert the intermediate nodes: the outer ones split off the children left of the head, the inner the others."""
    before = _num_inserted_before(tree, heads)
    split_of = (np.arange(tree.num_nodes) + np.cumsum(before)).astype(np.int32)
    arity = np.full(tree.num_nodes + before.sum(), 2, dtype=np.int32)
    arity[split_of] = np.minimum(tree.arity, 2)
    # An intermediate node precedes the child it starts with, and takes its name from their parent.
    origin = np.repeat(np.arange(tree.num_nodes), before + 1)
    labels = [""] * len(arity)
    if mark is not None:
        parents: list[int] = tree.parents[origin].tolist()
        labels = [mark + tree.labels[parent] for parent in parents]
    for node, position in enumerate(split_of.tolist()):
        labels[position] = tree.labels[node]
    return Tree(arity, labels, tree.words), split_of


def _num_inserted_before(tree: Tree, heads: NodeArray) -> NodeArray:
    """Return how many intermediate nodes start at each node.

    Of k children with the head at slot h, each child at a slot 1 to h - 1 starts one: the rest of its phrase once the
    children before it are split off. The head starts one for each child on its right, less the last if no child was
    split off before.
    """
    parents, slots = tree.parents, child_slots(tree)
    width = np.where(parents == NO_INDEX, 0, tree.arity[parents])
    head = heads[parents]
    num_right = width - 1 - head
    at_head = np.where(head > 0, num_right, num_right - 1)
    inserted = np.where(slots == head, at_head, ((slots > 0) & (slots < head)).astype(np.int32))
    return np.where(width > 2, inserted, 0).astype(np.int32)
