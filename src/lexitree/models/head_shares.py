"""How much each word counts in the head vector of a phrase, computed on demand.

A prediction holds the head words of all phrases; the weights of all words in all phrases would be many times as
large. So it only holds a `TreeWeigher`, which computes them again for the one tree that is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from lexitree.arrays import FloatArray
from lexitree.batch.examples import example_to_label
from lexitree.models.classifier import TreeClassifier
from lexitree.models.head_words import word_weights
from lexitree.models.inference import batch_to_label, in_use
from lexitree.ops.threads import one_thread
from lexitree.trees.binarize import BinarizedTree

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


@torch.inference_mode()
@one_thread()
def find_head_shares(model: TreeClassifier, binary: BinarizedTree) -> HeadShares:
    """Compute how the head vectors of a tree are made up, for a model with heads."""
    example = example_to_label(binary, model.lexicon)
    batch = batch_to_label(model, [example])
    # Only a transformer drops anything out here; the rest of a model in training stays in training.
    with in_use(model.lexicon):
        from_left = model.left_head_shares(batch)
    nodes = batch.preorder_index
    phrases = nodes[nodes >= batch.num_leaves] - batch.num_leaves
    return HeadShares(binary, from_left.index_select(0, phrases).float().cpu().numpy())


class HeadWeigher:
    """Computes head weights for all predictions of one model, for any number of threads.

    It keeps only the last few trees, so documents do not grow when their weights are asked for. Its only state is a
    tuple that is replaced as a whole: at worst, two threads compute a tree twice.
    """

    def __init__(self, model: TreeClassifier) -> None:
        self._model = model
        self._recent: tuple[tuple[TreeWeigher, HeadShares], ...] = ()

    def about(self, binary: BinarizedTree) -> TreeWeigher:
        """A weigher for a tree that the model has just labelled."""
        return TreeWeigher(self, binary)

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
