"""Dropout that is drawn by example, so that it does not depend on how a batch is divided among processes.

PyTorch draws dropout by the place of a number in its tensor. Here every example has a key, a random whole number, and
the key of a node, of a dimension and so on is derived from that of the thing it belongs to, as by a counter-based
random generator. The draws are whole-number arithmetic: they are the same on every device.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from lexitree.ops.tree_batch import TreeBatch

_GAMMA = -7046029254386353131
"""The golden ratio times 2^64, as splitmix64 counts by it."""

_BITS = 16
"""Each number is kept or dropped by this many random bits, four numbers by one key."""

WORDS, STATES = 1, 2
"""Where a model drops numbers: the keys of different places are different."""


def derive_keys(keys: Int[Tensor, " *outer"], number: int | Tensor) -> Int[Tensor, " *outer"]:
    """New keys from keys and a number, by the generator splitmix64."""
    mixed = keys + torch.as_tensor(number) * _GAMMA
    mixed = _fold(mixed, 30) * -4658895280553007687
    mixed = _fold(mixed, 27) * -7723592293110705685
    return _fold(mixed, 31)


def _fold(keys: Int[Tensor, " *outer"], bits: int) -> Int[Tensor, " *outer"]:
    """Combine the upper bits with the lower ones; torch would shift the sign in."""
    return keys ^ ((keys >> bits) & ((1 << (64 - bits)) - 1))


def _keys_inside(keys: Int[Tensor, " *outer"], size: int) -> Int[Tensor, "*outer size"]:
    return derive_keys(keys.unsqueeze(-1), torch.arange(1, size + 1, device=keys.device))


def with_keys(batch: TreeBatch, seed: int, update: int, numbers: Sequence[int]) -> TreeBatch:
    """A batch, on the host, whose dropout is drawn by example.

    Args:
        batch: The batch.
        seed: The seed of the epoch.
        update: The number of the update in the epoch.
        numbers: The number of each tree among the examples of the epoch.
    """
    seeds = torch.tensor(seed)
    trees = derive_keys(seeds, torch.tensor(numbers))
    sizes = torch.tensor(batch.tree_sizes)
    places = torch.arange(1, int(sizes.sum()) + 1) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
    keys = derive_keys(trees.repeat_interleave(sizes), places)
    pieces = batch.pieces
    if pieces is not None:
        pieces = dataclasses.replace(pieces, key=int(derive_keys(seeds, -1 - update)))
    return dataclasses.replace(batch, node_keys=keys, pieces=pieces)


def drop_words(x: Float[Tensor, "words size"], share: float, batch: TreeBatch, *, phrases: bool) -> Tensor:
    """Drop a share of the numbers of word vectors; with `phrases`, x has the phrases of the trees in pre-order."""
    if batch.node_keys is None or not share:
        return nn.functional.dropout(x, share)
    keys = batch.node_keys if phrases else _by_node(batch, batch.node_keys)[: len(x)]
    return drop_by_keys(x, share, derive_keys(keys, WORDS))


def drop_states(
    x: Float[Tensor, "asked size"], share: float, batch: TreeBatch, nodes: Tensor | None
) -> Tensor:
    """Drop a share of the numbers of the states of some nodes, or of all."""
    if batch.node_keys is None or not share:
        return nn.functional.dropout(x, share)
    keys = _by_node(batch, batch.node_keys)
    keys = keys if nodes is None else keys.index_select(0, nodes)
    return drop_by_keys(x, share, derive_keys(keys, STATES))


def _by_node(batch: TreeBatch, keys: Int[Tensor, " tree_nodes"]) -> Int[Tensor, " nodes"]:
    return torch.empty_like(keys).index_copy_(0, batch.preorder_index, keys)


def drop_by_keys(x: Float[Tensor, "rows ..."], share: float, keys: Int[Tensor, " rows"]) -> Tensor:
    """Drop a share of the numbers of each row by its key; the others grow, so that the mean stays.

    Whether a number is dropped depends on its place in the row, not on the size of the row.
    """
    *outer, width = x.shape[1:]
    for size in outer:
        keys = _keys_inside(keys, size)
    bits = _keys_inside(keys, -(-width * _BITS // 64)).view(torch.int16)[..., :width]
    is_kept = bits >= round(share * (1 << _BITS)) - (1 << (_BITS - 1))
    return x * is_kept.to(x.dtype).mul_(1 / (1 - share))


class DropoutByRow(TorchFunctionMode):
    """Inside, a transformer draws its dropout by the pieces of each row.

    Rows have no example: the same phrase of two examples is one row. Padding does not change what is drawn.

    Args:
        key: The key of the update.
        ids: The pieces that the transformer reads.
        lengths: The lengths of the rows.
    """

    def __init__(self, key: int, ids: Int[Tensor, "rows width"], lengths: Int[Tensor, " rows"]) -> None:
        super().__init__()
        places = torch.arange(ids.shape[1], device=ids.device)
        pieces = derive_keys(ids + 1, places + 1) * (places < lengths.unsqueeze(1))
        self.key = torch.tensor([key], device=ids.device)
        self.keys = derive_keys(pieces.sum(1) + key, 1)
        self.width = ids.shape[1]
        self.num_draws = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        if func is nn.functional.dropout:
            return self._dropout(*args, **kwargs)
        if func is nn.functional.scaled_dot_product_attention and kwargs.get("dropout_p"):
            return self._attention(*args, **kwargs)
        return func(*args, **kwargs)

    def _dropout(self, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        del inplace
        if not training or not p:
            return x
        self.num_draws += 1
        # Some transformers have the attention heads of all rows in one dimension, row after row; and some drop
        # numbers that do not belong to a row, such as embeddings of positions.
        has_rows = len(x) % len(self.keys) == 0 and self.width in x.shape[1:3]
        keys = self.keys if has_rows else self.key
        rows = x.reshape(len(keys), -1, *x.shape[1:])
        return drop_by_keys(rows, p, derive_keys(keys, self.num_draws)).view_as(x)

    def _attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attention by its definition: PyTorch's own draws its dropout inside."""
        if enable_gqa:
            shared_by = query.shape[-3] // key.shape[-3]
            key, value = (each.repeat_interleave(shared_by, -3) for each in (key, value))
        scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
        if is_causal:
            attn_mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return self._dropout(scores.softmax(-1), dropout_p) @ value
