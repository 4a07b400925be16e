"""Finds the head word of each phrase: the word its head vector mostly comes from, and its share."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    DECIDED,
    SAME_SIMILARITY,
    HeadCandidates,
    HeadMethod,
    HeadWeights,
    check_head_method,
)
from lexitree.text.word_kinds import WordKind


def lean_to_candidates(batch: TreeBatch, candidates: HeadCandidates) -> Float[Tensor, " phrases"] | None:
    """What decides the gate of each phrase whose parts differ in the best kind of word that they have.

    Positive for the left part, negative for the right one, zero where both have the same; None if all words are
    candidates. Words of the spans are counted, so a GPU need not wait for the host, and batches may be padded.
    """
    if candidates == "all":
        return None
    worst = WordKind.PUNCTUATION if candidates == "words" else WordKind.FUNCTION
    kinds = torch.arange(worst, WordKind.PUNCTUATION + 1, device=batch.device)
    better = batch.leaf_kind < kinds.unsqueeze(1)
    counts = torch.nn.functional.pad(better.long().cumsum(1), (1, 0))
    lacks = counts.index_select(1, batch.span_end) == counts.index_select(1, batch.span_start)
    rank = lacks.long().sum(0)
    left, right = rank.index_select(0, batch.children_index).view(-1, 2).unbind(1)
    return DECIDED * (right - left).float()


class HeadWords(NamedTuple):
    """The head word of every node, in the batch's up order."""

    leaf: Int[Tensor, " nodes"]
    """The leaf that is the head."""
    weight: Float[Tensor, " nodes"]
    """Its share of the node's head vector, from 0 to 1: the head vector is a weighted mean of the words' vectors."""


def find_head_words(
    x: Float[Tensor, "nodes word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
    lean: Float[Tensor, " phrases"] | None = None,
    from_left: Float[Tensor, "phrases word"] | None = None,
) -> HeadWords:
    """The paper's rule: a phrase takes the head of the child whose head vector is closer by cosine.

    Where the gate is decided beforehand, it takes that child's: both may have the same vector. `from_left` are the
    left parts' shares where they are known already; computing them again takes as many products as the vectors.
    """
    pairs = _pairs(x, batch)
    takes_right = _takes_right(x[batch.num_leaves :], pairs, method)
    if lean is not None:
        takes_right = torch.where(lean == 0, takes_right, lean < 0)
    share = _left_share(pairs, weights, method, lean) if from_left is None else from_left
    return _follow(takes_right, share, batch)


def trace_heads(
    x: Float[Tensor, "nodes word"], from_left: Float[Tensor, "phrases word"], batch: TreeBatch
) -> HeadWords:
    """The same for head vectors of which only the left parts' shares are known."""
    dtype = torch.promote_types(from_left.dtype, torch.float32)
    takes_right = _is_closer_to_right(x[batch.num_leaves :], _pairs(x, batch))
    return _follow(takes_right, from_left.to(dtype), batch)


def _follow(takes_right: Tensor, from_left: Tensor, batch: TreeBatch) -> HeadWords:
    """Each phrase's head word and its share, from the child whose head it takes and that child's share."""
    share = torch.where(takes_right.unsqueeze(1), 1 - from_left, from_left)
    chosen = batch.children_index.view(-1, 2).gather(1, takes_right.long().unsqueeze(1)).squeeze(1)
    follow = _follow_by_doubling if share.is_cuda else _follow_by_level
    leaf, shares = follow(chosen, share, batch)
    return HeadWords(leaf, shares.mean(1))


def _follow_by_level(chosen: Tensor, share: Tensor, batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """By node: the leaf that is reached by going to the chosen child again and again, and the product of shares."""
    num_leaves = batch.num_leaves
    leaf = torch.arange(batch.num_nodes, device=share.device)
    shares = share.new_ones(batch.num_nodes, share.shape[1])
    for start, end in batch.levels():
        level = slice(start - num_leaves, end - num_leaves)
        leaf[start:end] = leaf.index_select(0, chosen[level])
        shares[start:end] = share[level] * shares.index_select(0, chosen[level])
    return leaf, shares


def _follow_by_doubling(chosen: Tensor, share: Tensor, batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """The same for a GPU: all nodes at once, twice as many steps each time, and no sizes of levels from the host."""
    leaf = torch.cat([torch.arange(batch.num_leaves, device=share.device), chosen])
    shares = torch.cat([share.new_ones(batch.num_leaves, share.shape[1]), share])
    num_levels = len(batch.level_offset) - 1
    for _ in range((num_levels - 1).bit_length() if num_levels else 0):
        shares = shares * shares.index_select(0, leaf)
        leaf = leaf.index_select(0, leaf)
    return leaf, shares


def left_shares(
    x: Float[Tensor, "nodes word"],
    weights: HeadWeights | None,
    batch: TreeBatch,
    method: HeadMethod,
    lean: Float[Tensor, " phrases"] | None = None,
) -> Float[Tensor, "phrases word"]:
    """The share of each phrase's head vector that comes from its left part, by dimension."""
    return _left_share(_pairs(x, batch), weights, method, lean)


def _pairs(x: Tensor, batch: TreeBatch) -> Tensor:
    """The head vectors of the two parts of each phrase."""
    return x.index_select(0, batch.children_index).view(-1, 2, x.shape[1])


def _takes_right(x: Tensor, pairs: Tensor, method: HeadMethod) -> Tensor:
    """Whether each phrase is closer to its right child; a tie goes to the left."""
    if method in ("L", "R"):
        return torch.full((len(x),), method == "R", dtype=torch.bool, device=x.device)
    return _is_closer_to_right(x, pairs)


def _is_closer_to_right(x: Tensor, pairs: Tensor) -> Tensor:
    similarity = torch.cosine_similarity(x.unsqueeze(1), pairs, dim=2)
    return similarity[:, 1] - similarity[:, 0] > SAME_SIMILARITY


def _left_share(
    pairs: Tensor, weights: HeadWeights | None, method: HeadMethod, lean: Tensor | None
) -> Tensor:
    """The gate z: how much of each dimension comes from the left child.

    In float32 at least: shares are multiplied down whole trees, and must still add up to 1.
    """
    check_head_method(method, weights)
    dtype = torch.promote_types(pairs.dtype, torch.float32)
    if weights is not None and method == "G":
        inputs = torch.addmm(weights.bias, pairs.flatten(1), weights.gate.t()).to(dtype)
        return (inputs if lean is None else inputs + lean.to(dtype).unsqueeze(1)).sigmoid()
    return torch.full_like(pairs[:, 0], {"L": 1.0, "R": 0.0, "A": 0.5}[method], dtype=dtype)
