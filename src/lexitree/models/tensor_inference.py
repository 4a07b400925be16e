"""Runs a torch classifier on a batch of trees: probabilities, head words and head shares, as arrays on the host."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.models.label_model import AskedNodes, NodeArrays
from lexitree.ops.openmp import one_thread
from lexitree.ops.padding import Sizes
from lexitree.ops.recordings import recordings_of
from lexitree.ops.transfers import leave
from lexitree.ops.tree_batch import TreeBatch
from lexitree.pending import Pending

if TYPE_CHECKING:
    from lexitree.models.classifier import TreeClassifier


@contextmanager
def without_dropout(model: nn.Module) -> Generator[None, None, None]:
    """Switch dropout off for the block; a model that was in training returns to it afterwards.

    A model in training may be used by one thread at a time.
    """
    if not model.training:
        # Nothing is changed that another thread using the model could see.
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


def _unpack(num_rows: int, first_leaf: IndexArray | None, packed: FloatArray) -> NodeArrays:
    """The output of a batch as arrays.

    Args:
        num_rows: How many nodes were asked for.
        first_leaf: By node: the first leaf of its tree; None without heads.
        packed: [rows, labels] or, with heads, [rows, labels + 2]: probabilities, the leaf of the batch that is the
            head, and its share. Behind the nodes that were asked for, there may be rows of padding.
    """
    numbers = packed[:num_rows]
    if first_leaf is None:
        return NodeArrays(np.ascontiguousarray(numbers), None, None)
    leaves, weights = numbers[:, -2].astype(np.int64), np.ascontiguousarray(numbers[:, -1])
    return NodeArrays(np.ascontiguousarray(numbers[:, :-2]), leaves - first_leaf, weights)


def send_layout(model: TreeClassifier, layout: TreeLayout) -> TreeBatch:
    """The tensors of a layout where the model is, with vectors for unknown words, if it guesses.

    The guesses belong to the batch and the model stays as it is, so threads can share it.
    """
    return TreeBatch.from_layout(layout, model.device, _guess(model, layout))


def _guess(model: TreeClassifier, layout: TreeLayout) -> Tensor | None:
    return model.lexicon.guess(layout.unknown_words) if layout.unknown_words else None


@torch.inference_mode()
def start_tensors(
    model: TreeClassifier, layout: TreeLayout, nodes: AskedNodes, heads: bool, finer: bool
) -> Pending[NodeArrays]:
    """Begin to label a batch; see `LabelModel.start_batch`."""
    asked = _Asked(nodes, heads and nodes == "all" and model.encoder.heads is not None, finer)
    guesses = _guess(model, layout)
    if _is_worth_recording(model, layout, guesses):
        packed = _run_recorded(model, layout, guesses, asked)
    else:
        packed = leave(_label(model, TreeBatch.from_layout(layout, model.device, guesses), asked))
    num_rows = len(layout.preorder_index) if nodes == "all" else len(layout.root_index)
    first_leaf = None
    if asked.heads:
        first_leaf = np.repeat(layout.span_start[layout.root_index], layout.tree_sizes)
    return packed.then(partial(_unpack, num_rows, first_leaf))


class _Asked(NamedTuple):
    """What is asked of a model."""

    nodes: AskedNodes
    heads: bool
    finer: bool


def _label(model: TreeClassifier, batch: TreeBatch, asked: _Asked) -> Tensor:  # [rows, labels or labels + 2]
    """The output of a batch; see `_unpack`."""
    if asked.heads:
        scores, head_words = model.score_with_heads(batch)
    else:
        scores, head_words = model(batch, batch.root_index if asked.nodes == "root" else None), None
    rows = model.answer_probabilities(scores, finer=asked.finer).float()
    if head_words is not None:
        found = head_words.leaf.float(), head_words.weight.float()
        rows = torch.cat([rows, torch.stack(found, 1)], 1)
    return rows if asked.nodes == "root" else rows.index_select(0, batch.preorder_index)


_MOST_TREES, _MOST_LEAVES, _MOST_GUESSES = 4, 256, 8
"""Larger batches keep a GPU busy by themselves."""


def _is_worth_recording(model: TreeClassifier, layout: TreeLayout, guesses: Tensor | None) -> bool:
    return (
        model.device.type == "cuda"
        and len(layout.tree_sizes) <= _MOST_TREES
        and len(layout.word_index) <= _MOST_LEAVES
        and (guesses is None or len(guesses) <= _MOST_GUESSES)
        and layout.is_binary
        and not layout.has_shared_nodes
        and layout.pieces is None
        and model.is_recordable
    )


def _run_recorded(
    model: TreeClassifier, layout: TreeLayout, guesses: Tensor | None, asked: _Asked
) -> Pending[FloatArray]:
    """Label a batch of few trees by a recording; the batch is padded, and so are the vectors of unknown words."""
    batch = TreeBatch.from_layout(layout)
    sizes = Sizes.around(batch)
    padded = sizes.fill(batch)
    inputs = [padded.buffer]
    if model.lexicon.can_guess:
        # As the model's own vectors are: a recording is made for one kind of number.
        vectors = model.scorer.label_bias.new_zeros(_MOST_GUESSES, model.lexicon.word_size)
        if guesses is not None:
            vectors[: len(guesses)] = guesses
        inputs.append(vectors)

    def work(buffer: Tensor, vectors: Tensor | None = None) -> Tensor:
        return _label(model, replace(padded.on(buffer), guesses=vectors), asked)

    key = sizes, asked, torch.get_float32_matmul_precision()
    return recordings_of(model, model.device, model.config).run(key, work, inputs)


@torch.inference_mode()
@one_thread()
def find_shares(model: TreeClassifier, layout: TreeLayout) -> FloatArray:  # [phrases, word]
    """The left parts' shares of the head vectors of a batch; see `LabelModel.head_shares`."""
    batch = send_layout(model, layout)
    # Only a transformer drops anything out here; the rest of a model in training stays in training.
    with without_dropout(model.lexicon):
        from_left = model.left_head_shares(batch)
    nodes = batch.preorder_index
    phrases = nodes[nodes >= batch.num_leaves] - batch.num_leaves
    return from_left.index_select(0, phrases).float().cpu().numpy()
