"""Runs a classifier on a stream of trees: label probabilities, head words and head weights of their nodes.

Head weights are computed only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_examples import Example, example_to_label, lay_out_to_label
from lexitree.errors import NotFiniteError
from lexitree.limits import Check, no_check
from lexitree.models.label_model import AskedNodes, LabelModel
from lexitree.ops.numpy.heads import word_weights
from lexitree.trees.binarize import BinarizedTree, unchanged
from lexitree.trees.tree import Tree

MAX_BATCH_NODES = 12_000
"""A batch takes trees up to this number of nodes, so memory is bounded by the longest tree."""
MAX_BATCH_TREES = 256
BATCHES_PER_WINDOW = 4
"""How much of the stream is sorted by height at a time; trees of one height have no narrow levels together."""
MAX_WINDOW_TREES = BATCHES_PER_WINDOW * MAX_BATCH_TREES


@dataclass(frozen=True, slots=True)
class NodeOutputs:
    """The model's output for one tree, by node of the user's tree."""

    example: Example
    probabilities: FloatArray
    """[nodes, labels], or [1, labels] if only the root was asked for."""
    head_index: IndexArray | None
    """[nodes]: the position of each phrase's head word; None for a model without heads."""
    head_weight: FloatArray | None
    """[nodes]: the head word's share of the phrase's head vector."""


def run_examples(
    model: LabelModel,
    examples: Iterable[Example],
    *,
    nodes: AskedNodes = "all",
    heads: bool = False,
    finer: bool = False,
    max_batch_nodes: int = MAX_BATCH_NODES,
    check: Check = no_check,
) -> Iterator[NodeOutputs]:
    """Run the model over a stream of prepared trees, a window at a time.

    Args:
        model: The classifier.
        examples: The prepared trees.
        nodes: Whether all nodes or only the roots are labelled.
        heads: Whether head words are found too.
        finer: Whether the probabilities are those of the labels it was trained with, where these are finer than its
            answers.
        max_batch_nodes: The largest number of nodes in a batch.
        check: Called before each batch; may raise an error to end the work.

    Yields:
        The output for each tree, in the order of the stream.

    Raises:
        NotFiniteError: If the model gives no finite probabilities.
    """
    with model.in_use():
        for window in group_by_nodes(examples, BATCHES_PER_WINDOW * max_batch_nodes, MAX_WINDOW_TREES):
            yield from _run_window(model, window, nodes, heads, finer, max_batch_nodes, check)


def group_by_nodes(
    examples: Iterable[Example], max_nodes: int, max_trees: int = MAX_BATCH_TREES
) -> Iterator[list[Example]]:
    """Group consecutive examples up to a number of nodes; a larger example stands alone."""
    group: list[Example] = []
    num_nodes = 0
    for example in examples:
        if group and (num_nodes + example.num_nodes > max_nodes or len(group) == max_trees):
            yield group
            group, num_nodes = [], 0
        group.append(example)
        num_nodes += example.num_nodes
    if group:
        yield group


def _run_window(
    model: LabelModel,
    window: list[Example],
    nodes: AskedNodes,
    heads: bool,
    finer: bool,
    max_batch_nodes: int,
    check: Check,
) -> list[NodeOutputs]:
    order = sorted(range(len(window)), key=lambda place: window[place].height)
    outputs: list[NodeOutputs] = []
    for group in group_by_nodes((window[place] for place in order), max_batch_nodes):
        check()
        outputs += _run_group(model, group, nodes, heads, finer)
    by_place = dict(zip(order, outputs, strict=True))
    return [by_place[place] for place in range(len(window))]


def _run_group(
    model: LabelModel, group: list[Example], nodes: AskedNodes, heads: bool, finer: bool
) -> list[NodeOutputs]:
    layout = lay_out_to_label(group, guesses=model.lexicon.can_guess, roots_only=nodes == "root")
    found = model.start_batch(layout, nodes=nodes, heads=heads, finer=finer).result()
    check_finite(found.probabilities)
    if nodes == "root":
        return [
            NodeOutputs(example, found.probabilities[place : place + 1], None, None)
            for place, example in enumerate(group)
        ]
    return [
        NodeOutputs(
            example,
            found.probabilities[rows],
            None if found.head_index is None else found.head_index[rows],
            None if found.head_weight is None else found.head_weight[rows],
        )
        for example, rows in zip(group, _source_rows(group), strict=True)
    ]


def check_finite(probabilities: FloatArray) -> None:
    """Refuse the output of a model that is broken."""
    if not np.isfinite(probabilities).all():
        raise NotFiniteError(
            "the model's probabilities are not finite: its weights are not, or its word vectors are out of range",
            remedy="Train it again with a smaller learning rate.",
        )


def _source_rows(group: list[Example]) -> Iterator[npt.NDArray[np.integer]]:
    """For each tree, the rows of the nodes of the user's tree among those of the batch."""
    first = 0
    for example in group:
        yield first + example.binary.node_of
        first += example.num_nodes


MOST_KEPT = 4
"""How many trees are remembered, for asking about all phrases of one; at 300 dimensions, 60 words take 70 kB."""


class HeadShares(NamedTuple):
    """How the head vectors of one tree are made up."""

    binary: BinarizedTree
    from_left: FloatArray
    """[phrases, word], by phrase of the binary tree in pre-order: the share that comes from the left part."""

    def word_weights(self, node: int) -> tuple[float, ...]:
        """The share of each word of a phrase, in the user's tree, in its head vector; the shares add up to 1."""
        tree, top = self.binary.tree, int(self.binary.node_of[node])
        start, end = int(tree.starts[top]), int(tree.ends[top])
        # A binary tree over n words has 2n - 1 nodes. In pre-order, the leaves before a node are the words before it.
        arity: list[int] = tree.arity[top : top + 2 * (end - start) - 1].tolist()
        return word_weights(arity, self.from_left[top - start :])


def find_head_shares(model: LabelModel, binary: BinarizedTree) -> HeadShares:
    """Compute how the head vectors of a tree are made up, for a model with heads."""
    example = example_to_label(binary, model.lexicon)
    layout = lay_out_to_label([example], guesses=model.lexicon.can_guess)
    return HeadShares(binary, model.head_shares(layout))


class HeadWeigher:
    """Computes head weights for all predictions of one model, for any number of threads.

    It keeps only the last few trees, so documents do not grow when their weights are asked for. Its only state is a
    tuple that is replaced as a whole: at worst, two threads compute a tree twice.
    """

    def __init__(self, model: LabelModel) -> None:
        self._model = model
        self._recent: tuple[tuple[TreeWeigher, HeadShares], ...] = ()

    def about(self, binary: BinarizedTree) -> TreeWeigher:
        """A weigher for a tree that the model has just labelled."""
        return TreeWeigher(self, binary)

    def about_tree(self, tree: Tree) -> TreeWeigher:
        """A weigher for a tree that the model has just labelled as it is."""
        return self.about(unchanged(tree))

    def shares(self, asked: TreeWeigher) -> HeadShares:
        """The shares of a tree, remembered or computed again.

        Trees are told apart by their predictions, since a model that is trained further has other shares for a tree.
        """
        for known, shares in self._recent:
            if known is asked:
                return shares
        shares = find_head_shares(self._model, asked.binary)
        self._recent = ((asked, shares), *self._recent)[:MOST_KEPT]
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class TreeWeigher:
    """What a prediction holds: the tree as the model read it, and the way back to the model."""

    weigher: HeadWeigher
    binary: BinarizedTree

    def word_weights(self, node: int) -> tuple[float, ...]:
        """The share of each word of a phrase of the user's tree in its head vector; they add up to 1."""
        return self.weigher.shares(self).word_weights(node)

    def __deepcopy__(self, memo: object) -> TreeWeigher:
        """Copies of a prediction share the model."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """A prediction sent to another process leaves the model behind."""
        # It arrives as None, and without importing torch there.
        return type(None), ()
