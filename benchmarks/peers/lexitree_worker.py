"""This package, by the backend that is asked for, from the same files and timed like the other libraries."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from exchange import NO_WORD, PlainTree
from protocol import serve
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding, linear

from lexitree.ops.operations import BOTTOM_UP, CHILD_SUM
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import BottomUpWeights, ChildSumWeights
from lexitree.trees.tree import Tree
from lexitree.version import __version__


class LexitreeTreeLSTM:
    """Both cells: the n-ary one, binary, and the child-sum one."""

    def __init__(self, trees: list[PlainTree], weights: dict[str, Any], options: argparse.Namespace) -> None:
        torch.set_num_threads(options.threads)
        self.backend = get_backend(options.backend)
        self.cell = options.cell
        self.parameters = {name: torch.tensor(array, requires_grad=True) for name, array in weights.items()}
        self.phrase = len(weights["embedding"]) - 1
        self.trees = [_make_tree(tree) for tree in trees]
        self.words = [np.array([word for word in tree.words if word != NO_WORD]) for tree in trees]
        self.labels = [np.array(tree.labels) for tree in trees]

    def step(self, batch: list[int]) -> float:
        for parameter in self.parameters.values():
            parameter.grad = None
        p = self.parameters
        joined = TreeBatch.from_trees(
            [self.trees[number] for number in batch],
            word_index=[self.words[number] for number in batch],
            label_index=[self.labels[number] for number in batch],
        )
        h = self._run(joined)
        loss = cross_entropy(linear(h, p["output"], p["output_bias"]), joined.label_index, reduction="sum")
        torch.autograd.backward(loss)
        return loss.item()

    def _run(self, batch: TreeBatch) -> Tensor:
        p, words = self.parameters, batch.word_index
        if self.cell == "n-ary":
            x = embedding(words, p["embedding"], sparse=True)
            weights = BottomUpWeights(x=p["x"], h=p["h"], c=None, peephole=None, bias=p["bias"])
            return self.backend[BOTTOM_UP](x, weights, batch)
        # In the order of a batch the leaves come first, so the phrases are the rest.
        phrases = words.new_full((batch.num_nodes - batch.num_leaves,), self.phrase)
        x = embedding(torch.cat([words, phrases]), p["embedding"], sparse=True)
        return self.backend[CHILD_SUM](x, ChildSumWeights(x=p["x"], h=p["h"], bias=p["bias"]), batch)

    def gradients(self) -> dict[str, Any]:
        return {
            name: parameter.grad.to_dense().numpy()
            for name, parameter in self.parameters.items()
            if parameter.grad is not None
        }


def _make_tree(tree: PlainTree) -> Tree:
    """The exchange and `Tree` number nodes alike, in pre-order, so the numbers of children are the whole shape."""
    words = [str(word) for word in tree.words if word != NO_WORD]
    return Tree([len(children) for children in tree.children], map(str, tree.labels), words)


if __name__ == "__main__":
    serve(LexitreeTreeLSTM, {"lexitree": __version__, "torch": torch.__version__})
