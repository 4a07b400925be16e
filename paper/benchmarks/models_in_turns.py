"""Measure how fast models label the same raw text, in turns on one thread, and how large they are.

    python paper/benchmarks/models_in_turns.py sentiment before=runs/before/sentiment \
        --output results/models-in-turns.json

The sentences are SST's development sentences as plain text. Rounds alternate between the models, so that a busy
minute falls on all of them. What counts is the processor time of the fastest round.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from environment import describe_run
from lexitree import detokenize
from lexitree.corpora.named import load_corpus
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.model_folder import ModelFolder
from polarity_systems import ModelSystem

ROUNDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL", help="shipped models or folders")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    described = describe_run({"sst/dev.txt": Path(os.environ["LEXITREE_DATA"]) / "sst" / "dev.txt"})
    texts = [detokenize(tree.words) for tree in load_corpus("sst-fine").splits["dev"]]
    systems = [ModelSystem(model) for model in options.models]
    # The first round, in which models are loaded and words are new, does not count.
    rounds = [[measure(system.pipe, texts) for system in systems] for _ in range(ROUNDS + 1)][1:]
    seconds = [min(spent) for spent in zip(*rounds, strict=True)]
    rows: list[dict[str, Any]] = [
        {
            "model": system.name,
            "size_mb": ModelFolder.find(system.model).num_bytes / 1e6,
            "sentences": len(texts),
            "rounds": ROUNDS,
            "per_cpu_second": len(texts) / spent,
            "times_the_fastest": spent / min(seconds),
        }
        for system, spent in zip(systems, seconds, strict=True)
    ]
    print(*rows, sep="\n")
    if options.output:
        record = {**described, "what": "models in turns on raw text, one thread", "seeds": [], "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure(pipe: TextPipeline, texts: list[str]) -> float:
    """Processor seconds of all texts, with all phrases."""
    began = time.process_time()
    num_phrases = sum(
        len(sentence.node_probabilities) for document in pipe.stream(texts) for sentence in document.sentences
    )
    assert num_phrases > len(texts)
    return time.process_time() - began


if __name__ == "__main__":
    main()
