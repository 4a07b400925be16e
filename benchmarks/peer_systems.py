"""Tree LSTMs of several libraries behind one loop: requests on standard input, seconds on standard output.

    python peer_systems.py SYSTEM TREES.jsonl WEIGHTS.npz --cell n-ary --threads 1

Each system runs in an environment that has its library. It says {"versions": ...} once it is ready. Each request is
one line of JSON, and so is each answer:

    {"batches": [[0, 1], [2, 3]]}                     -> {"seconds": 0.012, "loss": 345.6}
    {"batches": [[0, 1]], "gradients": "file.npz"}    -> the same, and the gradients are in the file

What is timed is the same for all systems: it starts with trees that were prepared one by one and ends with the
gradients of all weights, so it holds the batching of the trees or the building of a graph, the look-up of words,
the cell, the loss (cross-entropy summed over every node) and the backward pass. There is no update.

A tree is one line of JSON, its nodes in pre-order:

    {"children": [[1, 2], [], []], "words": [-1, 17, 4], "labels": [3, 2, 2]}

Weights, and the gradients that come back, are one array a name in an .npz file:

    n-ary      embedding [words + 1, D], x [3H, D] (i g o), h [5H, 2H] and bias [5H] (f_L f_R i g o)
    child-sum  embedding [words + 1, D], x [4H, D], h [4H, H] and bias [4H] (f i g o)
    both       output [5, H], output_bias [5]

The last row of the embedding stands for every phrase: the input of inner nodes in the child-sum cell. The n-ary
cell, whose words are at the leaves only, never reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

if sys.argv[1:2] == ["dynet"]:
    import dynet_config

    dynet_config.set(mem="2048", autobatch=1, random_seed=1)

    import dynet as dy
else:
    import torch
    from torch import Tensor
    from torch.nn.functional import cross_entropy, embedding, linear

if sys.argv[1:2] == ["lexitree"]:
    from lexitree.ops.operations import BOTTOM_UP, CHILD_SUM
    from lexitree.ops.registry import get_backend
    from lexitree.ops.tree_batch import TreeBatch
    from lexitree.ops.weights import BottomUpWeights, ChildSumWeights
    from lexitree.trees.tree import Tree
    from lexitree.version import __version__
elif sys.argv[1:2] == ["dgl"]:
    os.environ.setdefault("DGLBACKEND", "pytorch")

    import dgl
elif sys.argv[1:2] == ["pytorch-tree-lstm"]:
    from treelstm import TreeLSTM, batch_tree_input, calculate_evaluation_orders


NO_WORD = -1
CELLS = ("n-ary", "child-sum")


class PlainTree(NamedTuple):
    """A tree without any library; every list has one entry a node, in pre-order."""

    children: list[list[int]]
    words: list[int]
    labels: list[int]


def write_trees(path: Path, trees: list[PlainTree]) -> None:
    lines = (json.dumps(tree._asdict()) + "\n" for tree in trees)
    path.write_text("".join(lines), encoding="utf-8")


def read_trees(path: Path) -> list[PlainTree]:
    return [PlainTree(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def make_weights(
    cell: str, words: int, word_size: int, hidden: int, classes: int, seed: int
) -> dict[str, Any]:
    """Weights of a usual size: uniform to 1/sqrt(fan-in), biases too, so that no gate starts at zero."""
    random = np.random.default_rng(seed)
    x_gates, gates, sides = (3, 5, 2) if cell == "n-ary" else (4, 4, 1)
    shapes = {
        "embedding": (words + 1, word_size),
        "x": (x_gates * hidden, word_size),
        "h": (gates * hidden, sides * hidden),
        "bias": (gates * hidden,),
        "output": (classes, hidden),
        "output_bias": (classes,),
    }
    return {
        name: random.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))
        for name, shape in shapes.items()
    }


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    np.savez(path, **arrays)


def read_arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


class System(Protocol):
    """A tree LSTM that is measured."""

    def __init__(
        self, trees: list[PlainTree], weights: dict[str, Any], options: argparse.Namespace
    ) -> None: ...

    def step(self, batch: list[int]) -> float:
        """The loss of the trees with these numbers; leaves fresh gradients behind."""
        ...

    def gradients(self) -> dict[str, Any]:
        """The gradients of the last step, by the names of the exchange."""
        ...


class LexitreeTreeLSTM:
    """This package, by the backend that is asked for: the n-ary cell, binary, and the child-sum cell."""

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


class DynetTreeLSTM:
    """DyNet with automatic batching: written node by node, batched by the library; the n-ary cell, binary.

    Each gate has matrices of its own. The other form, all gates as one product that is cut apart afterwards, was
    measured beside it in turns and was not faster at any batch size. DyNet clears gradients in updates only,
    so here they add up, and clearing is free.
    """

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


class DglTreeLSTM:
    """DGL: one graph per tree, message passing in topological order over the batched graph; the n-ary cell, binary.

    The design is that of the library's tree_lstm example: the words' part of the gates is computed for all nodes at
    once and masked to the leaves, children's h and c are messages, and the mailbox of a node is its two children.
    Weights are stacked as the example has them: the gates f apart from i, o, g.
    """

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


class PackagedTreeLSTM:
    """pytorch-tree-lstm as documented, with the child-sum cell.

    Orders are computed once per tree, trees joined into one input. Words are joined as numbers,
    so that one look-up serves the batch.
    """

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


SYSTEMS: dict[str, tuple[type[System], tuple[str, ...]]] = {
    "lexitree": (LexitreeTreeLSTM, ("torch",)),
    "dynet": (DynetTreeLSTM, ("dyNET38", "numpy")),
    "dgl": (DglTreeLSTM, ("dgl", "torch")),
    "pytorch-tree-lstm": (PackagedTreeLSTM, ("pytorch-tree-lstm", "torch")),
}
"""Each system with the packages whose versions it tells."""


def main() -> None:
    """Answer requests until the input ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("trees", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--cell", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto", help="this package's implementation")
    # A library that prints would break the conversation: what it writes goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    options = parser.parse_args()
    make_system, packages = SYSTEMS[options.system]
    system = make_system(read_trees(options.trees), read_arrays(options.weights), options)
    versions = {package: version(package) for package in packages}
    if options.system == "lexitree":
        versions["lexitree"] = __version__
    _answer(answers, {"versions": versions})
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        loss = sum([system.step(batch) for batch in request["batches"]])
        seconds = time.perf_counter() - start
        if "gradients" in request:
            write_arrays(Path(request["gradients"]), system.gradients())
        _answer(answers, {"seconds": seconds, "loss": loss})


def _answer(stream: Any, answer: dict[str, Any]) -> None:
    print(json.dumps(answer), file=stream, flush=True)


if __name__ == "__main__":
    main()
