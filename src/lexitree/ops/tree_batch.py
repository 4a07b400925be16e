"""The tensors of a batch of trees: a layout copied to a device in one piece."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_examples import Example, lay_out_examples
from lexitree.batch.tree_layout import TreeLayout
from lexitree.lexicon.pieces import PieceLayout
from lexitree.ops.transfers import send
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class PieceBatch:
    """The tensors of a `PieceLayout`, which explains them; all are views of one buffer, moved in one copy."""

    layout: PieceLayout
    buffer: Int[Tensor, " numbers"]
    key: int | None = None
    """Where dropout is drawn by example: the key of the update; see `lexitree.models.dropout`."""

    @classmethod
    def from_layout(cls, layout: PieceLayout, device: torch.device | str = "cpu") -> PieceBatch:
        """Copy a layout to a device."""
        numbers = np.concatenate(layout.arrays()).astype(np.int64, copy=False)
        return cls(layout, send(torch.from_numpy(numbers), device))

    def to(self, device: torch.device | str) -> PieceBatch:
        """Move the tensors to another device."""
        return PieceBatch(self.layout, send(self.buffer, device), self.key)

    def _parts(self) -> tuple[Tensor, ...]:
        return torch.split(self.buffer, [array.size for array in self.layout.arrays()])

    @property
    def blocks(self) -> list[tuple[Int[Tensor, "rows width"], Int[Tensor, " rows"]]]:
        """The pieces of each block and the lengths of its rows."""
        parts, shapes = self._parts(), self.layout.shapes
        ids, lengths = parts[: len(shapes)], parts[len(shapes) : 2 * len(shapes)]
        return [(each.view(shape), length) for each, shape, length in zip(ids, shapes, lengths, strict=True)]

    @property
    def place(self) -> Int[Tensor, " counted"]:
        return self._parts()[-5]

    @property
    def owner(self) -> Int[Tensor, " counted"]:
        return self._parts()[-4]

    @property
    def count(self) -> Int[Tensor, " owners"]:
        return self._parts()[-3]

    @property
    def vector_of(self) -> Int[Tensor, " vectors"]:
        return self._parts()[-2]

    @property
    def table_index(self) -> Int[Tensor, " words"]:
        return self._parts()[-1]


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """The tensors of a `TreeLayout`, which explains them and the two orders of nodes.

    All tensors are views of one buffer, so a batch moves to a device in one copy.
    """

    level_sizes: tuple[int, ...]
    depth_sizes: tuple[int, ...]
    tree_sizes: tuple[int, ...]
    is_binary: bool
    has_shared_nodes: bool

    buffer: Int[Tensor, " numbers"]
    """The memory that all of the following tensors are views of."""
    word_index: Int[Tensor, " leaves"]
    leaf_kind: Int[Tensor, " leaves"]
    inner_word_index: Int[Tensor, " inner_words"]
    label_index: Int[Tensor, " nodes"]
    children_index: Int[Tensor, " edges"]
    children_offset: Int[Tensor, " inner_plus_1"]
    root_index: Int[Tensor, " trees"]
    span_start: Int[Tensor, " nodes"]
    span_end: Int[Tensor, " nodes"]
    down_order: Int[Tensor, " down_nodes"]
    up_to_down: Int[Tensor, " down_nodes"]
    down_parent_index: Int[Tensor, " down_edges"]
    preorder_index: Int[Tensor, " tree_nodes"]
    level_offset: Int[Tensor, " levels_plus_1"]
    depth_offset: Int[Tensor, " depths_plus_1"]
    counts: Int[Tensor, " 4"]
    target_bits: Int[Tensor, " target_numbers"]
    """The bits of `targets`, which are 64-bit floating-point numbers, as integers: the buffer has one type."""

    guesses: Float[Tensor, "guesses word"] | None = None
    """The guessed vectors of the layout's unknown words: `word_index` has ~k for row k."""
    pieces: PieceBatch | None = None
    node_keys: Int[Tensor, " tree_nodes"] | None = None
    """Where dropout is drawn by example: a key for each (tree, node of the tree), tree after tree."""

    @classmethod
    def from_layout(
        cls,
        layout: TreeLayout,
        device: torch.device | str = "cpu",
        guesses: Float[Tensor, "guesses word"] | None = None,
    ) -> TreeBatch:
        """Copy a layout to a device.

        Args:
            layout: The trees.
            device: Where the tensors are to be.
            guesses: A vector for each of the layout's unknown words.
        """
        arrays: list[IndexArray] = [getattr(layout, name) for name in _ARRAYS]
        arrays.append(_NOTHING if layout.targets is None else layout.targets.reshape(-1).view(np.int64))
        buffer = send(torch.from_numpy(_join(arrays)), device)
        return cls(
            layout.level_sizes,
            layout.depth_sizes,
            layout.tree_sizes,
            layout.is_binary,
            layout.has_shared_nodes,
            buffer,
            *_split_buffer(buffer, [len(array) for array in arrays]),
            guesses=None if guesses is None else guesses.to(device),
            pieces=None if layout.pieces is None else PieceBatch.from_layout(layout.pieces, device),
        )

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        word_index: Sequence[npt.NDArray[np.integer]] | None = None,
        label_index: Sequence[npt.NDArray[np.integer]] | None = None,
        targets: Sequence[FloatArray] | None = None,
    ) -> TreeBatch:
        """Lay trees out on the host; see `TreeLayout.from_trees`."""
        return cls.from_layout(TreeLayout.from_trees(trees, word_index, label_index, targets))

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
        """The probability that each label should have at each node, if the batch has targets."""
        if not len(self.target_bits):
            return None
        return self.target_bits.view(torch.float64).view(self.num_nodes, -1)

    @property
    def node_word_index(self) -> Int[Tensor, " words"]:
        """The lexicon rows of all words: those of the leaves, then those of the inner nodes that have a word."""
        if not len(self.inner_word_index):
            return self.word_index
        return torch.cat([self.word_index, self.inner_word_index])

    @property
    def device(self) -> torch.device:
        return self.buffer.device

    def to(self, device: torch.device | str) -> TreeBatch:
        """Move the batch to another device, in one copy."""
        if torch.device(device) == self.device:
            return self
        return self.on(send(self.buffer, device))

    def on(self, buffer: Tensor) -> TreeBatch:
        """The same batch over another buffer, which holds the same numbers or will be given them."""
        return self._on(buffer, [len(tensor) for tensor in self.tensors().values()])

    def tensors(self) -> dict[str, Tensor]:
        """All tensors in the buffer, by name."""
        return {name: getattr(self, name) for name in _TENSORS}

    def arrays(self) -> dict[str, IndexArray]:
        """The same as arrays, for a batch on the host."""
        return {name: tensor.numpy() for name, tensor in self.tensors().items()}

    def with_arrays(self, arrays: Mapping[str, IndexArray]) -> TreeBatch:
        """The same trees with other numbers in tensors of the same names, on the host."""
        parts = [arrays[name] for name in _TENSORS]
        return self._on(torch.from_numpy(_join(parts)), [len(part) for part in parts])

    def _on(self, buffer: Tensor, sizes: list[int]) -> TreeBatch:
        return TreeBatch(
            self.level_sizes,
            self.depth_sizes,
            self.tree_sizes,
            self.is_binary,
            self.has_shared_nodes,
            buffer,
            *_split_buffer(buffer, sizes),
            guesses=None if self.guesses is None else self.guesses.to(buffer.device),
            pieces=None if self.pieces is None else self.pieces.to(buffer.device),
            node_keys=None if self.node_keys is None else send(self.node_keys, buffer.device),
        )

    def split(self, values: Tensor) -> list[Tensor]:
        """Split node values, `[nodes, ...]` in up order, into one tensor per tree in its own pre-order."""
        return list(torch.split(values.index_select(0, self.preorder_index), list(self.tree_sizes)))

    def levels(self) -> list[tuple[int, int]]:
        """(first node, node after the last) of each level above the leaves, from the bottom."""
        return list(itertools.pairwise(itertools.accumulate(self.level_sizes)))


_ARRAYS = (
    "word_index",
    "leaf_kind",
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
)
_TENSORS = (*_ARRAYS, "target_bits")
"""The tensors in the buffer, in the order in which they stand there and in `TreeBatch`."""
_NOTHING = np.zeros(0, dtype=np.int64)
_GAP = np.zeros(1, dtype=np.int64)
"""What follows a tensor of an odd number of numbers, so that all of them start at multiples of 16 bytes: kernels are
compiled anew for addresses that do not."""


def _join(arrays: Sequence[IndexArray]) -> IndexArray:
    gaps = (_GAP[: len(array) % 2] for array in arrays)
    joined = np.concatenate(list(itertools.chain.from_iterable(zip(arrays, gaps, strict=True))))
    return joined.astype(np.int64, copy=False)


def _split_buffer(buffer: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    padded = torch.split(buffer, [size + size % 2 for size in sizes])
    return [part[:size] for part, size in zip(padded, sizes, strict=True)]


def batch_examples(examples: Sequence[Example]) -> TreeBatch:
    """Batch examples for training, on the host; either all of them have targets, or none."""
    return TreeBatch.from_layout(lay_out_examples(examples))
