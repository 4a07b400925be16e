"""Measure how time and memory of training grow with the size of trees.

    python paper/benchmarks/scaling.py
    python paper/benchmarks/scaling.py --device cuda --backend levelwise --output scaling.json

Three sweeps, each over balanced trees and over chains (every phrase is one word and the rest): words a tree, state
size, trees a batch. A step is forward and backward of the model with a label on every node; the batching of the
trees is timed apart. Every case runs in a process of its own, so that no case finds memory that another has left.
Memory is the highest point of the steps above what the process held before them: resident memory on a CPU
(Linux only), allocated memory on a GPU. It holds the gradients of the weights, which do not grow with the trees and
are most of it where there are few nodes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import root_path  # noqa: F401
from environment import describe_run
from lexitree.batch.tree_examples import Example
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import batch_examples
from lexitree.trees.tree import Tree

LABELS = tuple("01234")
VOCABULARY = [f"word{number}" for number in range(1000)]
SHAPES = ("balanced", "chain")


@dataclass(frozen=True)
class Case:
    """One setting of a sweep."""

    sweep: str
    shape: str
    words: int = 20
    hidden: int = 150
    batch_size: int = 25


def main() -> None:
    options = parse_options()
    print(
        f"{'sweep':<8}{'shape':<10}{'words':>7}{'hidden':>8}{'batch':>7}{'nodes':>9}"
        f"{'step ms':>11}{'batching ms':>13}{'us/node':>9}{'KiB/node':>10}"
    )
    rows: list[dict[str, Any]] = []
    for case in make_cases(options):
        rows.append(measure_apart(case, options))
        print(format_row(rows[-1]), flush=True)
    if options.output:
        record = {
            **describe_run({"trees": None}),
            "what": "forward and backward by size of the trees, of the states and of the batch",
            "seeds": [options.seed],
            "model": options.model,
            "backend": options.backend,
            "device": options.device,
            "threads": options.threads,
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="bicontree")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--words", nargs="*", type=int, default=[10, 100, 1000, 10_000], help="batch of 1")
    parser.add_argument("--hidden", nargs="*", type=int, default=[75, 150, 300, 600])
    parser.add_argument("--batch-sizes", nargs="*", type=int, default=[1, 8, 64, 512])
    parser.add_argument("--repeats", type=int, default=5, help="steps, of which the median is reported")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def make_cases(options: argparse.Namespace) -> list[Case]:
    by_shape = [
        [
            *(Case("words", shape, words=words, batch_size=1) for words in options.words),
            *(Case("hidden", shape, hidden=hidden) for hidden in options.hidden),
            *(Case("batch", shape, batch_size=batch_size) for batch_size in options.batch_sizes),
        ]
        for shape in SHAPES
    ]
    order = ("words", "hidden", "batch")
    return sorted((case for cases in by_shape for case in cases), key=lambda case: order.index(case.sweep))


def measure_apart(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Measure a case in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (case, options))


def measure(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    model, examples = make_model(case, options)
    # The libraries start up on a tree of two words, which is too small to move the peak.
    run_step(model, model.prepare([make_tree("balanced", 2, random.Random(0))]))
    before = start_memory(model.device)
    steps = [run_step(model, examples) for _ in range(options.repeats)]
    used = peak_memory(model.device, before)
    num_nodes = sum(example.num_nodes for example in examples)
    batching, step = (statistics.median(times) for times in zip(*steps, strict=True))
    return {
        **dataclasses.asdict(case),
        "nodes": num_nodes,
        "step_ms": 1000 * step,
        "batching_ms": 1000 * batching,
        "us_per_node": 1e6 * (step + batching) / num_nodes,
        "peak_bytes_per_node": None if used is None else used / num_nodes,
    }


def make_model(case: Case, options: argparse.Namespace) -> tuple[TreeClassifier, list[Example]]:
    source = random.Random(options.seed)
    trees = [make_tree(case.shape, case.words, source) for _ in range(case.batch_size)]
    config = ModelConfig(model=options.model, labels=LABELS, hidden=case.hidden)
    lexicon = WordTable.random(Vocabulary(VOCABULARY), config.word_size)
    model = TreeClassifier(config, lexicon, backend=options.backend).to(options.device)
    examples = model.prepare(trees)
    return model, examples


def make_tree(shape: str, words: int, source: random.Random) -> Tree:
    """A tree over random words, with random labels; in a chain every left child is a word."""
    arity: list[int] = []
    open_sizes = [words]
    while open_sizes:
        size = open_sizes.pop()
        arity.append(2 if size > 1 else 0)
        if size > 1:
            left = 1 if shape == "chain" else size // 2
            open_sizes += [size - left, left]
    labels = source.choices(LABELS, k=len(arity))
    return Tree(arity, labels, source.choices(VOCABULARY, k=words))


def run_step(model: TreeClassifier, examples: list[Example]) -> tuple[float, float]:
    """Seconds of the batching and of forward and backward."""
    model.zero_grad(set_to_none=True)
    start = now(model.device)
    batch = batch_examples(examples).to(model.device)
    batched = now(model.device)
    model.loss(batch).backward()
    return batched - start, now(model.device) - batched


def now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def start_memory(device: torch.device) -> int | None:
    """Forget the highest point so far; the bytes in use now, or None where that is not known."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _resident("VmRSS")
    except OSError:
        return None


def peak_memory(device: torch.device, before: int | None) -> int | None:
    if before is None:
        return None
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else _resident("VmHWM")
    return peak - before


def _resident(field: str) -> int:
    """A field of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def format_row(row: dict[str, Any]) -> str:
    memory = row["peak_bytes_per_node"]
    return (
        f"{row['sweep']:<8}{row['shape']:<10}{row['words']:>7}{row['hidden']:>8}{row['batch_size']:>7}"
        f"{row['nodes']:>9}{row['step_ms']:>11.1f}{row['batching_ms']:>13.2f}{row['us_per_node']:>9.1f}"
        + (f"{'unknown':>10}" if memory is None else f"{memory / 1024:>10.1f}")
    )


if __name__ == "__main__":
    main()
