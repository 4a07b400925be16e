"""The package pytorch-tree-lstm as documented: orders computed once per tree, trees joined into one input."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from exchange import NO_WORD, PlainTree
from protocol import serve
from torch.nn.functional import cross_entropy
from treelstm import TreeLSTM, batch_tree_input, calculate_evaluation_orders


class PackagedTreeLSTM:
    """The child-sum cell. The words are joined as numbers, so that one look-up serves the batch."""

    def __init__(self, trees: list[PlainTree], weights: dict[str, Any], options: argparse.Namespace) -> None:
        if options.cell != "child-sum":
            raise SystemExit("this package has the child-sum cell only")
        torch.set_num_threads(options.threads)
        num_words, word_size = weights["embedding"].shape
        H = self.hidden = weights["h"].shape[1]
        self.embedding = torch.nn.Embedding(num_words, word_size, sparse=True)
        self.cell = TreeLSTM(word_size, H)
        self.output = torch.nn.Linear(H, len(weights["output"]))
        # Ours are f, i, g, o; the package's are i, o, u (our g), and f apart.
        f, i, g, o = (slice(k * H, (k + 1) * H) for k in range(4))
        self.rows = np.r_[i, o, g]
        for parameter, array in (
            (self.embedding.weight, weights["embedding"]),
            (self.cell.W_iou.weight, weights["x"][self.rows]),
            (self.cell.W_iou.bias, weights["bias"][self.rows]),
            (self.cell.U_iou.weight, weights["h"][self.rows]),
            (self.cell.W_f.weight, weights["x"][f]),
            (self.cell.W_f.bias, weights["bias"][f]),
            (self.cell.U_f.weight, weights["h"][f]),
            (self.output.weight, weights["output"]),
            (self.output.bias, weights["output_bias"]),
        ):
            parameter.data = torch.tensor(array)
        self.modules = torch.nn.ModuleList([self.embedding, self.cell, self.output])
        self.inputs = [_prepare(tree, phrase=num_words - 1) for tree in trees]
        self.labels = [torch.tensor(tree.labels) for tree in trees]

    def step(self, batch: list[int]) -> float:
        self.modules.zero_grad(set_to_none=True)
        joined = batch_tree_input([self.inputs[number] for number in batch])
        labels = torch.cat([self.labels[number] for number in batch])
        h, _ = self.cell(
            self.embedding(joined["features"]),
            joined["node_order"],
            joined["adjacency_list"],
            joined["edge_order"],
        )
        loss = cross_entropy(self.output(h), labels, reduction="sum")
        loss.backward()
        return loss.item()

    def gradients(self) -> dict[str, Any]:
        H, cell = self.hidden, self.cell
        found = {"embedding": _gradient(self.embedding.weight)}
        for name, of_iou, of_f in (
            ("x", cell.W_iou.weight, cell.W_f.weight),
            ("h", cell.U_iou.weight, cell.U_f.weight),
            ("bias", cell.W_iou.bias, cell.W_f.bias),
        ):
            stacked = np.zeros((4 * H, *of_iou.shape[1:]), dtype=np.float32)
            stacked[:H], stacked[self.rows] = _gradient(of_f), _gradient(of_iou)
            found[name] = stacked
        found["output"], found["output_bias"] = _gradient(self.output.weight), _gradient(self.output.bias)
        return found


def _prepare(tree: PlainTree, phrase: int) -> dict[str, torch.Tensor]:
    words = [phrase if word == NO_WORD else word for word in tree.words]
    pairs = [(parent, child) for parent, children in enumerate(tree.children) for child in children]
    adjacency = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    node_order, edge_order = calculate_evaluation_orders(adjacency, len(words))
    return {
        "features": torch.tensor(words),
        "node_order": torch.from_numpy(node_order),
        "adjacency_list": torch.from_numpy(adjacency),
        "edge_order": torch.from_numpy(edge_order),
    }


def _gradient(parameter: torch.Tensor) -> Any:
    assert parameter.grad is not None
    return parameter.grad.to_dense().numpy()


if __name__ == "__main__":
    packages = ("pytorch-tree-lstm", "torch")
    serve(PackagedTreeLSTM, {package: version(package) for package in packages})
