"""Runs a classifier on many trees that are flat arrays; `inference` runs it on trees that are objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import IndexArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.lexicon.pieces import PieceLayout, SplitSentence
from lexitree.lexicon.vocabulary import UNK, UNK_INDEX
from lexitree.limits import Check, no_check
from lexitree.models.inference import MAX_BATCH_NODES, check_finite
from lexitree.models.label_model import AskedNodes, LabelModel, NodeArrays
from lexitree.pending import Pending
from lexitree.text.word_kinds import word_kinds
from lexitree.trees.flat_trees import FlatTrees, ranges

_NODES_AT_ONCE = {"cpu": 5_000, "cuda": 60_000}
"""Largest number of nodes per batch; a larger tree stands alone. On a CPU, the system would have to find new memory
for each larger batch, which takes a twentieth of the time."""


class _Labelled(NamedTuple):
    """A batch of the model."""

    trees: IndexArray
    """Which trees it holds."""
    outputs: Pending[NodeArrays]


def _join_batches(trees: FlatTrees, nodes: AskedNodes, batches: Sequence[_Labelled]) -> NodeArrays:
    """The output for all trees.

    Raises:
        NotFiniteError: If the model gives no finite probabilities.
    """
    found = [batch.outputs.result() for batch in batches]
    for output in found:
        check_finite(output.probabilities)
    if len(found) == 1:
        return found[0]
    order = np.concatenate([batch.trees for batch in batches])
    rows = order if nodes == "root" else ranges(trees.first_node[order], trees.sizes[order])
    place = np.empty_like(rows)
    place[rows] = np.arange(len(rows))
    probabilities, head_index, head_weight = zip(*found, strict=True)
    return NodeArrays(
        np.concatenate(probabilities)[place], _join(head_index, place), _join(head_weight, place)
    )


def _join(parts: Sequence[npt.NDArray[Any] | None], place: IndexArray) -> Any:
    present = [part for part in parts if part is not None]
    return np.concatenate(present)[place] if present else None


def start_flat(
    model: LabelModel,
    trees: FlatTrees,
    words: Sequence[str],
    *,
    nodes: AskedNodes = "all",
    check: Check = no_check,
) -> Pending[NodeArrays]:
    """Begin to label trees; on a GPU, the host does not wait for it.

    Args:
        model: A model that reads constituency trees.
        trees: The trees.
        words: The words of all trees, one tree after the other.
        nodes: Whether all nodes or only the roots are labelled.
        check: Called before each batch; may raise an error to end the work.
    """
    word_index, unknown = _number_words(model, words)
    split = _split_sentences(model, trees, words)
    leaf_kind = np.array(word_kinds(words), dtype=np.int64)
    batches: list[_Labelled] = []
    with model.in_use():
        limit = MAX_BATCH_NODES if split else _NODES_AT_ONCE.get(model.device_type, MAX_BATCH_NODES)
        for chosen in _batches_by_height(trees, limit):
            check()
            part, own_words = trees, slice(None)
            if len(chosen) < trees.num_trees:
                part, own_words = (
                    trees.take(chosen),
                    ranges(trees.first_word[chosen], trees.num_words[chosen]),
                )
            numbers, pieces = word_index[own_words], None
            if split:
                pieces = _lay_out_pieces(part, [split[tree] for tree in chosen.tolist()], numbers, nodes)
                numbers = np.arange(len(numbers))
            layout = TreeLayout.from_flat(part, numbers, leaf_kind[own_words], unknown, pieces)
            batches.append(_Labelled(chosen, model.start_batch(layout, nodes=nodes, heads=nodes == "all")))
    return Pending(lambda: _join_batches(trees, nodes, batches))


def _number_words(model: LabelModel, words: Sequence[str]) -> tuple[IndexArray, tuple[str, ...]]:
    """The lexicon row of each word, ~k for unknown word k if the lexicon guesses, and these words."""
    word_index = model.lexicon.index(words)
    if not model.lexicon.can_guess:
        return word_index, ()
    places = [place for place in np.flatnonzero(word_index == UNK_INDEX).tolist() if words[place] != UNK]
    guess_of: dict[str, int] = {}
    word_index[places] = [~guess_of.setdefault(words[place], len(guess_of)) for place in places]
    return word_index, tuple(guess_of)


def _split_sentences(model: LabelModel, trees: FlatTrees, words: Sequence[str]) -> list[SplitSentence]:
    """The pieces of each sentence, for a transformer; none for other models."""
    borders: list[int] = trees.first_word.tolist()
    found: list[SplitSentence] = []
    for first, last in pairwise(borders):
        split = model.lexicon.split(words[first:last])
        # A lexicon splits all sentences, or none.
        if split is None:
            break
        found.append(split)
    return found


def _lay_out_pieces(
    trees: FlatTrees, sentences: list[SplitSentence], word_index: IndexArray, nodes: AskedNodes
) -> PieceLayout:
    spans = trees.spans()
    wanted = [np.arange(len(each.starts)) == 0 for each in spans] if nodes == "root" else None
    return PieceLayout.from_trees(spans, sentences, [word_index], wanted)


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
