"""Measure how many candidate lists are reranked and trained on per second, on one thread.

    python paper/benchmarks/reranking_speed.py --output results/reranking-speed.json

Reranking starts from the lines of a file and ends with the chosen trees. Beside it stands the time without sharing:
every candidate computed by itself. The scores of both must agree before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import root_path  # noqa: F401
from environment import describe_run
from lexitree.learning.loop import Trainer
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.tasks.parse.data import find_data_file
from lexitree_paper.rerank.batches import batch_lists
from lexitree_paper.rerank.examples import (
    BinaryList,
    ListExample,
    binarize_list,
    frequent_labels,
    make_list_example,
)
from lexitree_paper.rerank.lists import parse_list
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RERANKERS, RerankerConfig, RerankTraining
from lexitree_paper.rerank.reranker import Reranker
from lexitree_paper.rerank.task import RerankingTask

BATCH = 32
"""Lists a batch where only the model is timed."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--lists", default="kbest/wsj00.jsonl", help="a file, by its path or below the data folder"
    )
    parser.add_argument("--number", type=int, default=512, help="how many of its lists")
    parser.add_argument(
        "--rounds", type=int, default=3, help="of which the fastest counts: the machine is shared"
    )
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = find_data_file(options.lists)
    lines = list(enumerate(path.read_text(encoding="utf-8").splitlines()[: options.number], 1))
    lists = [binarize_list(parse_list(line, number, path.name), "head") for number, line in lines]
    rows = [measure(name, lines, lists, options.rounds) for name in RERANKERS]
    if options.output:
        record = {
            **describe_run({options.lists: path}),
            "what": f"reranking and training on {len(lists)} lists of up to 8 candidates, one thread",
            "seeds": [1],
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(name: str, lines: list[tuple[int, str]], lists: list[BinaryList], rounds: int) -> dict[str, Any]:
    torch.manual_seed(1)
    words = Vocabulary.from_trees(each.source.candidates[0].tree for each in lists)
    config = RerankerConfig(model=name, labels=frequent_labels(lists, 5))
    model = RerankerModel(config, WordTable.random(words, config.word_size))
    examples = [make_list_example(each, model.lexicon, config.labels) for each in lists]
    compare(model, examples[:BATCH])
    reranker = Reranker(model)
    whole = fastest(lambda: sum(1 for _ in reranker.rerank_lines(iter(lines), "lists")), rounds)
    shared, single = (fastest(partial(score, model, examples, shares), rounds) for shares in (True, False))
    task = RerankingTask(model, examples, examples[:1], RerankTraining())
    trainer = Trainer(task)
    training = fastest(lambda: trainer._train_epoch(1), rounds)
    row = {
        "model": name,
        "lists_per_second": len(lists) / whole,
        "ms_model": 1e3 * shared / len(lists),
        "ms_model_without_sharing": 1e3 * single / len(lists),
        "trained_lists_per_second": len(task.train) / training,
    }
    print(
        "  ".join(f"{key} {value:.2f}" if key != "model" else value for key, value in row.items()), flush=True
    )
    return row


def compare(model: RerankerModel, examples: list[ListExample]) -> None:
    """A red gate reports no speed: the reference, tree by tree, must give the same scores."""
    expected = RerankerModel(model.config, model.lexicon, backend="reference")
    expected.load_state_dict(model.state_dict())
    few = examples[:4]
    with torch.inference_mode():
        batches = [batch_lists(few, goes_down=model.goes_down, shares=shares) for shares in (True, False)]
        found = [model.eval()(batch).numpy() for batch in batches]
        right = expected.eval()(batches[1]).numpy()
    for scores in found:
        np.testing.assert_allclose(scores, right, rtol=1e-4)


@torch.inference_mode()
def score(model: RerankerModel, examples: list[ListExample], shares: bool) -> None:
    model.eval()
    for first in range(0, len(examples), BATCH):
        batch = batch_lists(examples[first : first + BATCH], goes_down=model.goes_down, shares=shares)
        model(batch)


def fastest(work: Callable[[], object], rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
