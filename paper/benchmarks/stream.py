"""Measure speed and memory while labelling a long stream of trees.

    python paper/benchmarks/stream.py --trees 1000000 --output results/stream.json     # SST's trees over and over

Each tree is made anew, as a reader of a file would make it; every phrase is labelled and given its head word.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import root_path  # noqa: F401
from environment import corpus_files, describe_run
from lexitree.corpora.named import load_corpus
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.pipeline.predictor import Predictor
from lexitree.trees.tree import Tree


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--model", default="bicontree")
    parser.add_argument("--hidden", type=int, default=150)
    parser.add_argument("--trees", type=int, default=1_000_000)
    parser.add_argument("--device", default="cpu", help="cpu (one thread) or cuda")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    trees = list(load_corpus(options.corpus).train)
    predictor = build(options, trees)
    rows = list(label(predictor, endless(trees), options.trees))
    if options.output:
        record = {
            **describe_run(corpus_files(options.corpus)),
            "what": f"a stream of trees labelled by {options.model} on {options.device}, one thread",
            "seeds": [1],
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def build(options: argparse.Namespace, trees: list[Tree]) -> Predictor:
    torch.manual_seed(1)
    config = ModelConfig(model=options.model, hidden=options.hidden, labels=tuple("01234"))
    lexicon = WordTable.random(Vocabulary.from_trees(trees), config.word_size)
    return Predictor(TreeClassifier(config, lexicon).to(options.device).eval())


def endless(trees: list[Tree]) -> Iterator[Tree]:
    for tree in itertools.cycle(trees):
        yield Tree(tree.arity.copy(), tree.labels, tree.words)


def label(predictor: Predictor, stream: Iterator[Tree], num_trees: int) -> Iterator[dict[str, Any]]:
    start = time.perf_counter()
    for number, prediction in enumerate(predictor.predict_all(itertools.islice(stream, num_trees)), 1):
        assert len(prediction.labels) == prediction.source.num_nodes
        if number % max(1, num_trees // 10) == 0:
            row = {
                "trees": number,
                "trees_per_second": number / (time.perf_counter() - start),
                "memory_mib": resident_bytes() / 2**20,
                "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
            }
            print("  ".join(f"{name} {value:,.0f}" for name, value in row.items()), flush=True)
            yield row


def resident_bytes() -> int:
    """What the process holds now; the peak alone would hide what comes and goes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
