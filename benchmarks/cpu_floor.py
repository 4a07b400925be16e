"""Measure how close training on a CPU comes to its bare matrix products; results are checked first.

    python benchmarks/cpu_floor.py                # real SST trees, through LEXITREE_DATA; a few minutes
    python benchmarks/cpu_floor.py --corpus mini-reviews --models bicontree --batch-sizes 25

The floor of a step is its matrix products alone, run back to back on one thread in the very shapes of the step:
the projections of all nodes, the products with states level by level and their gradients, the gradients of the
weights, the classifier. A step is all of training: batching, forward, backward, update. Floor, step, the step of the
level-wise backend and inference take turns on the same batches in the same process; each batch counts with the
least of its times, so that a busy machine matters less. Last, two processes that train side by side are compared
with one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from environment import corpus_files, describe_run
from lexitree.batch.tree_examples import Example, make_examples
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.learning.optimizer import LazyAdam
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.ops.registry import describe_report
from lexitree.ops.threads import use_cores
from lexitree.ops.tree_batch import TreeBatch, batch_examples
from lexitree.tasks.classify.recipe import TrainingConfig

GATE_TOLERANCE = 1e-10
MODELS = ("bicontree", "contree-lex", "contree", "contree-nary")
TREES_TIMED = {1: 40, 25: 200, 128: 384}
"""How many trees are timed at each batch size; other sizes take eight batches."""


class Product(NamedTuple):
    """One matrix product; the first factor of a weight's gradient is read transposed."""

    rows: int
    inner: int
    columns: int
    is_weight_gradient: bool = False


def main() -> None:
    options = parse_options()
    torch.set_num_threads(1)
    corpus = load_corpus(options.corpus)
    rows = [row for name in options.models for row in measure_model(name, corpus, options)]
    print(
        f"{'model':<14}{'batch':>6}{'floor':>9}{'step':>9}{'share':>8}{'inference':>11}{'rate':>8}"
        f"{'2 threads':>11}{'gain':>7}{'level-wise':>12}{'gain':>7}   (ms)"
    )
    for row in rows:
        print(
            f"{row['model']:<14}{row['batch_size']:>6}{row['floor_ms']:>9.2f}{row['step_ms']:>9.2f}"
            f"{row['share_of_floor']:>7.0%} {row['inference_ms']:>11.2f}{row['inference_over_training']:>7.1f}x"
            f"{row['two_threads_ms']:>11.2f}{row['two_threads_gain']:>6.2f}x"
            f"{row['levelwise_ms']:>12.2f}{row['levelwise_over_step']:>6.2f}x"
        )
    processes = compare_processes(options)
    print(
        f"two processes train {processes['ratio']:.2f} times as many trees a second as one"
        f" ({processes['two']:.0f} against {processes['one']:.0f}, {processes['model']})"
    )
    if options.output:
        record = {
            **describe_run(corpus_files(options.corpus)),
            "what": "milliseconds of a training step, and of its matrix products alone, one thread",
            "seeds": [options.seed],
            "rows": rows,
            "processes": processes,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=list(TREES_TIMED))
    parser.add_argument("--hidden", type=int, default=150)
    parser.add_argument("--repeats", type=int, default=5, help="how often each batch is timed")
    parser.add_argument("--seconds", type=float, default=10, help="how long each process trains")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def measure_model(name: str, corpus: Corpus, options: argparse.Namespace) -> list[dict[str, Any]]:
    model, examples = build(name, corpus, options.hidden, options.seed)
    error = run_gate(model, examples[:5], "auto")
    if error > GATE_TOLERANCE:
        raise SystemExit(f"{name}: the backends differ by {error:.2e}; no speed is reported")
    return [
        {
            "model": name,
            "runs": describe_report(model.what_runs),
            "gate_error": error,
            **measure(model, examples, size, options.repeats),
        }
        for size in options.batch_sizes
    ]


def run_gate(model: TreeClassifier, examples: list[Example], backend: str = "levelwise") -> float:
    """The largest difference of a backend from the reference in scores and gradients, in float64 without dropout."""
    model = model.double().eval()
    batch = batch_examples(examples)
    results: list[list[torch.Tensor]] = []
    for name in ("reference", backend):
        model.backend_name = name
        model.zero_grad()
        scores = model(batch)
        model.loss(batch).backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        results.append([scores.detach(), *(gradient.to_dense().clone() for gradient in gradients)])
    model.float().train()
    return max((a - b).abs().max().item() for a, b in zip(*results, strict=True))


def build(name: str, corpus: Corpus, hidden: int, seed: int) -> tuple[TreeClassifier, list[Example]]:
    """A model with random weights, and the training trees in shuffled order as it reads them."""
    torch.manual_seed(seed)
    config = ModelConfig(model=name, labels=corpus.label_set.trained_ids, hidden=hidden)
    lexicon = WordTable.random(Vocabulary.from_trees(corpus.train), config.word_size)
    trees = [corpus.train[k] for k in torch.randperm(len(corpus.train))[: max(TREES_TIMED.values())]]
    examples = make_examples(trees, lexicon, labels=config.labels, direction=config.binarization)
    return TreeClassifier(config, lexicon), examples


def measure(model: TreeClassifier, examples: list[Example], size: int, repeats: int) -> dict[str, Any]:
    """Milliseconds of floor, step and inference for batches of a size, in turns."""
    examples = examples[: TREES_TIMED.get(size, 8 * size)]
    groups = [examples[k : k + size] for k in range(0, len(examples) - size + 1, size)]
    optimizer = LazyAdam(model, TrainingConfig())
    times: dict[str, list[float]] = {
        "floor": [],
        "step": [],
        "levelwise": [],
        "two_threads": [],
        "inference": [],
    }
    for group in groups:
        products = allocate(step_products(model, batch_examples(group)))
        turns: dict[str, Callable[[], None]] = {
            "floor": lambda products=products: multiply(products),
            "step": lambda group=group: train_step(model, optimizer, group),
            "levelwise": lambda group=group: train_levelwise(model, optimizer, group),
            "two_threads": lambda group=group: train_on_two_threads(model, optimizer, group),
            "inference": lambda group=group: score(model, group),
        }
        laps: dict[str, list[float]] = {turn: [] for turn in turns}
        for _ in range(repeats + 1):
            for turn, work in turns.items():
                start = time.perf_counter()
                work()
                laps[turn].append(time.perf_counter() - start)
        for turn, measured in laps.items():
            times[turn].append(1000 * min(measured[1:]))
    floor, step, levelwise, two_threads, inference = (
        statistics.mean(measured) for measured in times.values()
    )
    return {
        "batch_size": size,
        "floor_ms": floor,
        "step_ms": step,
        "share_of_floor": floor / step,
        "inference_ms": inference,
        "inference_over_training": step / inference,
        "two_threads_ms": two_threads,
        "two_threads_gain": step / two_threads,
        "levelwise_ms": levelwise,
        "levelwise_over_step": levelwise / step,
    }


def train_step(model: TreeClassifier, optimizer: LazyAdam, group: list[Example]) -> None:
    model.train()
    optimizer.zero_grad()
    batch = batch_examples(group)
    (model.loss(batch) / len(group)).backward()
    optimizer.step(batch)


def train_levelwise(model: TreeClassifier, optimizer: LazyAdam, group: list[Example]) -> None:
    before, model.backend_name = model.backend_name, "levelwise"
    train_step(model, optimizer, group)
    model.backend_name = before


def train_on_two_threads(model: TreeClassifier, optimizer: LazyAdam, group: list[Example]) -> None:
    with use_cores(2):
        train_step(model, optimizer, group)


@torch.inference_mode()
def score(model: TreeClassifier, group: list[Example]) -> None:
    model.eval()
    model(batch_examples(group))


def step_products(model: TreeClassifier, batch: TreeBatch) -> list[Product]:
    """The matrix products of a training step, in the shapes in which the level-wise backend makes them."""
    config, name = model.config, model.config.model
    word, hidden = config.word_size, config.hidden
    leaves, nodes = batch.num_leaves, batch.num_nodes
    has_heads = model.encoder.heads is not None
    products = layer(nodes, model.encoder.num_features, config.output)
    products += layer(nodes, config.output, len(config.label_set.trained_ids)) + layer(
        leaves, word, 3 * hidden
    )
    heights = batch.level_sizes[1:]
    products += recurrence(heights, 2 * hidden, 5 * hidden)
    if name != "contree-nary":
        products += recurrence(heights, 2 * hidden, 3 * hidden) + recurrence(heights, hidden, hidden)
    if has_heads:
        products += recurrence(heights, 2 * word, word) + layer(nodes - leaves, word, 4 * hidden)
    if name == "bicontree":
        parents = tuple(size // 2 for size in batch.depth_sizes[1:])
        products += layer(nodes, word, 2 * hidden) * 2
        products += recurrence(parents, 2 * hidden, 4 * hidden) + recurrence(parents, hidden, 4 * hidden)
        products += recurrence(parents, hidden, hidden) * 2
    return products


def layer(rows: int, inner: int, columns: int) -> list[Product]:
    """Forward, the gradient of the input, the gradient of the weight."""
    return recurrence((rows,), inner, columns)


def recurrence(widths: tuple[int, ...], inner: int, columns: int) -> list[Product]:
    """The same for each level, but for the weight's gradient, which is one product over all levels."""
    by_level = [
        product
        for width in widths
        for product in (Product(width, inner, columns), Product(width, columns, inner))
    ]
    return [*by_level, Product(columns, sum(widths), inner, is_weight_gradient=True)]


def allocate(products: list[Product]) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Factors and results in memory; a weight is the same for all levels."""
    weights: dict[tuple[int, int], torch.Tensor] = {}
    factors: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for rows, inner, columns, is_weight_gradient in products:
        first = torch.randn(inner, rows).t() if is_weight_gradient else torch.randn(rows, inner)
        second = torch.randn(inner, columns) if is_weight_gradient else weights.get((inner, columns))
        if second is None:
            second = weights[inner, columns] = torch.randn(inner, columns)
        factors.append((first, second, torch.empty(rows, columns)))
    return factors


def multiply(products: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> None:
    for first, second, result in products:
        torch.mm(first, second, out=result)


def compare_processes(options: argparse.Namespace) -> dict[str, Any]:
    """Trees a second of one process and of two side by side, each with its own seed."""
    name = options.models[0]
    one, two = (run_processes(name, count, options) for count in (1, 2))
    return {"model": name, "one": one, "two": two, "ratio": two / one}


def run_processes(name: str, count: int, options: argparse.Namespace) -> float:
    context = multiprocessing.get_context("spawn")
    # All are ready before any starts the clock.
    barrier, rates = context.Barrier(count), context.SimpleQueue()
    processes = [
        context.Process(target=train_alone, args=(name, seed, options, barrier, rates))
        for seed in range(1, count + 1)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a process of {count} ended with status {process.exitcode}")
    return sum(rates.get() for _ in processes)


def train_alone(name: str, seed: int, options: argparse.Namespace, barrier: Any, rates: Any) -> None:
    """Train for a while; report trees a second."""
    torch.set_num_threads(1)
    model, examples = build(name, load_corpus(options.corpus), options.hidden, seed)
    optimizer = LazyAdam(model, TrainingConfig())
    groups = [examples[k : k + 25] for k in range(0, len(examples) - 24, 25)]
    train_step(model, optimizer, groups[0])
    barrier.wait()
    start, num_trees = time.perf_counter(), 0
    while time.perf_counter() - start < options.seconds:
        train_step(model, optimizer, groups[num_trees // 25 % len(groups)])
        num_trees += 25
    rates.put(num_trees / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
