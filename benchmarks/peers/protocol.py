"""The loop of every worker: requests on standard input, seconds on standard output.

    python WORKER TREES.jsonl WEIGHTS.npz --cell n-ary --threads 1

The worker says {"versions": ...} once it is ready. Each request is one line of JSON, and so is each answer:

    {"batches": [[0, 1], [2, 3]]}                     -> {"seconds": 0.012, "loss": 345.6}
    {"batches": [[0, 1]], "gradients": "file.npz"}    -> the same, and the gradients are in the file

What is timed is the same for everyone: it starts with trees that were prepared one by one and ends with the
gradients of all weights, so it holds the batching of the trees or the building of a graph, the look-up of words,
the cell, the loss (cross-entropy summed over every node) and the backward pass. There is no update.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from exchange import read_arrays, read_trees, write_arrays


class System(Protocol):
    """A tree LSTM that is measured."""

    def step(self, batch: list[int]) -> float:
        """The loss of the trees with these numbers; leaves fresh gradients behind."""
        ...

    def gradients(self) -> dict[str, Any]:
        """The gradients of the last step, by the names of the exchange."""
        ...


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--cell", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="auto", help="this package's implementation")
    return parser.parse_args()


def serve(make_system: Any, versions: dict[str, str]) -> None:
    """Answer requests until the input ends; `make_system` takes trees, weights and the options."""
    # A library that prints would break the conversation: what it writes goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    options = parse_options()
    system: System = make_system(read_trees(options.trees), read_arrays(options.weights), options)
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
