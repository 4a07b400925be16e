"""Measure training and labelling with a transformer under the trees.

    python paper/benchmarks/transformer_speed.py --output results/transformer-speed.json

Training is the whole of it: batches of 25 laid out on the host, copied, forward, backward and update, with the
transformer, its mixed layers and the tree all trained. What is compiled for each size of batch is done in an epoch
before, which is not counted. Labelling starts from trees with their words and ends with the labels, probabilities and
head words of all phrases on the host; cutting words into pieces is part of it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import root_path  # noqa: F401
from environment import corpus_files, describe_run
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import run_examples
from lexitree.ops.devices import products_in
from lexitree.tasks.classify.building import build_model
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.classify.steps import make_step

CORPUS = "sst-fine"
BATCH = 25


def main() -> None:
    options = parse_options()
    corpus = load_corpus(CORPUS)
    record: dict[str, Any] = {
        **describe_run(corpus_files(CORPUS)),
        "what": "SST with a transformer under the tree: seconds of an epoch, sentences labelled in a second",
        "seeds": [1],
        "rows": [],
    }
    for row in measure(corpus, options):
        record["rows"].append(row)
        print(row, flush=True)
        if options.output:
            options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--models", nargs="*", default=["bicontree", "contree-lex", "contree", "pooled"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--trees", type=int, default=10**6, help="at most so many of the training split")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def measure(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for name in options.models:
        torch.manual_seed(1)
        recipe = Recipe(
            corpus=CORPUS,
            encoder={"name": options.encoder, "layers": "mix"},
            model={"model": name},
            training=TrainingConfig(schedule="linear", warm_up=0.1, clip=5.0, averaging=0.999),
        )
        with products_in("tf32"):
            model = build_model(recipe, corpus).to(options.device)
            yield {
                "model": name,
                **time_training(model, recipe, corpus, options),
                **time_labelling(model, corpus),
            }


def time_training(
    model: TreeClassifier, recipe: Recipe, corpus: Corpus, options: argparse.Namespace
) -> dict[str, float]:
    examples = model.prepare(corpus.train[: options.trees], training=True)
    step = make_step(model, LazyAdam(model, recipe.training), root_weight=recipe.training.root_weight)
    model.train()
    seconds = 0.0
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(examples)).tolist()
        start = time.perf_counter()
        for first in range(0, len(order), BATCH):
            step([examples[place] for place in order[first : first + BATCH]])
        step.losses.item()
        seconds = time.perf_counter() - start
    return {"epoch_seconds": seconds, "trees_per_second": len(examples) / seconds}


def time_labelling(model: TreeClassifier, corpus: Corpus) -> dict[str, float]:
    trees = corpus.splits["test"]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        examples = model.prepare(trees, labelled=False)
        num_done = sum(1 for _ in run_examples(model, examples, nodes="all", heads=True))
        best = min(best, time.perf_counter() - start)
        assert num_done == len(trees)
    return {"labelled_per_second": len(trees) / best}


if __name__ == "__main__":
    main()
