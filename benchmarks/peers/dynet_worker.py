"""DyNet with automatic batching: one node at a time is written down, the library batches what is alike.

The input gates of a node are one product, as DyNet's own compact LSTM has it, which gives autobatching fewer and
larger operations than a product a gate.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any

import dynet_config

dynet_config.set(mem="2048", autobatch=1, random_seed=1)

import dynet as dy  # noqa: E402
from exchange import PlainTree  # noqa: E402
from protocol import serve  # noqa: E402


class DynetTreeLSTM:
    """The n-ary cell, binary. DyNet clears gradients in updates only, so here they add up, and clearing is free."""

    def __init__(self, trees: list[PlainTree], weights: dict[str, Any], options: argparse.Namespace) -> None:
        if options.cell != "n-ary":
            raise SystemExit("this worker has the n-ary cell only")
        self.trees = trees
        self.hidden = len(weights["bias"]) // 5
        self.collection = dy.ParameterCollection()
        self.embedding = self.collection.lookup_parameters_from_numpy(weights["embedding"])
        self.parameters = {
            name: self.collection.parameters_from_numpy(array)
            for name, array in weights.items()
            if name != "embedding"
        }
        self.num_steps = 0

    def step(self, batch: list[int]) -> float:
        dy.renew_cg()
        self.num_steps += 1
        losses: list[Any] = []
        # Leaves have no forget gates: theirs are the other rows of the one bias.
        leaf_bias = dy.pickrange(self.parameters["bias"], 2 * self.hidden, 5 * self.hidden)
        for number in batch:
            self._add_tree(self.trees[number], leaf_bias, losses)
        loss = dy.esum(losses)
        value: float = loss.value()
        loss.backward()
        return value

    def _add_tree(self, tree: PlainTree, leaf_bias: Any, losses: list[Any]) -> None:
        H, p = self.hidden, self.parameters
        h: list[Any] = [None] * len(tree.words)
        c: list[Any] = [None] * len(tree.words)
        # Pre-order backwards: children come before their parents.
        for node in range(len(tree.words) - 1, -1, -1):
            if not tree.children[node]:
                gates = dy.affine_transform([leaf_bias, p["x"], self.embedding[tree.words[node]]])
                i, g, o = (dy.pickrange(gates, k * H, (k + 1) * H) for k in range(3))
                cell = dy.cmult(dy.logistic(i), dy.tanh(g))
            else:
                left, right = tree.children[node]
                both = dy.concatenate([h[left], h[right]])
                gates = dy.affine_transform([p["bias"], p["h"], both])
                f_l, f_r, i, g, o = (dy.pickrange(gates, k * H, (k + 1) * H) for k in range(5))
                cell = (
                    dy.cmult(dy.logistic(i), dy.tanh(g))
                    + dy.cmult(dy.logistic(f_l), c[left])
                    + dy.cmult(dy.logistic(f_r), c[right])
                )
            c[node] = cell
            h[node] = dy.cmult(dy.logistic(o), dy.tanh(cell))
            scores = dy.affine_transform([p["output_bias"], p["output"], h[node]])
            losses.append(dy.pickneglogsoftmax(scores, tree.labels[node]))

    def gradients(self) -> dict[str, Any]:
        if self.num_steps != 1:
            raise SystemExit("DyNet adds gradients up: ask for them after the first step only")
        found = {name: parameter.grad_as_array() for name, parameter in self.parameters.items()}
        return {**found, "embedding": self.embedding.grad_as_array()}


if __name__ == "__main__":
    serve(DynetTreeLSTM, {"dyNET38": version("dyNET38"), "numpy": version("numpy")})
