"""Measure training and labelling of SST on a GPU, by backend and precision; results are checked first.

    python benchmarks/gpu_speed.py --output results/gpu-speed.json     # real SST, through LEXITREE_DATA

An epoch is the whole of it: shuffled batches laid out on the host, copied, forward, backward and update, until the
GPU is done. What is compiled and recorded once for each size of batch is done in an epoch before, which is not
counted. Inference starts from batches on the host and ends with probabilities there.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from environment import corpus_files, describe_run
from lexitree.batch.tree_examples import Example, lay_out_examples, make_examples
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.learning.optimizer import LazyAdam
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import TreeBatch, batch_examples
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.steps import PlainStep, make_step
from lexitree.trees.tree import Tree

PRODUCTS = {"float32": "highest", "tf32": "high"}
"""PyTorch's name for each precision of float32 products."""
LONG_CHAIN = 10_000


def main() -> None:
    options = parse_options()
    corpus = load_corpus(options.corpus)
    record = start_record(options)
    for name in options.sections:
        title, measure = SECTIONS[name]
        print(title)
        record["origins"][name] = {key: record[key] for key in ORIGIN}
        record[name] = []
        for row in measure(corpus, options):
            record[name].append(row)
            show(row)
            if options.output:
                # After each row: a machine that is taken away leaves what it measured.
                options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def start_record(options: argparse.Namespace) -> dict[str, Any]:
    """What is known beforehand; sections that are not measured now stay as they are, with where they come from."""
    before: dict[str, Any] = {}
    if options.output and options.output.exists():
        before = json.loads(options.output.read_text(encoding="utf-8"))
    measured = [name for name in SECTIONS if name in before]
    known = {name: {key: before[key] for key in ORIGIN} for name in measured}
    return {
        **describe_run(corpus_files(options.corpus)),
        "what": "seconds of an epoch and trees a second on a GPU",
        "seeds": [1],
        "model": options.model,
        "origins": {**known, **before.get("origins", {})},
        **{name: before[name] for name in measured},
    }


ORIGIN = ("command", "commit", "date", "machine")
"""What is noted of each section by itself, since sections may be measured one by one."""

RUNS = (
    "fused:float32:25",
    "fused:tf32:25",
    "fused:float32:1",
    "fused:tf32:1",
    "fused:float32:128",
    "fused:tf32:128",
    "levelwise:float32:25",
)


def run_gate(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Nothing is timed unless the kernels are right."""
    for row in (
        *(check(corpus, options.model, precision) for precision in PRODUCTS),
        check_bf16(corpus, options.model),
    ):
        yield row
        if not row["passes"]:
            raise SystemExit("the fused backend is not as exact as the level-wise one; no speed is reported")


def check(corpus: Corpus, name: str, precision: str) -> dict[str, Any]:
    """The worst relative error of scores and gradients, against float64, fused and level-wise alike."""
    model, examples = build(corpus, name, "levelwise", dropout=0.0)
    batch = batch_examples(examples[:25]).to("cuda")
    exact = scores_and_gradients(model.double(), batch)
    model.float()
    errors: dict[str, list[float]] = {}
    torch.set_float32_matmul_precision(PRODUCTS[precision])
    for backend in ("fused", "levelwise"):
        model.backend_name = backend
        found = scores_and_gradients(model, batch)
        errors[backend] = [
            float((a.double() - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True)
        ]
    torch.set_float32_matmul_precision("highest")
    ratio = max(a / max(b, 1e-9) for a, b in zip(errors["fused"], errors["levelwise"], strict=True))
    return {
        "precision": precision,
        **{f"{backend}_error": max(values) for backend, values in errors.items()},
        "worst_ratio": ratio,
        "passes": ratio <= 2.0,
    }


@torch.inference_mode()
def check_bf16(corpus: Corpus, name: str) -> dict[str, Any]:
    """The error of the scores when the whole model is in bfloat16, which is for inference."""
    model, examples = build(corpus, name, "levelwise", dropout=0.0)
    batch = batch_examples(examples[:25]).to("cuda")
    exact = model.double()(batch)
    model.bfloat16()
    errors: dict[str, float] = {}
    for backend in ("fused", "levelwise"):
        model.backend_name = backend
        errors[backend] = float((model(batch).double() - exact).norm() / exact.norm())
    ratio = errors["fused"] / errors["levelwise"]
    return {
        "precision": "bf16",
        **{f"{backend}_error": error for backend, error in errors.items()},
        "worst_ratio": ratio,
        "passes": ratio <= 2.0,
    }


def scores_and_gradients(model: TreeClassifier, batch: TreeBatch) -> list[Tensor]:
    model.zero_grad()
    scores = model(batch)
    (model.loss(batch) / batch.num_trees).backward()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    return [scores.detach(), *(gradient.to_dense().clone() for gradient in gradients)]


def build(
    corpus: Corpus, name: str, backend: str, *, dropout: float = 0.5
) -> tuple[TreeClassifier, list[Example]]:
    vocabulary, examples = prepare(corpus.name)
    torch.manual_seed(1)
    config = ModelConfig(model=name, labels=corpus.label_set.trained_ids, dropout=dropout)
    lexicon = WordTable.random(vocabulary, config.word_size)
    with torch.no_grad():
        # About as large as pretrained vectors.
        lexicon.vectors.mul_(10)
    return TreeClassifier(config, lexicon, backend=backend).cuda(), list(examples)


@functools.cache
def prepare(corpus_name: str) -> tuple[Vocabulary, list[Example]]:
    corpus = load_corpus(corpus_name)
    vocabulary = Vocabulary.from_trees(corpus.train)
    lexicon = WordTable.random(vocabulary, 1)
    return vocabulary, make_examples(
        corpus.train, lexicon, labels=corpus.label_set.trained_ids, direction="right"
    )


def shuffled(examples: list[Example], batch_size: int, seed: int) -> Iterator[list[Example]]:
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    for first in range(0, len(order), batch_size):
        yield [examples[index] for index in order[first : first + batch_size]]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--model", default="bicontree")
    parser.add_argument("--trees", type=int, help="the first so many training trees only, scaled to an epoch")
    parser.add_argument("--runs", nargs="+", default=RUNS, help="backend:precision:batch size")
    parser.add_argument("--inference-sizes", type=int, nargs="+", default=(1, 25, 128, 512))
    parser.add_argument(
        "--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="measure these only"
    )
    parser.add_argument(
        "--output", type=Path, help="write the record to this JSON file, or these sections of it"
    )
    options = parser.parse_args()
    options.runs = [(b, p, int(size)) for b, p, size in (run.split(":") for run in options.runs)]
    return options


def compare_losses(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The mean loss of each tenth of an epoch, the same batches in the same order."""
    for backend, precision in (("fused", "float32"), ("fused", "tf32"), ("levelwise", "float32")):
        torch.set_float32_matmul_precision(PRODUCTS[precision])
        model, examples = build(corpus, options.model, backend, dropout=0.0)
        step = make_step(model, LazyAdam(model, TrainingConfig()))
        curve: list[float] = []
        done = 0
        batches = list(shuffled(examples, 25, seed=1))
        for number, batch in enumerate(batches, 1):
            step(batch)
            done += len(batch)
            if number % (len(batches) // 10) == 0 or number == len(batches):
                curve.append(float(step.losses) / done)
                step.losses.zero_()
                done = 0
        torch.set_float32_matmul_precision("highest")
        yield {"backend": backend, "precision": precision, "losses": [round(loss, 4) for loss in curve]}


def time_training(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for backend, precision, batch_size in options.runs:
        yield time_epoch(corpus, options.model, backend, precision, batch_size, options.trees)


def time_epoch(
    corpus: Corpus, name: str, backend: str, precision: str, batch_size: int, num_trees: int | None
) -> dict[str, Any]:
    torch.set_float32_matmul_precision(PRODUCTS[precision])
    model, examples = build(corpus, name, backend)
    # The level-wise backend is an order slower: a part of the epoch will do.
    examples = examples[: 2000 if backend == "levelwise" else num_trees]
    step = make_step(model.train(), LazyAdam(model, TrainingConfig()))
    seconds: list[float] = []
    epochs = 2 if backend == "levelwise" or batch_size == 1 else 4
    for epoch in range(epochs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for batch in shuffled(examples, batch_size, seed=epoch):
            step(batch)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    torch.set_float32_matmul_precision("highest")
    # A slow backend takes a part of the trees: its times are scaled to all of them.
    part = len(examples) / len(corpus.train)
    return {
        "backend": backend,
        "precision": precision,
        "batch_size": batch_size,
        "epoch_seconds": statistics.median(seconds[1:]) / part,
        "first_epoch_seconds": seconds[0] / part,
        "trees_per_second": len(examples) / statistics.median(seconds[1:]),
    }


def measure_all_memory(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for backend in ("fused", "levelwise"):
        yield measure_memory(corpus, options.model, backend)


def measure_memory(corpus: Corpus, name: str, backend: str) -> dict[str, Any]:
    """The peak of a training step over what the model and its optimizer hold, for large batches and a long chain."""
    model, examples = build(corpus, name, backend)
    step = PlainStep(model.train(), LazyAdam(model, TrainingConfig()))
    chain = model.prepare([left_chain(LONG_CHAIN)], labelled=False)
    found: dict[str, Any] = {"backend": backend}
    for case, batch in (("512 trees", examples[:512]), (f"chain of {LONG_CHAIN:,} words", chain)):
        laid_out = batch_examples(batch).to("cuda")
        laid_out.label_index.clamp_(min=0)
        step.update(laid_out)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        start = time.perf_counter()
        step.update(laid_out)
        torch.cuda.synchronize()
        found[f"{case}: seconds"] = time.perf_counter() - start
        peak = torch.cuda.max_memory_allocated() - held
        found[f"{case}: bytes per node"] = peak / laid_out.num_nodes
    assert bool(step.losses.isfinite())
    return found


def left_chain(num_words: int) -> Tree:
    """((((a b) c) d) ...): as deep as a tree of so many words can be."""
    arity = [2] * (num_words - 1) + [0] * num_words
    return Tree(arity, ["_"] * len(arity), [f"w{word}" for word in range(num_words)])


def time_all_inference(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for backend, precision in (
        ("fused", "float32"),
        ("fused", "tf32"),
        ("fused", "bf16"),
        ("levelwise", "float32"),
    ):
        for batch_size in options.inference_sizes:
            yield time_inference(corpus, options.model, backend, precision, batch_size)


@torch.inference_mode()
def time_inference(
    corpus: Corpus, name: str, backend: str, precision: str, batch_size: int
) -> dict[str, Any]:
    torch.set_float32_matmul_precision(PRODUCTS.get(precision, "highest"))
    model, examples = build(corpus, name, backend)
    model.eval()
    if precision == "bf16":
        model.bfloat16()
    # As the stream of a user is sorted: trees of about one depth together.
    examples.sort(key=lambda example: int(example.binary.tree.heights[0]))
    examples = examples[:: max(1, 128 // batch_size)]
    if backend == "levelwise":
        examples = examples[::4]
    layouts = [lay_out_examples(examples[k : k + batch_size]) for k in range(0, len(examples), batch_size)]
    rates: list[float] = []
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    for _ in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        started = [model.start_batch(layout) for layout in layouts]
        answers = [each.result().probabilities for each in started]
        rates.append(len(examples) / (time.perf_counter() - start))
        assert all(bool(np.isfinite(answer).all()) for answer in answers)
    torch.set_float32_matmul_precision("highest")
    return {
        "backend": backend,
        "precision": precision,
        "batch_size": batch_size,
        "trees_per_second": statistics.median(rates[1:]),
        "peak_bytes_per_node": (torch.cuda.max_memory_allocated() - held)
        / max(len(layout.label_index) for layout in layouts),
    }


SECTIONS: dict[str, tuple[str, Callable[[Corpus, argparse.Namespace], Iterator[dict[str, Any]]]]] = {
    "gate": ("errors against float64 (relative, worst of scores and gradients)", run_gate),
    "loss_curves": ("training loss over an epoch without dropout", compare_losses),
    "training": ("training", time_training),
    "inference": ("inference", time_all_inference),
    "memory": ("memory of a training step", measure_all_memory),
}
"""What is measured, in this order: what is not right need not be timed."""


def show(row: dict[str, Any]) -> None:
    cells = (
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in row.items()
    )
    print("  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
