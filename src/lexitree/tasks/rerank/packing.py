"""Packing the candidate trees of a sentence into one forest of binary trees with a label on every node.

What `collapse_unary` and `binarize` do, and the sharing of subtrees, is done here in one pass over each tree,
without any tree in between: lists are long, and trees are made slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from lexitree.batch.forest import Forest, KnownPairs
from lexitree.errors import TreeError
from lexitree.parsers.penn_spans import ROOT_LABELS
from lexitree.trees.binarize import Direction
from lexitree.trees.head_rules import STANFORD, head_slot
from lexitree.trees.penn import strip_function_tags, strip_traces
from lexitree.trees.tree import CHAIN_JOINT, INTERMEDIATE_MARK, Tree, refuse_inner_words

AS_A_TREEBANK = "Give the trees as a treebank has them, neither binarized nor with joined labels."


class PackedTrees(NamedTuple):
    """The distinct subtrees of several trees, and the label that each node has in each of them."""

    forest: Forest
    labels: list[str]
    """In the order of `forest.nodes`: phrases with joined labels (`S+VP`), split ones (`@NP`), "" for a bare word."""

    def single_trees(self, words: Sequence[str]) -> list[Tree]:
        """The binary trees one by one, for a model to which they have nothing in common."""
        forest, size = self.forest, 2 * self.forest.num_words - 1
        arity = 2 * (forest.nodes.reshape(-1, size) >= forest.num_words)
        return [
            Tree(shape, self.labels[size * number : size * (number + 1)], words)
            for number, shape in enumerate(arity)
        ]


def pack_trees(trees: Sequence[Tree], direction: Direction) -> PackedTrees:
    """Pack trees over the same words."""
    known: KnownPairs = {}
    nodes: list[int] = []
    labels: list[str] = []
    num_words = _plain(trees[0]).num_words
    for tree in trees:
        collapsed = _collapse(_plain(tree))
        numbers, names = _number_nodes(collapsed, _find_splits(collapsed, direction), num_words, known)
        nodes += numbers
        labels += names
    return PackedTrees(Forest.of(num_words, known, nodes, len(trees)), labels)


class Collapsed(NamedTuple):
    """A tree in pre-order without ROOT and without unary phrases; a chain is one node with a joined label."""

    arity: list[int]
    labels: list[str]


class Splits(NamedTuple):
    """How wide phrases are split: how many of the nodes that are put in start at each node, and their label."""

    counts: list[int]
    labels: list[str]


def _plain(tree: Tree) -> Tree:
    refuse_inner_words(tree, "reranked")
    kept = strip_traces(tree)
    if kept is None:
        raise TreeError("a tree without words, only with traces")
    return kept


def _collapse(tree: Tree) -> Collapsed:
    arity: list[int] = []
    labels: list[str] = []
    chain = ""
    is_above = True
    for num_children, written in zip(tree.arity.tolist(), tree.labels, strict=True):
        is_above = is_above and num_children == 1 and written in ROOT_LABELS
        if is_above:
            continue
        label = _bare_label(written)
        if num_children == 1:
            chain += label + CHAIN_JOINT
            continue
        if num_children and arity and label.startswith(INTERMEDIATE_MARK):
            raise TreeError(f"the label {label!r} already marks an intermediate node", remedy=AS_A_TREEBANK)
        arity.append(num_children)
        labels.append(chain + label)
        chain = ""
    return Collapsed(arity, labels)


@lru_cache(maxsize=4096)
def _bare_label(label: str) -> str:
    """The label without function tags."""
    if CHAIN_JOINT in label:
        raise TreeError(
            f"the label {label!r} holds {CHAIN_JOINT!r}, which joins the labels of a chain",
            remedy=AS_A_TREEBANK,
        )
    return strip_function_tags(Tree.leaf("_", label)).label


def _find_splits(tree: Collapsed, direction: Direction) -> Splits:
    """Outermost the parts left of the head are peeled, then those right of it; see `binarize`."""
    counts, labels = [0] * len(tree.arity), [""] * len(tree.arity)
    for phrase, parts in _wide_phrases(tree.arity):
        head = _head_slot(tree, phrase, parts, direction)
        num_right = len(parts) - 1 - head
        for part in parts[1:head]:
            counts[part] = 1
        counts[parts[head]] = num_right if head else num_right - 1
        for part in parts:
            labels[part] = INTERMEDIATE_MARK + tree.labels[phrase]
    return Splits(counts, labels)


def _wide_phrases(arity: list[int]) -> list[tuple[int, list[int]]]:
    """Every phrase of three and more parts, with these."""
    found: list[tuple[int, list[int]]] = []
    path: list[tuple[int, list[int]]] = []
    for node, num_children in enumerate(arity):
        if path:
            path[-1][1].append(node)
        if num_children:
            path.append((node, []))
        while path and len(path[-1][1]) == arity[path[-1][0]]:
            phrase, parts = path.pop()
            if len(parts) > 2:
                found.append((phrase, parts))
    return found


def _head_slot(tree: Collapsed, phrase: int, parts: list[int], direction: Direction) -> int:
    """Which part ends up innermost."""
    if direction == "head":
        return head_slot(tree.labels[phrase], [tree.labels[part] for part in parts], STANFORD)
    return 0 if direction == "left" else len(parts) - 1


def _number_nodes(
    tree: Collapsed, splits: Splits, num_words: int, known: KnownPairs
) -> tuple[list[int], list[str]]:
    """Numbers and labels of the nodes of the binary tree in pre-order; `known` grows with the pairs that are new.

    From behind, both children of a phrase are met before it, the left one last; what is put in before a node joins it
    to what stands on its right.
    """
    numbers: list[int] = []
    labels: list[str] = []
    waiting: list[int] = []
    word = num_words
    for node in range(len(tree.arity) - 1, -1, -1):
        label = tree.labels[node]
        if tree.arity[node]:
            number = known.setdefault((waiting.pop(), waiting.pop()), num_words + len(known))
        else:
            word -= 1
            # The last label of a chain over a word is its tag.
            number, label = word, label.rpartition(CHAIN_JOINT)[0]
        numbers.append(number)
        labels.append(label)
        for _ in range(splits.counts[node]):
            number = known.setdefault((number, waiting.pop()), num_words + len(known))
            numbers.append(number)
            labels.append(splits.labels[node])
        waiting.append(number)
    return numbers[::-1], labels[::-1]
