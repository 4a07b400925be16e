"""Runs a torch classifier on a batch of trees: probabilities, head words and head shares, as arrays on the host."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lexitree.arrays import FloatArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.models.head_words import HeadWords
from lexitree.models.label_model import AskedNodes, NodeArrays
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch, send

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


class StartedTensors(NamedTuple):
    """The output of a batch, on its way to the host."""

    packed: Tensor
    """[rows, labels] or, with heads, [rows, labels + 2]: probabilities, position of the head word, and its share."""
    num_labels: int
    arrived: torch.cuda.Event | None
    """When the numbers are on the host; None if they have been there from the start."""

    def finish(self) -> NodeArrays:
        """The output; waits for a GPU."""
        if self.arrived is not None:
            self.arrived.synchronize()
        numbers: FloatArray = self.packed.numpy()
        probabilities = np.ascontiguousarray(numbers[:, : self.num_labels])
        if numbers.shape[1] == self.num_labels:
            return NodeArrays(probabilities, None, None)
        positions, weights = numbers[:, self.num_labels], numbers[:, self.num_labels + 1]
        return NodeArrays(probabilities, positions.astype(np.int64), np.ascontiguousarray(weights))


def send_layout(model: TreeClassifier, layout: TreeLayout) -> TreeBatch:
    """The tensors of a layout where the model is, with vectors for unknown words, if it guesses.

    The guesses belong to the batch and the model stays as it is, so threads can share it.
    """
    guesses = model.lexicon.guess(layout.unknown_words) if layout.unknown_words else None
    return TreeBatch.from_layout(layout, model.device, guesses)


@torch.inference_mode()
def start_tensors(
    model: TreeClassifier, layout: TreeLayout, nodes: AskedNodes, heads: bool, finer: bool
) -> StartedTensors:
    """Begin to label a batch; see `LabelModel.start_batch`."""
    batch = send_layout(model, layout)
    head_words = None
    if heads and nodes == "all":
        scores, head_words = model.score_with_heads(batch)
    else:
        scores = model(batch, batch.root_index if nodes == "root" else None)
    probabilities = model.answer_probabilities(scores, finer=finer).float()
    num_labels = probabilities.shape[1]
    if nodes == "all":
        probabilities = probabilities.index_select(0, batch.preorder_index)
    if head_words is not None:
        position, weight = _head_tensors(head_words, batch)
        probabilities = torch.cat([probabilities, position.float().unsqueeze(1), weight.unsqueeze(1)], 1)
    if not probabilities.is_cuda:
        return StartedTensors(probabilities.cpu(), num_labels, None)
    on_host = torch.empty(probabilities.shape, dtype=probabilities.dtype, pin_memory=True)
    on_host.copy_(probabilities, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(probabilities.device))
    return StartedTensors(on_host, num_labels, arrived)


def _head_tensors(heads: HeadWords, batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """By node in pre-order, tree after tree: the position of the head word in its sentence, and its share."""
    first_leaf = batch.span_start.index_select(0, batch.root_index)
    sizes = send(torch.tensor(batch.tree_sizes), batch.device)
    first = first_leaf.repeat_interleave(sizes, output_size=len(batch.preorder_index))
    leaves = heads.leaf.index_select(0, batch.preorder_index) - first
    return leaves, heads.weight.float().index_select(0, batch.preorder_index)


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
