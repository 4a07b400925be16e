"""Runs a classifier on many trees that are flat arrays; `inference` runs it on trees that are objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.lexicon.vocabulary import UNK, UNK_INDEX
from lexitree.limits import Check, no_check
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import MAX_BATCH_NODES, AskedNodes, check_finite, head_tensors, in_use
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import TreeBatch
from lexitree.text.word_kinds import word_kinds
from lexitree.trees.flat_trees import FlatTrees, ranges

_NODES_AT_ONCE = {"cpu": MAX_BATCH_NODES, "cuda": 60_000}
"""Largest number of nodes per batch; a larger tree stands alone."""


class FlatOutputs(NamedTuple):
    """The model's output for the nodes of many trees, tree after tree in pre-order."""

    probabilities: FloatArray
    """[nodes, labels], or [trees, labels] if only the roots were asked for."""
    head_index: IndexArray | None
    """[nodes]: the position in its sentence of each phrase's head word; None for a model without heads."""
    head_weight: FloatArray | None
    """[nodes]: the head word's share of the phrase's head vector."""


class _Labelled(NamedTuple):
    """A batch of the model: its output, on its way to the host."""

    trees: IndexArray
    """Which trees it holds."""
    packed: Tensor
    """[rows, labels] or, with heads, [rows, labels + 2]: probabilities, position of the head word, and its share."""
    num_labels: int
    arrived: torch.cuda.Event | None
    """When the numbers are on the host; None if they have been there from the start."""

    def outputs(self) -> FlatOutputs:
        if self.arrived is not None:
            self.arrived.synchronize()
        numbers: FloatArray = self.packed.numpy()
        probabilities = np.ascontiguousarray(numbers[:, : self.num_labels])
        check_finite(probabilities)
        if numbers.shape[1] == self.num_labels:
            return FlatOutputs(probabilities, None, None)
        positions, weights = numbers[:, self.num_labels], numbers[:, self.num_labels + 1]
        return FlatOutputs(probabilities, positions.astype(np.int64), np.ascontiguousarray(weights))


@dataclass(frozen=True, eq=False)
class StartedOutputs:
    """Trees that are being labelled; a GPU may still be at work until `finish`."""

    trees: FlatTrees
    nodes: AskedNodes
    batches: list[_Labelled]

    def finish(self) -> FlatOutputs:
        """The output for all trees.

        Raises:
            NotFiniteError: If the model gives no finite probabilities.
        """
        found = [batch.outputs() for batch in self.batches]
        if len(found) == 1:
            return found[0]
        order = np.concatenate([batch.trees for batch in self.batches])
        rows = (
            order if self.nodes == "root" else ranges(self.trees.first_node[order], self.trees.sizes[order])
        )
        place = np.empty_like(rows)
        place[rows] = np.arange(len(rows))
        probabilities, head_index, head_weight = zip(*found, strict=True)
        return FlatOutputs(
            np.concatenate(probabilities)[place], _join(head_index, place), _join(head_weight, place)
        )


def _join(parts: Sequence[npt.NDArray[Any] | None], place: IndexArray) -> Any:
    present = [part for part in parts if part is not None]
    return np.concatenate(present)[place] if present else None


def can_run_flat(model: TreeClassifier) -> bool:
    """Whether a model reads phrases of single words; a transformer reads pieces of whole sentences."""
    return isinstance(model.lexicon, WordTable) and model.encoder.tree_kind == "constituency"


def start_flat(
    model: TreeClassifier,
    trees: FlatTrees,
    words: Sequence[str],
    *,
    nodes: AskedNodes = "all",
    check: Check = no_check,
) -> StartedOutputs:
    """Begin to label trees; on a GPU, the host does not wait for it.

    Args:
        model: A model for which `can_run_flat`.
        trees: The trees.
        words: The words of all trees, one tree after the other.
        nodes: Whether all nodes or only the roots are labelled.
        check: Called before each batch; may raise an error to end the work.
    """
    word_index, unknown = _number_words(model, words)
    leaf_kind = np.array(word_kinds(words), dtype=np.int64)
    guesses = model.lexicon.guess(unknown) if unknown else None
    batches: list[_Labelled] = []
    with in_use(model):
        limit = _NODES_AT_ONCE.get(model.device.type, MAX_BATCH_NODES)
        for chosen in _batches_by_height(trees, limit):
            check()
            part, own_words = trees, slice(None)
            if len(chosen) < trees.num_trees:
                part, own_words = (
                    trees.take(chosen),
                    ranges(trees.first_word[chosen], trees.num_words[chosen]),
                )
            layout = TreeLayout.from_flat(part, word_index[own_words], leaf_kind[own_words])
            batch = TreeBatch.from_layout(layout, model.device, guesses)
            batches.append(_run_batch(model, batch, chosen, nodes))
    return StartedOutputs(trees, nodes, batches)


def _number_words(model: TreeClassifier, words: Sequence[str]) -> tuple[IndexArray, tuple[str, ...]]:
    """The lexicon row of each word, ~k for unknown word k if the lexicon guesses, and these words."""
    word_index = model.lexicon.index(words)
    if not model.lexicon.can_guess:
        return word_index, ()
    places = [place for place in np.flatnonzero(word_index == UNK_INDEX).tolist() if words[place] != UNK]
    guess_of: dict[str, int] = {}
    word_index[places] = [~guess_of.setdefault(words[place], len(guess_of)) for place in places]
    return word_index, tuple(guess_of)


def _batches_by_height(trees: FlatTrees, max_nodes: int) -> Iterator[IndexArray]:
    """All trees if they fit into a batch, or else batches of trees of nearly one height."""
    sizes = trees.sizes
    if int(sizes.sum()) <= max_nodes:
        yield np.arange(trees.num_trees)
        return
    order = np.argsort(trees.heights[trees.first_node[:-1]], kind="stable")
    ends = np.cumsum(sizes[order])
    first = 0
    while first < len(order):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + max_nodes, side="right")))
        yield order[first:last]
        first = last


@torch.inference_mode()
def _run_batch(model: TreeClassifier, batch: TreeBatch, trees: IndexArray, nodes: AskedNodes) -> _Labelled:
    heads = None
    if nodes == "all":
        scores, heads = model.score_with_heads(batch)
    else:
        scores = model(batch, batch.root_index)
    probabilities = model.answer_probabilities(scores).float()
    num_labels = probabilities.shape[1]
    if nodes == "all":
        probabilities = probabilities.index_select(0, batch.preorder_index)
    if heads is not None:
        position, weight = head_tensors(heads, batch)
        probabilities = torch.cat([probabilities, position.float().unsqueeze(1), weight.unsqueeze(1)], 1)
    if not probabilities.is_cuda:
        return _Labelled(trees, probabilities.cpu(), num_labels, None)
    on_host = torch.empty(probabilities.shape, dtype=probabilities.dtype, pin_memory=True)
    on_host.copy_(probabilities, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(probabilities.device))
    return _Labelled(trees, on_host, num_labels, arrived)
