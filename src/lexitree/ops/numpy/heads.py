"""Head vectors in NumPy, and the head word of each phrase: the word its head vector mostly comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lexitree.arrays import BoolArray, FloatArray, IndexArray, RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.functions import levels_of, squash
from lexitree.ops.weights import (
    DECIDED,
    SAME_SIMILARITY,
    HeadCandidates,
    HeadMethod,
    HeadWeights,
    check_head_method,
)
from lexitree.text.word_kinds import WordKind

SMALLEST_NORM = 1e-8
"""Vectors shorter than this are no longer of length 1 when they are compared, as in PyTorch's cosine similarity."""


def numpy_compose_heads(
    words: RealArray,
    weights: HeadWeights | None,
    layout: TreeLayout,
    method: HeadMethod,
    lean: RealArray | None = None,
) -> RealArray:
    """The head vector of every node, [nodes, word]; see `reference_compose_heads`.

    Args:
        words: [leaves, word]
        weights: Those of the gate, for method G.
        layout: The trees.
        method: How a phrase gets its head vector.
        lean: [phrases], what is added to each phrase's gate.
    """
    check_head_method(method, weights)
    if method == "L":
        return words[layout.span_start]
    if method == "R":
        return words[layout.span_end - 1]
    if method == "A":
        return _mean_heads(words, layout)
    assert weights is not None
    return numpy_heads_and_shares(words, weights, layout, lean)[0]


def numpy_heads_and_shares(
    words: RealArray,
    weights: HeadWeights,
    layout: TreeLayout,
    lean: RealArray | None = None,
) -> tuple[RealArray, RealArray]:
    """The head vector of every node, [nodes, word], and every phrase's share of its left part, [phrases, word]."""
    dtype = weights.bias.dtype
    num_leaves, size = words.shape
    x = np.empty((layout.num_nodes, size), dtype)
    x[:num_leaves] = words
    z = np.empty((layout.num_nodes - num_leaves, size), dtype)
    z[:] = weights.bias
    if lean is not None:
        z += lean.astype(dtype, copy=False)[:, np.newaxis]
    for start, end in levels_of(layout):
        first, last = start - num_leaves, end - num_leaves
        pairs = x[layout.children_index[2 * first : 2 * last]].reshape(-1, 2, size)
        x_L, x_R, share = pairs[:, 0], pairs[:, 1], z[first:last]
        share += pairs.reshape(-1, 2 * size) @ weights.gate.T
        x[start:end] = x_R + squash(share) * (x_L - x_R)
    return x, z


def _mean_heads(words: RealArray, layout: TreeLayout) -> RealArray:
    num_leaves, size = words.shape
    x = np.empty((layout.num_nodes, size), words.dtype)
    x[:num_leaves] = words
    for start, end in levels_of(layout):
        children = layout.children_index[2 * (start - num_leaves) : 2 * (end - num_leaves)]
        x[start:end] = x[children].reshape(-1, 2, size).mean(1)
    return x


def lean_to_candidates(layout: TreeLayout, candidates: HeadCandidates) -> FloatArray | None:
    """What decides the gate of each phrase whose parts differ in the best kind of word that they have, [phrases].

    Positive for the left part, negative for the right one, zero where both have the same; None if all words are
    candidates.
    """
    if candidates == "all":
        return None
    worst = WordKind.PUNCTUATION if candidates == "words" else WordKind.FUNCTION
    rank = np.zeros(layout.num_nodes, dtype=np.int64)
    for kind in range(worst, WordKind.PUNCTUATION + 1):
        counts = np.append(0, np.cumsum(layout.leaf_kind < kind))
        rank += counts[layout.span_end] == counts[layout.span_start]
    left, right = rank[layout.children_index].reshape(-1, 2).T
    return DECIDED * (right - left).astype(np.float32)


class HeadLeaves(NamedTuple):
    """The head word of every node, in the layout's up order."""

    leaf: IndexArray  # [nodes]
    """The leaf that is the head."""
    weight: RealArray  # [nodes]
    """Its share of the node's head vector, from 0 to 1: the head vector is a weighted mean of the words' vectors."""


def numpy_find_heads(
    x: RealArray,
    weights: HeadWeights | None,
    layout: TreeLayout,
    method: HeadMethod,
    lean: RealArray | None = None,
    from_left: RealArray | None = None,
) -> HeadLeaves:
    """The paper's rule: a phrase takes the head of the child whose head vector is closer by cosine.

    Where the gate is decided beforehand, it takes that child's: both may have the same vector.

    Args:
        x: [nodes, word], the head vectors.
        weights: Those of the gate, for method G where `from_left` is not known.
        layout: The trees.
        method: How the head vectors were made.
        lean: [phrases], what was added to each phrase's gate.
        from_left: [phrases, word], the left parts' shares where they are known already.
    """
    pairs = _pairs(x, layout)
    takes_right = _takes_right(x[layout.num_leaves :], pairs, method)
    if lean is not None:
        takes_right = np.where(lean == 0, takes_right, lean < 0)
    share = _left_share(pairs, weights, method, lean) if from_left is None else from_left
    return _follow(takes_right, share, layout)


def left_shares(
    x: RealArray,
    weights: HeadWeights | None,
    layout: TreeLayout,
    method: HeadMethod,
    lean: RealArray | None = None,
) -> RealArray:
    """The share of each phrase's head vector that comes from its left part, by dimension: [phrases, word]."""
    return _left_share(_pairs(x, layout), weights, method, lean)


def word_weights(arity: Iterable[int], from_left: FloatArray) -> tuple[float, ...]:
    """The share of a phrase's head vector that each of its words has, as a mean over the dimensions.

    Args:
        arity: The number of children of each node of the phrase, in pre-order.
        from_left: [phrases, word], the share of the left part at each inner node, in pre-order.
    """
    shares = iter(from_left)
    waiting = [np.ones(from_left.shape[1], dtype=np.float32)]
    weights: list[float] = []
    for num_children in arity:
        share = waiting.pop()
        if num_children:
            left = share * next(shares)
            waiting += [share - left, left]
        else:
            weights.append(float(share.mean()))
    return tuple(weights)


def _pairs(x: RealArray, layout: TreeLayout) -> RealArray:
    """The head vectors of the two parts of each phrase, [phrases, 2, word]."""
    return x[layout.children_index].reshape(-1, 2, x.shape[1])


def _takes_right(x: RealArray, pairs: RealArray, method: HeadMethod) -> BoolArray:
    """Whether each phrase is closer to its right child; a tie goes to the left."""
    if method in ("L", "R"):
        return np.full(len(x), method == "R")
    lengths = np.maximum(np.sqrt((pairs * pairs).sum(2)), SMALLEST_NORM)
    own_lengths = np.maximum(np.sqrt((x * x).sum(1)), SMALLEST_NORM)
    similarity = (x[:, np.newaxis] * pairs).sum(2) / (lengths * own_lengths[:, np.newaxis])
    return similarity[:, 1] - similarity[:, 0] > SAME_SIMILARITY


def _left_share(
    pairs: RealArray, weights: HeadWeights | None, method: HeadMethod, lean: RealArray | None
) -> RealArray:
    """The gate z: how much of each dimension comes from the left child."""
    check_head_method(method, weights)
    if weights is None or method != "G":
        return np.full_like(pairs[:, 0], {"L": 1.0, "R": 0.0, "A": 0.5}[method])
    inputs = pairs.reshape(len(pairs), 2 * pairs.shape[2]) @ weights.gate.T
    inputs += weights.bias
    if lean is not None:
        inputs += lean.astype(inputs.dtype, copy=False)[:, np.newaxis]
    return squash(inputs)


def _follow(takes_right: BoolArray, from_left: RealArray, layout: TreeLayout) -> HeadLeaves:
    """Each phrase's head word and its share, from the child whose head it takes and that child's share."""
    num_leaves = layout.num_leaves
    share = np.where(takes_right[:, np.newaxis], 1 - from_left, from_left)
    chosen = layout.children_index.reshape(-1, 2)[np.arange(len(share)), takes_right.astype(np.int64)]
    leaf = np.arange(layout.num_nodes)
    shares = np.ones((layout.num_nodes, share.shape[1]), share.dtype)
    for start, end in levels_of(layout):
        level = slice(start - num_leaves, end - num_leaves)
        leaf[start:end] = leaf[chosen[level]]
        shares[start:end] = share[level] * shares[chosen[level]]
    return HeadLeaves(leaf, shares.mean(1))
