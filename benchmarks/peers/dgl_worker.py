"""A tree LSTM in DGL: one graph per tree, message passing in topological order over the batched graph.

The design is that of the library's tree_lstm example: the words' part of the gates is computed for all nodes at
once and masked to the leaves, children's h and c are messages, and the mailbox of a node is its two children.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("DGLBACKEND", "pytorch")

import dgl
import numpy as np
import torch
from exchange import NO_WORD, PlainTree
from protocol import serve
from torch.nn.functional import cross_entropy, embedding, linear


class DglTreeLSTM:
    """The n-ary cell, binary; weights are stacked as the example has them: the gates f apart from i, o, g."""

    def __init__(self, trees: list[PlainTree], weights: dict[str, Any], options: argparse.Namespace) -> None:
        if options.cell != "n-ary":
            raise SystemExit("this worker has the n-ary cell only")
        torch.set_num_threads(options.threads)
        self.hidden = len(weights["bias"]) // 5
        H = self.hidden
        self.parameters = {
            "embedding": _parameter(weights["embedding"]),
            "W_igo": _parameter(weights["x"]),
            "U_f": _parameter(weights["h"][: 2 * H]),
            "U_igo": _parameter(weights["h"][2 * H :]),
            "b_f": _parameter(weights["bias"][: 2 * H]),
            "b_igo": _parameter(weights["bias"][2 * H :]),
            "output": _parameter(weights["output"]),
            "output_bias": _parameter(weights["output_bias"]),
        }
        self.graphs = [_make_graph(tree) for tree in trees]

    def step(self, batch: list[int]) -> float:
        for parameter in self.parameters.values():
            parameter.grad = None
        p = self.parameters
        graph = dgl.batch([self.graphs[number] for number in batch])
        mask = graph.ndata["mask"]
        words = embedding(graph.ndata["word"], p["embedding"], sparse=True)
        graph.ndata["igo"] = linear(words, p["W_igo"]) * mask.unsqueeze(1)
        graph.ndata["h"] = words.new_zeros(len(mask), self.hidden)
        graph.ndata["c"] = words.new_zeros(len(mask), self.hidden)
        dgl.prop_nodes_topo(graph, self._send, self._receive, apply_node_func=self._update)
        scores = linear(graph.ndata.pop("h"), p["output"], p["output_bias"])
        loss = cross_entropy(scores, graph.ndata["label"], reduction="sum")
        loss.backward()
        return loss.item()

    @staticmethod
    def _send(edges: Any) -> dict[str, torch.Tensor]:
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def _receive(self, nodes: Any) -> dict[str, torch.Tensor]:
        children_h, children_c = nodes.mailbox["h"], nodes.mailbox["c"]
        both = children_h.flatten(1)
        forget = linear(both, self.parameters["U_f"], self.parameters["b_f"]).sigmoid()
        kept = (forget.view_as(children_c) * children_c).sum(1)
        return {"igo": linear(both, self.parameters["U_igo"]), "c": kept}

    def _update(self, nodes: Any) -> dict[str, torch.Tensor]:
        i, g, o = (nodes.data["igo"] + self.parameters["b_igo"]).chunk(3, 1)
        c = i.sigmoid() * g.tanh() + nodes.data["c"]
        return {"h": o.sigmoid() * c.tanh(), "c": c}

    def gradients(self) -> dict[str, Any]:
        found = {name: _gradient(parameter) for name, parameter in self.parameters.items()}
        return {
            "embedding": found["embedding"],
            "x": found["W_igo"],
            "h": np.concatenate([found["U_f"], found["U_igo"]]),
            "bias": np.concatenate([found["b_f"], found["b_igo"]]),
            "output": found["output"],
            "output_bias": found["output_bias"],
        }


def _make_graph(tree: PlainTree) -> Any:
    pairs = [(child, parent) for parent, children in enumerate(tree.children) for child in children]
    sources, targets = (torch.tensor([pair[side] for pair in pairs], dtype=torch.int64) for side in (0, 1))
    graph = dgl.graph((sources, targets), num_nodes=len(tree.words))
    words = torch.tensor(tree.words)
    graph.ndata["mask"] = (words != NO_WORD).float()
    graph.ndata["word"] = words.clamp(min=0)
    graph.ndata["label"] = torch.tensor(tree.labels)
    return graph


def _parameter(array: Any) -> torch.Tensor:
    return torch.tensor(array, requires_grad=True)


def _gradient(parameter: torch.Tensor) -> Any:
    assert parameter.grad is not None
    return parameter.grad.to_dense().numpy()


if __name__ == "__main__":
    serve(DglTreeLSTM, {"dgl": dgl.__version__, "torch": torch.__version__})
