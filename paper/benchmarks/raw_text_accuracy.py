"""Score the shipped models on raw text, beside gold trees and VADER.

    python paper/benchmarks/raw_text_accuracy.py --output results/raw-text-accuracy.json

The corpora have their test sentences in tokens. Those of SST and TREC under LEXITREE_DATA are joined to what people
write (spaces as usual, quotes and brackets restored), and then our tokenizer, parser and binarizer make of them what
the model reads: each once as the one sentence that it is, and once as any text, in as many sentences as our splitter
finds in it. VADER, installed into an environment of its own, reads the same texts.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lexitree
import root_path  # noqa: F401
from environment import describe_run
from lexitree import TextPipeline, Tree, detokenize
from lexitree.corpora.named import load_corpus
from peer_environments import default_cache
from polarity_systems import SIDES, WORD_LISTS, word_lists

TASKS = {
    "sentiment": ("sst-fine", ("sst/test.txt",)),
    "sentiment-binary": ("sst-binary", ("sst/test.txt",)),
    "questions": ("trec", ("trec/TREC_10.label", "trec/test.parses")),
}
SPLITS = ("dev", "test")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--split", choices=SPLITS, default="test", help="the sentences (default: %(default)s)"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where VADER is kept")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    rows = [row for name in TASKS for row in measure(name, options.split, options.cache)]
    for row in rows:
        print(json.dumps(row))
    if options.output:
        folder = Path(os.environ["LEXITREE_DATA"])
        files = {file: folder / file for _, names in TASKS.values() for file in names}
        record = {
            **describe_run(dict(files)),
            "what": f"root accuracy on the {options.split} sentences, as plain text and as the corpus's own trees",
            "seeds": [],
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure(name: str, split: str, cache: Path) -> list[dict[str, Any]]:
    """The row of a model and, for two classes, that of VADER."""
    corpus = load_corpus(TASKS[name][0])
    trees = corpus.splits[split]
    gold = [tree.label for tree in trees]
    texts = [detokenize(tree.words) for tree in trees]
    pipe = lexitree.load(name)
    assert isinstance(pipe, TextPipeline)
    from_text = accuracy(label_texts(pipe, texts, one_sentence=True), gold)
    from_split_text = accuracy(label_texts(pipe, texts, one_sentence=False), gold)
    from_trees = accuracy(label_trees(pipe, trees), gold)
    row = {
        "system": name,
        "corpus": corpus.name,
        "sentences": len(gold),
        "one_sentence_accuracy": from_text,
        "split_text_accuracy": from_split_text,
        "own_trees_accuracy": from_trees,
        "points_lost": 100 * (from_trees - from_text),
        "points_lost_when_split": 100 * (from_trees - from_split_text),
    }
    if name != "sentiment-binary":
        return [row]
    vader = vader_accuracy(texts, gold, cache)
    return [row] if vader is None else [row, {**row_of_vader(row), "split_text_accuracy": vader}]


def row_of_vader(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "system": f"VADER {WORD_LISTS.requirements[0].partition('==')[2]}",
        "corpus": row["corpus"],
        "sentences": row["sentences"],
    }


def label_texts(pipe: TextPipeline, texts: Sequence[str], *, one_sentence: bool) -> list[str]:
    label_set = pipe.predictor.model.config.label_set
    ids = {label_set.name_of(label): label for label in label_set.ids}
    documents = pipe.stream(texts, one_sentence=one_sentence)
    return [ids[document.label] for document in documents if document.label is not None]


def label_trees(pipe: TextPipeline, trees: Sequence[Tree]) -> list[str]:
    return [prediction.label_id for prediction in pipe.predictor.predict_all(trees, nodes="root")]


def accuracy(labels: Sequence[str], gold: Sequence[str]) -> float:
    return sum(one == other for one, other in zip(labels, gold, strict=True)) / len(gold)


def vader_accuracy(texts: Sequence[str], gold: Sequence[str], cache: Path) -> float | None:
    """With the threshold that suits it better: sentences without a word that it knows score 0."""
    vader = next((each for each in word_lists(cache) if each.name == "VADER"), None)
    if vader is None:
        return None
    wanted = np.array([SIDES.index(label) for label in gold])
    return float(vader.judge(texts, one_sentence=False).is_right_side(wanted).mean())


if __name__ == "__main__":
    main()
