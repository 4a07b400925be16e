"""A batch in, the same trees in tensors of given sizes out: to a device, batches of about one size look alike."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.arrays import NO_INDEX, FloatArray, IndexArray
from lexitree.errors import TreeError
from lexitree.lexicon.pieces import PieceBatch
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """Many trees, of any arity, as flat tensors in two orders; take it apart with `split`.

    **Up order** is the order of all node tensors outside of the recurrences: nodes sorted by height (leaves
    first), then by tree, then in pre-order. So leaf k of the batch is node k, and one level of the bottom-up
    pass is one slice. Two trees, (a b) and (c (d e)), whose roots are the nodes 5 and 7:

        height     0  0  0  0  0  1      1      2
        node       0  1  2  3  4  5      6      7
                   a  b  c  d  e  (a b)  (d e)  (c (d e))
        level_sizes = (5, 2, 1)
        children_index = [0 1 | 3 4 | 2 6], from children_offset = [0 2 4 6]

    **Down order** is private to the top-down pass: sorted by depth, siblings side by side, so that the level
    below d holds just the children of the inner nodes at d, again as one slice:

        depth      0      0          1  1  1  1      2  2
        place      0      1          2  3  4  5      6  7
        down_order 5      7          0  1  2  6      3  4
        depth_sizes = (2, 4, 2); down_parent_index = [0 0 1 1 5 5], for the places from 2 on

    All tensors are views of one buffer, so moving a batch to a device is one copy.
    """

    level_sizes: tuple[int, ...]
    """Nodes at each height; the first number is that of the leaves."""
    depth_sizes: tuple[int, ...]
    """Nodes at each depth; the first number is that of the trees."""
    tree_sizes: tuple[int, ...]
    """Nodes of each tree."""
    is_binary: bool
    """Whether every inner node has two children."""

    word_index: Int[Tensor, " leaves"]
    """The row of the lexicon for each leaf."""
    inner_word_index: Int[Tensor, " inner_words"]
    """The same for each inner node of dependency trees; empty for constituency trees, which have no words there."""
    label_index: Int[Tensor, " nodes"]
    """The gold label of each node, -1 where there is none."""
    children_index: Int[Tensor, " edges"]
    """Children, grouped by inner node, from left to right."""
    children_offset: Int[Tensor, " inner_plus_1"]
    """Where each inner node's children start in `children_index`."""
    root_index: Int[Tensor, " trees"]
    """The root of each tree."""
    span_start: Int[Tensor, " nodes"]
    """The first leaf below each node ..."""
    span_end: Int[Tensor, " nodes"]
    """... and the one after the last."""
    down_order: Int[Tensor, " down_nodes"]
    """The node at each place of the down order."""
    up_to_down: Int[Tensor, " down_nodes"]
    """The place in the down order of each node."""
    down_parent_index: Int[Tensor, " down_edges"]
    """The place of the parent, for each place of the down order after the roots."""
    preorder_index: Int[Tensor, " tree_nodes"]
    """The node of each (tree, node of the tree), trees one after the other."""
    level_offset: Int[Tensor, " levels_plus_1"]
    """Where each level above the leaves starts in the up order; what a device needs to walk the levels itself."""
    depth_offset: Int[Tensor, " depths_plus_1"]
    """Where each level below the roots starts in the down order."""
    counts: Int[Tensor, " 4"]
    """The numbers of leaves, of trees, of levels above the leaves and of levels below the roots."""
    target_bits: Int[Tensor, " target_numbers"]
    """What `targets` is made of, as the buffer holds it: 64-bit floating-point numbers under the name of integers."""

    buffer: Int[Tensor, " numbers"]
    """What all of the tensors above are views of."""

    has_shared_nodes: bool = False
    """Whether trees have nodes in common, so that a node may have several parents; see `forest`."""
    guesses: Float[Tensor, "guesses word"] | None = None
    """Vectors of words that the lexicon does not know, where it guesses any: `word_index` has ~k for guess k."""
    pieces: PieceBatch | None = None
    """What a transformer reads, where words have vectors by context: `word_index` numbers those of the batch."""

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        word_index: Sequence[npt.NDArray[np.integer]] | None = None,
        label_index: Sequence[npt.NDArray[np.integer]] | None = None,
        targets: Sequence[FloatArray] | None = None,
    ) -> TreeBatch:
        """Lay trees out side by side; the indices, one array a tree, are by word and by node in pre-order.

        Without them the words are numbered through the batch and no node has a label. Targets are by node as well.
        Dependency trees are batched among themselves: a batch has words at all nodes or at the leaves only.
        """
        sizes = np.array([tree.num_nodes for tree in trees], dtype=np.int64)
        num_words = np.array([tree.num_words for tree in trees], dtype=np.int64)
        heights = _concatenate([tree.heights for tree in trees])
        depths = _concatenate([tree.depths for tree in trees])
        arity = _concatenate([tree.arity for tree in trees])
        first_nodes = np.cumsum(sizes) - sizes
        first_words = np.cumsum(num_words) - num_words
        node_shift, word_shift = np.repeat(first_nodes, sizes), np.repeat(first_words, sizes)
        parents = _concatenate([tree.parents for tree in trees]) + node_shift

        up_order = np.argsort(heights, kind="stable")
        up = _inverse(up_order)
        down = np.argsort(depths, kind="stable")
        place = _inverse(down)
        # Siblings are in left-to-right order already, and sorting by parent is stable.
        edges = np.delete(np.arange(len(arity)), first_nodes)
        by_parent = edges[np.argsort(up[parents[edges]], kind="stable")]
        num_leaves = int(np.count_nonzero(arity == 0))
        inner_arity = arity[up_order][num_leaves:]
        starts = _concatenate([tree.starts for tree in trees]) + word_shift
        ends = _concatenate([tree.ends for tree in trees]) + word_shift
        labels = np.full(len(arity), NO_INDEX) if label_index is None else _concatenate(label_index)
        words = np.arange(int(num_words.sum())) if word_index is None else _concatenate(word_index)
        if any(tree.has_inner_words for tree in trees):
            words = words[_own_words(trees) + word_shift][up_order]
        # Without any tree there is still one level, of no leaves.
        level_sizes, depth_sizes = np.bincount(heights, minlength=1), np.bincount(depths, minlength=1)
        arrays: dict[str, IndexArray] = {
            "word_index": words[:num_leaves],
            "inner_word_index": words[num_leaves:],
            "label_index": labels[up_order],
            "children_index": up[by_parent],
            "children_offset": np.concatenate([[0], np.cumsum(inner_arity)]),
            "root_index": up[first_nodes],
            "span_start": starts[up_order],
            "span_end": ends[up_order],
            "down_order": up[down],
            "up_to_down": place[up_order],
            "down_parent_index": place[parents[down[len(trees) :]]],
            "preorder_index": up,
            "level_offset": np.cumsum(level_sizes),
            "depth_offset": np.cumsum(depth_sizes),
            "counts": np.array([num_leaves, len(trees), len(level_sizes) - 1, len(depth_sizes) - 1]),
        }
        if targets:
            arrays["target_bits"] = (
                np.concatenate(targets, dtype=np.float64)[up_order].reshape(-1).view(np.int64)
            )
        return cls.from_arrays(
            arrays,
            level_sizes=tuple(level_sizes.tolist()),
            depth_sizes=tuple(depth_sizes.tolist()),
            tree_sizes=tuple(sizes.tolist()),
            is_binary=bool((inner_arity == 2).all()),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, IndexArray], **sizes: Any) -> TreeBatch:
        """A batch of index arrays, all of them in one buffer, and of what is no tensor."""
        arrays = {"target_bits": np.zeros(0, dtype=np.int64), **arrays}
        buffer = torch.from_numpy(
            np.concatenate([arrays[name] for name in _TENSORS]).astype(np.int64, copy=False)
        )
        return cls(**_views(buffer, {name: len(arrays[name]) for name in _TENSORS}), buffer=buffer, **sizes)

    @property
    def num_trees(self) -> int:
        return len(self.tree_sizes)

    @property
    def num_nodes(self) -> int:
        return len(self.label_index)

    @property
    def num_leaves(self) -> int:
        return len(self.word_index)

    @property
    def targets(self) -> Float[Tensor, "nodes scores"] | None:
        """The probability that each label should have at each node, where that is said, gold labels included."""
        if not len(self.target_bits):
            return None
        return self.target_bits.view(torch.float64).view(self.num_nodes, -1)

    @property
    def node_word_index(self) -> Int[Tensor, " words"]:
        """The rows of the lexicon for all words: those of the leaves, then of the inner nodes that have one."""
        if not len(self.inner_word_index):
            return self.word_index
        return torch.cat([self.word_index, self.inner_word_index])

    @property
    def device(self) -> torch.device:
        return self.buffer.device

    def to(self, device: torch.device | str) -> TreeBatch:
        """The same batch on another device, moved in one copy."""
        if torch.device(device) == self.device:
            return self
        if torch.device(device).type == "cuda":
            # A copy from pinned memory does not wait for the device.
            return self.on(self.buffer.pin_memory().to(device, non_blocking=True))
        # The host must wait: it would read numbers that are not there yet.
        return self.on(self.buffer.to(device))

    def on(self, buffer: Tensor) -> TreeBatch:
        """The same batch with its tensors in another buffer, which has the same numbers or will be given them."""
        return self._on(buffer, {name: len(tensor) for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """All tensors that the buffer holds, by their names."""
        return {name: getattr(self, name) for name in _TENSORS}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> TreeBatch:
        """The same trees with other tensors of the same names, all of them in one buffer again."""
        buffer = torch.cat([tensors[name] for name in _TENSORS])
        return self._on(buffer, {name: len(tensors[name]) for name in _TENSORS})

    def _on(self, buffer: Tensor, sizes: dict[str, int]) -> TreeBatch:
        views = _views(buffer, sizes)
        return TreeBatch(
            level_sizes=self.level_sizes,
            depth_sizes=self.depth_sizes,
            tree_sizes=self.tree_sizes,
            is_binary=self.is_binary,
            **views,
            buffer=buffer,
            has_shared_nodes=self.has_shared_nodes,
            guesses=None if self.guesses is None else self.guesses.to(buffer.device),
            pieces=None if self.pieces is None else self.pieces.to(buffer.device),
        )

    def split(self, values: Tensor) -> list[Tensor]:
        """Values by node, `[nodes, ...]` in up order, as one tensor a tree in its own pre-order."""
        return list(torch.split(values.index_select(0, self.preorder_index), list(self.tree_sizes)))

    def levels(self) -> list[tuple[int, int]]:
        """(first node, node after the last) of each level above the leaves, from the bottom."""
        ends = list(itertools.accumulate(self.level_sizes))
        return list(itertools.pairwise(ends))

    def depth_levels(self) -> list[tuple[int, int]]:
        """(first place, place after the last) in the down order of each level below the roots, from the top."""
        ends = list(itertools.accumulate(self.depth_sizes))
        return list(itertools.pairwise(ends))


_TENSORS = (
    "word_index",
    "inner_word_index",
    "label_index",
    "children_index",
    "children_offset",
    "root_index",
    "span_start",
    "span_end",
    "down_order",
    "up_to_down",
    "down_parent_index",
    "preorder_index",
    "level_offset",
    "depth_offset",
    "counts",
    "target_bits",
)


def _views(buffer: Tensor, sizes: dict[str, int]) -> dict[str, Tensor]:
    return dict(zip(sizes, torch.split(buffer, list(sizes.values())), strict=True))


def _own_words(trees: Sequence[Tree]) -> IndexArray:
    """The place in its sentence of each node's word."""
    dependencies = [tree for tree in trees if isinstance(tree, DependencyTree)]
    if len(dependencies) < len(trees):
        raise TreeError("a batch holds dependency trees or constituency trees, not both")
    return _concatenate([tree.word_of for tree in dependencies])


def _concatenate(arrays: Sequence[npt.NDArray[np.integer]]) -> IndexArray:
    return np.concatenate(arrays).astype(np.int64, copy=False) if arrays else np.zeros(0, dtype=np.int64)


def _inverse(permutation: IndexArray) -> IndexArray:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def fill_batch(batch: TreeBatch, num_leaves: int, num_inner: int, num_levels: int) -> TreeBatch:
    """The batch with room for so many leaves, inner nodes and levels.

    Leaves fill up to `num_leaves`, and inner nodes start there. The nodes in between are in no level and have neither
    label nor target: the word of number 0, a span of one word. Only `counts` and the offsets tell the real sizes, so
    this is for the fused backend, which goes by them.
    """
    old, shift = batch.num_leaves, num_leaves - batch.num_leaves
    num_nodes = num_leaves + num_inner
    new = batch.tensors()
    for name in ("children_index", "root_index", "down_order", "preorder_index"):
        new[name] = new[name] + shift * (new[name] >= old)
    new["level_offset"] = new["level_offset"] + shift
    for name, empty in (("label_index", NO_INDEX), ("span_start", 0), ("span_end", 1), ("up_to_down", 0)):
        new[name] = _spread_nodes(new[name], old, num_leaves, num_nodes, empty)
    if batch.targets is not None:
        targets = _spread_nodes(batch.targets, old, num_leaves, num_nodes, 0)
        new["target_bits"] = targets.view(-1).view(torch.int64)
    for name, size, empty in (
        ("word_index", num_leaves, 0),
        # A node that is in no level: what is summed over all children must not meet a real one again.
        ("children_index", 2 * num_inner, num_nodes - 1),
        ("children_offset", num_inner + 1, int(new["children_offset"][-1])),
        ("down_order", num_nodes, 0),
        ("down_parent_index", 2 * num_inner, 0),
        ("preorder_index", num_nodes, 0),
        ("level_offset", num_levels + 1, int(new["level_offset"][-1])),
        ("depth_offset", num_levels + 1, int(new["depth_offset"][-1])),
    ):
        new[name] = torch.nn.functional.pad(new[name], (0, size - len(new[name])), value=empty)
    return batch.with_tensors(new)


def _spread_nodes(values: Tensor, num_old: int, num_leaves: int, num_nodes: int, empty: int) -> Tensor:
    """Values by node, those of the leaves first and those of the inner nodes where these now start."""
    filled = values.new_full((num_nodes, *values.shape[1:]), empty)
    filled[:num_old] = values[:num_old]
    filled[num_leaves : num_leaves + len(values) - num_old] = values[num_old:]
    return filled
