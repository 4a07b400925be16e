"""Measure how long the paper's systems train: they take turns, so that what else the machine does meets all alike.

    python paper/benchmarks/training_time.py --devices cpu cuda --output results/training-time.json

Each turn trains one system on the same sentences of SST (through LEXITREE_DATA) with the recipe of the main table.
The figures are medians over the rounds, with the least and the most, for 30 epochs of the whole training split
without the development scores in between; on a CPU on one thread.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import root_path  # noqa: F401 - finds the programs of the root
from environment import corpus_files, describe_run
from lexitree.corpora.corpus import Corpus
from lexitree.ops.threads import use_cores
from lexitree.tasks.classify.building import build_model, load_recipe_corpus
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.task import ClassifyTask
from lexitree_paper.experiments import find_experiment

EPOCHS = 30


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", help="word vectors (default: random ones)")
    parser.add_argument("--devices", nargs="+", default=["cpu"], help="where to train")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=2_000, help="trained on in a turn")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    rows = [row for device in options.devices for row in measure(device, options)]
    for row in rows:
        print(json.dumps(row))
    if options.output:
        record = {
            **describe_run(corpus_files("sst-fine")),
            "what": f"seconds of {EPOCHS} epochs of SST, five classes, in batches of 25: systems taking turns",
            "seeds": [1],
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure(device: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    planned = {system: tasks["fine"] for system, tasks in find_experiment("training-time").rows.items()}
    recipes = {system: run.read() for system, run in planned.items()}
    corpus = load_recipe_corpus(next(iter(recipes.values())))
    num_trees = len(corpus.train)
    tasks = {
        system: make_task(
            dataclasses.replace(recipe, vectors=options.vectors), corpus, device, options.sentences
        )
        for system, recipe in recipes.items()
    }
    seconds: dict[str, list[float]] = {system: [] for system in tasks}
    with use_cores(1):
        for number in range(options.rounds + 1):
            for system, task in tasks.items():
                taken = train_once(task, number) * EPOCHS * num_trees / len(task.train)
                # The first round compiles, records and warms up.
                if number:
                    seconds[system].append(taken)
    return [
        {
            "system": system,
            "device": device,
            "seconds": statistics.median(all_taken),
            "lowest": min(all_taken),
            "highest": max(all_taken),
            "rounds": len(all_taken),
            "the_paper": planned[system].paper["seconds"],
        }
        for system, all_taken in seconds.items()
    ]


def make_task(recipe: Recipe, corpus: Corpus, device: str, num_sentences: int) -> ClassifyTask:
    torch.manual_seed(recipe.training.seed)
    model = build_model(recipe, corpus).to(device)
    return ClassifyTask(
        model, model.prepare(corpus.train[:num_sentences], training=True), [], recipe.training
    )


def train_once(task: ClassifyTask, seed: int) -> float:
    batches = task.batches(np.random.default_rng(seed)).batches
    start = time.perf_counter()
    for batch in batches:
        task.update(batch)
    # Waits for a GPU, and for nothing on a CPU.
    float(task.losses)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
