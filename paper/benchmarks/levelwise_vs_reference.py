"""Compare the speed of level-wise and reference training; results are checked first.

    python paper/benchmarks/levelwise_vs_reference.py                # real SST trees, through LEXITREE_DATA
    python paper/benchmarks/levelwise_vs_reference.py --corpus mini-reviews

Both backends run the same training step (forward, backward, update) on the same batches in the same process, in
turns, on one thread. The gate compares scores and every gradient in float64 before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch

import root_path  # noqa: F401
from cpu_floor import GATE_TOLERANCE, run_gate
from environment import corpus_files, describe_run
from lexitree.batch.tree_examples import Example, make_examples
from lexitree.corpora.named import load_corpus
from lexitree.learning.optimizer import LazyAdam
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import batch_examples
from lexitree.tasks.classify.recipe import TrainingConfig

MODELS = ("contree", "contree-nary", "contree-le", "topdown", "contree-lex", "bicontree")
"""The tree LSTMs."""


def main() -> None:
    options = parse_options()
    torch.set_num_threads(1)
    corpus = load_corpus(options.corpus)
    trees = list(corpus.train[: options.batch_size * options.batches])
    rows = [measure(name, trees, corpus.label_set.trained_ids, options) for name in options.models]
    print(
        f"{'model':<14}{'reference':>12}{'levelwise':>12}{'ratio':>9}   (ms a batch of {options.batch_size})"
    )
    for row in rows:
        print(
            f"{row['model']:<14}{row['reference_ms']:>12.1f}{row['levelwise_ms']:>12.1f}{row['ratio']:>8.1f}x"
            f"   gate: {row['gate_error']:.1e}"
        )
    if options.output:
        record = {
            **describe_run(corpus_files(options.corpus)),
            "what": "milliseconds of a training step, reference against level-wise, one thread",
            "seeds": [options.seed],
            "batch_size": options.batch_size,
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--batch-size", type=int, default=25)
    parser.add_argument("--batches", type=int, default=6, help="how many batches are timed")
    parser.add_argument("--hidden", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def measure(
    name: str, trees: list[Any], labels: tuple[str, ...], options: argparse.Namespace
) -> dict[str, Any]:
    torch.manual_seed(options.seed)
    config = ModelConfig(model=name, labels=labels, hidden=options.hidden)
    lexicon = WordTable.random(Vocabulary.from_trees(trees), config.word_size)
    model = TreeClassifier(config, lexicon)
    examples = make_examples(trees, lexicon, labels=labels, direction=config.binarization)
    groups = [examples[k : k + options.batch_size] for k in range(0, len(examples), options.batch_size)]
    error = run_gate(model, groups[0][:5])
    if error > GATE_TOLERANCE:
        raise SystemExit(f"{name}: the backends differ by {error:.2e}; no speed is reported")
    times = time_in_turns(model, groups)
    reference, levelwise = (statistics.median(times[backend]) for backend in ("reference", "levelwise"))
    return {
        "model": name,
        "gate_error": error,
        "reference_ms": 1000 * reference,
        "levelwise_ms": 1000 * levelwise,
        "ratio": reference / levelwise,
    }


def time_in_turns(model: TreeClassifier, groups: list[list[Example]]) -> dict[str, list[float]]:
    """Seconds of each step, the backends taking turns so that a busy machine slows both."""
    optimizer = LazyAdam(model, TrainingConfig())
    times: dict[str, list[float]] = {"reference": [], "levelwise": []}
    for warm_up, group in [(True, groups[0]), *((False, group) for group in groups)]:
        for backend, measured in times.items():
            model.backend_name = backend
            start = time.perf_counter()
            optimizer.zero_grad()
            batch = batch_examples(group)
            (model.loss(batch) / len(group)).backward()
            optimizer.step(batch)
            if not warm_up:
                measured.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
