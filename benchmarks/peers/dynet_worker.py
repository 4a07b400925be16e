"""A tree LSTM in DyNet with automatic batching: written node by node, batched by the library.

Each gate has matrices of its own. The other form, all gates as one product that is cut apart afterwards, was
measured beside it in turns and was not faster at any batch size.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any

import dynet_config

dynet_config.set(mem="2048", autobatch=1, random_seed=1)

import dynet as dy  # noqa: E402
import numpy as np  # noqa: E402
from exchange import PlainTree  # noqa: E402
from protocol import serve  # noqa: E402


class DynetTreeLSTM:
    """The n-ary cell, binary. DyNet clears gradients in updates only, so here they add up, and clearing is free."""

    def __init__(self, trees: list[PlainTree], weights: dict[str, Any], options: argparse.Namespace) -> None:
        if options.cell != "n-ary":
            raise SystemExit("this worker has the n-ary cell only")
        self.trees = trees
        collection = dy.ParameterCollection()
        self.embedding = collection.lookup_parameters_from_numpy(weights["embedding"])
        H = len(weights["bias"]) // 5
        leaf_x, inner_h, bias = (_cut(weights[name], H) for name in ("x", "h", "bias"))
        self.parts = {
            "x": [[collection.parameters_from_numpy(gate)] for gate in leaf_x],
            "h": [
                [
                    collection.parameters_from_numpy(np.ascontiguousarray(side))
                    for side in np.split(gate, 2, 1)
                ]
                for gate in inner_h
            ],
            "bias": [[collection.parameters_from_numpy(gate)] for gate in bias],
            "output": [[collection.parameters_from_numpy(weights["output"])]],
            "output_bias": [[collection.parameters_from_numpy(weights["output_bias"])]],
        }
        (self.bias,) = zip(*self.parts["bias"], strict=True)
        self.collection = collection
        self.num_steps = 0

    def step(self, batch: list[int]) -> float:
        dy.renew_cg()
        self.num_steps += 1
        losses: list[Any] = []
        for number in batch:
            self._add_tree(self.trees[number], losses)
        loss = dy.esum(losses)
        value: float = loss.value()
        loss.backward()
        return value

    def _add_tree(self, tree: PlainTree, losses: list[Any]) -> None:
        b_fl, b_fr, b_i, b_g, b_o = self.bias
        (W_i,), (W_g,), (W_o,) = self.parts["x"]
        (fl_l, fl_r), (fr_l, fr_r), (i_l, i_r), (g_l, g_r), (o_l, o_r) = self.parts["h"]
        ((output,),), ((output_bias,),) = self.parts["output"], self.parts["output_bias"]
        h: list[Any] = [None] * len(tree.words)
        c: list[Any] = [None] * len(tree.words)
        # Pre-order backwards: children come before their parents.
        for node in range(len(tree.words) - 1, -1, -1):
            if not tree.children[node]:
                x = self.embedding[tree.words[node]]
                i = dy.logistic(dy.affine_transform([b_i, W_i, x]))
                g = dy.tanh(dy.affine_transform([b_g, W_g, x]))
                o = dy.logistic(dy.affine_transform([b_o, W_o, x]))
                cell = dy.cmult(i, g)
            else:
                left, right = tree.children[node]
                h_l, h_r = h[left], h[right]
                f_l = dy.logistic(dy.affine_transform([b_fl, fl_l, h_l, fl_r, h_r]))
                f_r = dy.logistic(dy.affine_transform([b_fr, fr_l, h_l, fr_r, h_r]))
                i = dy.logistic(dy.affine_transform([b_i, i_l, h_l, i_r, h_r]))
                g = dy.tanh(dy.affine_transform([b_g, g_l, h_l, g_r, h_r]))
                o = dy.logistic(dy.affine_transform([b_o, o_l, h_l, o_r, h_r]))
                cell = dy.cmult(i, g) + dy.cmult(f_l, c[left]) + dy.cmult(f_r, c[right])
            c[node] = cell
            h[node] = dy.cmult(o, dy.tanh(cell))
            scores = dy.affine_transform([output_bias, output, h[node]])
            losses.append(dy.pickneglogsoftmax(scores, tree.labels[node]))

    def gradients(self) -> dict[str, Any]:
        if self.num_steps != 1:
            raise SystemExit("DyNet adds gradients up: ask for them after the first step only")
        found = {
            name: np.concatenate(
                [np.concatenate([part.grad_as_array() for part in gate], -1) for gate in gates]
            )
            for name, gates in self.parts.items()
        }
        return {**found, "embedding": self.embedding.grad_as_array()}


def _cut(array: Any, hidden: int) -> list[Any]:
    """The rows of each gate."""
    return np.split(array, len(array) // hidden)


if __name__ == "__main__":
    serve(DynetTreeLSTM, {"dyNET38": version("dyNET38"), "numpy": version("numpy")})
