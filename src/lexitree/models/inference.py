"""Prepared trees in, label probabilities and head words for every node of the users' trees out, as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.errors import NotFiniteError
from lexitree.examples import Example, batch_examples
from lexitree.models.classifier import TreeClassifier

FloatArray = npt.NDArray[np.float32]
IndexArray = npt.NDArray[np.int64]

AskedNodes = Literal["all", "root"]

MAX_BATCH_NODES = 12_000
"""A batch takes trees until it has this many nodes, so memory is bounded by the longest tree."""
MAX_BATCH_TREES = 256


@dataclass(frozen=True, slots=True)
class NodeOutputs:
    """What the model says of one tree, by node of the tree as the user has it."""

    example: Example
    probabilities: FloatArray
    """[nodes, labels], or [1, labels] when the root alone was asked for."""
    head_index: IndexArray | None
    """[nodes]: the word that is each phrase's head; None for a model without heads."""
    head_weight: FloatArray | None
    """[nodes]: the head word's share of the phrase's head vector."""


def run_examples(
    model: TreeClassifier,
    examples: Iterable[Example],
    *,
    nodes: AskedNodes = "all",
    heads: bool = False,
    max_batch_nodes: int = MAX_BATCH_NODES,
) -> Iterator[NodeOutputs]:
    """Run the model over a stream of prepared trees, in order, a batch at a time."""
    was_training = model.training
    model.eval()
    try:
        for group in group_by_nodes(examples, max_batch_nodes):
            yield from _run_group(model, group, nodes, heads)
    finally:
        model.train(was_training)


def group_by_nodes(examples: Iterable[Example], max_nodes: int) -> Iterator[list[Example]]:
    """Consecutive examples in groups of bounded size; an example that is larger stands alone."""
    group: list[Example] = []
    num_nodes = 0
    for example in examples:
        if group and (num_nodes + example.num_nodes > max_nodes or len(group) == MAX_BATCH_TREES):
            yield group
            group, num_nodes = [], 0
        group.append(example)
        num_nodes += example.num_nodes
    if group:
        yield group


@torch.inference_mode()
def _run_group(
    model: TreeClassifier, group: list[Example], nodes: AskedNodes, heads: bool
) -> list[NodeOutputs]:
    batch = batch_examples(group).to(model.device)
    head_words = None
    if heads and nodes == "all":
        scores, head_words = model.score_with_heads(batch)
    else:
        scores = model(batch, batch.root_index if nodes == "root" else None)
    probabilities = scores.softmax(1).float()
    if not probabilities.isfinite().all():
        raise NotFiniteError(
            "the model gives no numbers: its weights are not finite, or its word vectors are out of range",
            remedy="Train it anew, with a smaller learning rate.",
        )
    per_tree = torch.split(probabilities, 1) if nodes == "root" else batch.split(probabilities)
    head_leaves: list[Tensor | None] = [None] * len(group)
    head_weights: list[Tensor | None] = [None] * len(group)
    if head_words is not None:
        head_leaves = [*batch.split(head_words.leaf - _first_leaves(batch))]
        head_weights = [*batch.split(head_words.weight)]
    return [
        _by_source_node(*outputs, nodes)
        for outputs in zip(group, per_tree, head_leaves, head_weights, strict=True)
    ]


def _first_leaves(batch: TreeBatch) -> Tensor:
    """For every node, in up order, the first leaf of its tree: heads are counted from there."""
    root_of_tree = batch.span_start.index_select(0, batch.root_index)
    sizes = torch.tensor(batch.tree_sizes, device=batch.device)
    in_preorder = root_of_tree.repeat_interleave(sizes)
    return torch.empty_like(in_preorder).index_copy_(0, batch.preorder_index, in_preorder)


def _by_source_node(
    example: Example,
    probabilities: Tensor,
    head_leaves: Tensor | None,
    head_weights: Tensor | None,
    nodes: AskedNodes,
) -> NodeOutputs:
    node_of = example.binary.node_of
    scores = probabilities.cpu().numpy()
    return NodeOutputs(
        example,
        scores if nodes == "root" else scores[node_of],
        None if head_leaves is None else head_leaves.cpu().numpy()[node_of],
        None if head_weights is None else head_weights.float().cpu().numpy()[node_of],
    )
