"""Exchange trees and weights with other environments as files; needs only numpy.

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

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
