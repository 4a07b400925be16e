"""Measure how fast models label the same raw text, in turns on one thread, and how large they are.

    python benchmarks/models_in_turns.py sentiment before=runs/before/sentiment --output results/models-in-turns.json

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

import lexitree
from environment import describe_run
from lexitree import detokenize
from lexitree.corpora.named import load_corpus
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.model_folder import locate_model

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
    named = dict(name_and_model(model) for model in options.models)
    pipes = {name: lexitree.load(model, device="cpu", parser="builtin") for name, model in named.items()}
    seconds: dict[str, list[float]] = {name: [] for name in pipes}
    for number in range(ROUNDS + 1):
        for name, pipe in pipes.items():
            spent = measure(pipe, texts)
            if number:
                seconds[name].append(spent)
    fastest = min(map(min, seconds.values()))
    rows: list[dict[str, Any]] = [
        {
            "model": name,
            "size_mb": size_of(named[name]) / 1e6,
            "sentences": len(texts),
            "rounds": ROUNDS,
            "per_cpu_second": len(texts) / min(spent),
            "times_the_fastest": min(spent) / fastest,
        }
        for name, spent in seconds.items()
    ]
    print(*rows, sep="\n")
    if options.output:
        record = {**described, "what": "models in turns on raw text, one thread", "seeds": [], "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def name_and_model(argument: str) -> tuple[str, str]:
    name, _, model = argument.rpartition("=")
    return name or model, model


def measure(pipe: TextPipeline, texts: list[str]) -> float:
    """Processor seconds of all texts, with all phrases."""
    began = time.process_time()
    num_phrases = sum(
        len(sentence.node_probabilities) for document in pipe.stream(texts) for sentence in document.sentences
    )
    assert num_phrases > len(texts)
    return time.process_time() - began


def size_of(model: str) -> int:
    return sum(path.stat().st_size for path in Path(locate_model(model)).iterdir() if path.is_file())


if __name__ == "__main__":
    main()
