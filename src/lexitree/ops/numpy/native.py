"""The kernels in C, called with NumPy arrays: forwards only, with weights that are packed once and used many times.

    packed = pack_bottom_up(weights)
    h = native_array_bottom_up(x, packed, layout)

Nothing that is packed changes afterwards, so threads may share it. It belongs to the kernels that packed it, and so
to this process: another one packs anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lexitree.arrays import IndexArray, RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.kernels.library import Kernels, find_kernels
from lexitree.kernels.signatures import (
    bottom_up_room,
    dense_room,
    heads_room,
    sequences_room,
    top_down_room,
)
from lexitree.ops.numpy.heads import HeadLeaves, numpy_compose_heads
from lexitree.ops.numpy.spans import SpanSchedule
from lexitree.ops.weights import (
    BottomUpWeights,
    DenseWeights,
    HeadMethod,
    HeadWeights,
    SequenceWeights,
    TopDownWeights,
    check_head_method,
)

_PRECISIONS = {"float32": "f32", "float64": "f64"}
_ALIGNMENT = 64
"""Bytes: where packed weights start."""


class PackedHeads(NamedTuple):
    """The weights of the head gate as the kernels read them."""

    kernels: Kernels
    numbers: RealArray
    size: int


class PackedBottomUp(NamedTuple):
    """The weights of the bottom-up tree LSTM as the kernels read them."""

    kernels: Kernels
    numbers: RealArray
    hidden: int
    word: int
    is_lexical: bool
    has_peepholes: bool


class PackedTopDown(NamedTuple):
    """The weights of the top-down tree LSTM as the kernels read them."""

    kernels: Kernels
    numbers: RealArray
    hidden: int
    word: int
    sides: int


class PackedSequences(NamedTuple):
    """The weights of one direction of the sequence LSTM as the kernels read them."""

    kernels: Kernels
    numbers: RealArray
    hidden: int
    word: int
    has_peepholes: bool


class PackedDense(NamedTuple):
    """The weights of a dense layer as the kernels read them."""

    kernels: Kernels
    numbers: RealArray
    size: int
    columns: int


def pack_heads(weights: HeadWeights) -> PackedHeads:
    """Pack the weights of the head gate."""
    gate, bias = _in_rows(weights.gate, weights.bias)
    size = len(gate)
    packed = PackedHeads(_kernels_for(bias), _room(bias.dtype, heads_room(size)), size)
    packed.kernels.heads_pack(gate, bias, size, packed.numbers)
    return packed


def pack_bottom_up(weights: BottomUpWeights) -> PackedBottomUp:
    """Pack the weights of the bottom-up tree LSTM."""
    x, h, bias = _in_rows(weights.x, weights.h, weights.bias)
    c, peephole = (None if each is None else _in_rows(each)[0] for each in (weights.c, weights.peephole))
    hidden, word, is_lexical = weights.hidden, x.shape[1], weights.is_lexical
    sizes = hidden, word, is_lexical, c is not None
    packed = PackedBottomUp(_kernels_for(bias), _room(bias.dtype, bottom_up_room(*sizes)), *sizes)
    packed.kernels.bottom_up_pack(x, h, c, peephole, bias, *sizes, packed.numbers)
    return packed


def pack_top_down(weights: TopDownWeights) -> PackedTopDown:
    """Pack the weights of the top-down tree LSTM."""
    arrays = _in_rows(weights.x, weights.h, weights.c, weights.peephole, weights.bias)
    hidden, (sides, _, word) = weights.hidden, weights.x.shape
    numbers = _room(weights.bias.dtype, top_down_room(hidden, word, sides))
    packed = PackedTopDown(_kernels_for(weights.bias), numbers, hidden, word, sides)
    packed.kernels.top_down_pack(*arrays, hidden, word, sides, numbers)
    return packed


def pack_sequences(weights: SequenceWeights) -> PackedSequences:
    """Pack the weights of one direction of the sequence LSTM."""
    x, h, bias = _in_rows(weights.x, weights.h, weights.bias)
    c, peephole = (None if each is None else _in_rows(each)[0] for each in (weights.c, weights.peephole))
    hidden, word = weights.hidden, x.shape[1]
    sizes = hidden, word, c is not None
    packed = PackedSequences(_kernels_for(bias), _room(bias.dtype, sequences_room(*sizes)), *sizes)
    packed.kernels.sequences_pack(x, h, c, peephole, bias, *sizes, packed.numbers)
    return packed


def pack_dense(weights: DenseWeights) -> PackedDense:
    """Pack the weights of a dense layer."""
    weight, bias = _in_rows(weights.weight, weights.bias)
    columns, size = weight.shape
    packed = PackedDense(_kernels_for(bias), _room(bias.dtype, dense_room(size, columns)), size, columns)
    packed.kernels.dense_pack(weight, bias, size, columns, packed.numbers)
    return packed


def native_array_heads(
    words: RealArray,
    weights: HeadWeights | PackedHeads | None,
    layout: TreeLayout,
    method: HeadMethod,
    lean: RealArray | None = None,
) -> RealArray:
    """The head vector of every node by the gate, [nodes, word]; see `numpy_compose_heads`."""
    check_head_method(method, weights)
    if method != "G" or weights is None:
        # These have no products, and nothing to gain.
        return numpy_compose_heads(words, None, layout, method)
    return native_array_heads_and_shares(words, weights, layout, lean)[0]


def native_array_heads_and_shares(
    words: RealArray,
    weights: HeadWeights | PackedHeads,
    layout: TreeLayout,
    lean: RealArray | None = None,
) -> tuple[RealArray, RealArray]:
    """The head vector of every node and the left part's share of every phrase; see `numpy_heads_and_shares`."""
    packed = weights if isinstance(weights, PackedHeads) else pack_heads(weights)
    dtype, size = packed.numbers.dtype, packed.size
    num_leaves, num_nodes = layout.num_leaves, layout.num_nodes
    words = np.ascontiguousarray(words, dtype)
    lean = None if lean is None else np.ascontiguousarray(lean, dtype)
    level_offset, children = _indices(layout.level_offset, layout.children_index)
    x, z = np.empty((num_nodes, size), dtype), np.empty((num_nodes - num_leaves, size), dtype)
    packed.kernels.heads_forward_packed(
        *(words, packed.numbers, lean),
        *(size, num_leaves, len(layout.level_sizes) - 1, num_nodes),
        *(level_offset, children, x, z),
    )
    return x, z


def native_array_bottom_up(
    x: RealArray, weights: BottomUpWeights | PackedBottomUp, layout: TreeLayout
) -> RealArray:
    """The state h of every node, computed from its children, [nodes, hidden]; see `numpy_run_bottom_up`."""
    packed = weights if isinstance(weights, PackedBottomUp) else pack_bottom_up(weights)
    kernels, numbers, hidden, word, is_lexical, has_peepholes = packed
    x = np.ascontiguousarray(x, numbers.dtype)
    level_offset, children = _indices(layout.level_offset, layout.children_index)
    h = np.empty((layout.num_nodes, hidden), numbers.dtype)
    kernels.bottom_up_forward_packed(
        *(x, numbers),
        *(hidden, word, is_lexical, has_peepholes),
        *(layout.num_leaves, len(layout.level_sizes) - 1, layout.num_nodes),
        *(level_offset, children, h),
    )
    return h


def native_array_top_down(
    x: RealArray,
    weights: TopDownWeights | PackedTopDown,
    layout: TreeLayout,
    source: IndexArray | None = None,
) -> RealArray:
    """The state h of every node, computed from its parent's, [nodes, hidden]; see `numpy_run_top_down`."""
    packed = weights if isinstance(weights, PackedTopDown) else pack_top_down(weights)
    kernels, numbers, hidden, word, sides = packed
    x = np.ascontiguousarray(x, numbers.dtype)
    row_of = layout.down_order if source is None else source[layout.down_order]
    trees = _indices(layout.depth_offset, row_of, layout.down_order, layout.down_parent_index)
    h = np.empty((layout.num_nodes, hidden), numbers.dtype)
    kernels.top_down_forward_packed(
        *(x, numbers),
        *(hidden, word, sides, len(x)),
        *(layout.num_trees, len(layout.depth_sizes) - 1, layout.num_nodes),
        *(*trees, h),
    )
    return h


def native_array_sequences(
    x: RealArray, weights: SequenceWeights | PackedSequences, schedule: SpanSchedule
) -> RealArray:
    """The last state of an LSTM over each span, [spans, hidden]; see `numpy_run_sequences`."""
    packed = weights if isinstance(weights, PackedSequences) else pack_sequences(weights)
    kernels, numbers, hidden, word, has_peepholes = packed
    x = np.ascontiguousarray(x, numbers.dtype)
    step_sizes = np.array(schedule.step_sizes, np.int64)
    leaf_index, last_index = _indices(schedule.leaf_index, schedule.last_index)
    h = np.empty((len(last_index), hidden), numbers.dtype)
    kernels.sequences_forward_packed(
        *(x, numbers),
        *(hidden, word, has_peepholes),
        *(len(x), len(step_sizes), len(last_index), len(leaf_index)),
        *(step_sizes, leaf_index, last_index, h),
    )
    return h


def native_array_dense(x: RealArray, weights: DenseWeights | PackedDense, relu: bool = False) -> RealArray:
    """W x + b of every row, [rows, columns], without the threads of a BLAS; see `numpy_run_dense`."""
    packed = weights if isinstance(weights, PackedDense) else pack_dense(weights)
    kernels, numbers, size, columns = packed
    x = np.ascontiguousarray(x, numbers.dtype)
    out = np.empty((len(x), columns), numbers.dtype)
    kernels.dense_forward(x, numbers, len(x), size, columns, relu, out)
    return out


def native_array_find_heads(
    x: RealArray,
    weights: HeadWeights | PackedHeads | None,
    layout: TreeLayout,
    method: HeadMethod,
    lean: RealArray | None,
    from_left: RealArray,
) -> HeadLeaves:
    """The head word of every node; see `numpy_find_heads`. The left parts' shares must be known."""
    del weights
    x = np.ascontiguousarray(x)
    from_left = np.ascontiguousarray(from_left, x.dtype)
    lean = None if lean is None else np.ascontiguousarray(lean, x.dtype)
    (children,) = _indices(layout.children_index)
    found = HeadLeaves(np.empty(layout.num_nodes, np.int64), np.empty(layout.num_nodes, x.dtype))
    _kernels_for(x).find_heads(
        *(x, from_left, lean),
        *({"L": 1, "R": 2}.get(method, 0), x.shape[-1], layout.num_leaves, layout.num_nodes),
        *(children, *found),
    )
    return found


def native_array_features(
    down: RealArray, up: RealArray | None, layout: TreeLayout, nodes: IndexArray | None
) -> RealArray:
    """The features of nodes by their states from above and below; see `numpy_gather_features`."""
    down = np.ascontiguousarray(down)
    up = None if up is None else np.ascontiguousarray(up, down.dtype)
    asked = np.arange(layout.num_nodes) if nodes is None else nodes
    asked, start, end = _indices(asked, layout.span_start, layout.span_end)
    hidden = down.shape[-1]
    out = np.empty((len(asked), (2 if up is None else 3) * hidden), down.dtype)
    _kernels_for(down).gather_features(
        *(up, down),
        *(hidden, layout.num_leaves, layout.num_nodes, len(asked), up is not None),
        *(asked, start, end, out),
    )
    return out


def _kernels_for(array: RealArray) -> Kernels:
    """The kernels that compute in the precision of an array."""
    return find_kernels(_PRECISIONS[array.dtype.name])


def _in_rows(*arrays: RealArray) -> list[RealArray]:
    """Arrays whose numbers lie one after the other."""
    return [np.ascontiguousarray(array) for array in arrays]


def _indices(*arrays: IndexArray) -> list[IndexArray]:
    return [np.ascontiguousarray(array, np.int64) for array in arrays]


def _room(dtype: np.dtype[np.floating], count: int) -> RealArray:
    """Room for so many packed weights; it starts a cache line."""
    extra = _ALIGNMENT // dtype.itemsize
    numbers = np.zeros(count + extra, dtype)
    first = -numbers.ctypes.data % _ALIGNMENT // dtype.itemsize
    return numbers[first : first + count]
