"""Compare bag-of-words classifiers with BiConTree on the embedded corpora.

    python paper/benchmarks/bag_of_words.py --output results/bag-of-words.json

Word counting is logistic regression on the counts of words (and of pairs of words), its strength chosen on the
development split; BiConTree is trained as in `lexitree demo`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import root_path  # noqa: F401
from environment import describe_run
from lexitree.cli.demo import demo_recipe
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.tasks.classify.run import train

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    rows = [row for name in ("mini-reviews", "mini-questions") for row in compare(name, options.seeds)]
    for row in rows:
        print(f"{row['corpus']:<16}{row['model']:<24}{100 * row['test_root']:6.1f}")
    if options.output:
        record = {
            **describe_run({"mini-reviews": None, "mini-questions": None}),
            "what": "root accuracy on the test splits of the embedded corpora",
            "seeds": options.seeds,
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def compare(name: str, seeds: list[int]) -> list[dict[str, Any]]:
    """Word counting and BiConTree on one corpus."""
    corpus = load_corpus(name)
    return [
        {"corpus": name, "model": "bag of words", "test_root": word_count_accuracy(corpus, longest=1)},
        {
            "corpus": name,
            "model": "bag of words and pairs",
            "test_root": word_count_accuracy(corpus, longest=2),
        },
        {"corpus": name, **train_trees(corpus, seeds)},
    ]


def word_count_accuracy(corpus: Corpus, longest: int) -> float:
    """Test accuracy of logistic regression on counts of up to `longest` words in a row, tuned on dev."""
    counter = CountVectorizer(token_pattern=r"\S+", ngram_range=(1, longest))
    features = {"train": counter.fit_transform(sentences(corpus, "train"))}
    features |= {split: counter.transform(sentences(corpus, split)) for split in ("dev", "test")}
    gold = {split: [tree.label for tree in corpus.splits[split]] for split in features}
    fitted = [
        LogisticRegression(C=strength, max_iter=5000).fit(features["train"], gold["train"])
        for strength in STRENGTHS
    ]
    best = max(fitted, key=lambda model: model.score(features["dev"], gold["dev"]))
    return float(best.score(features["test"], gold["test"]))


def sentences(corpus: Corpus, split: str) -> list[str]:
    return [" ".join(tree.words) for tree in corpus.splits[split]]


def train_trees(corpus: Corpus, seeds: list[int]) -> dict[str, Any]:
    """BiConTree by the demo's recipe, once for each seed."""
    roots: list[float] = []
    for seed in seeds:
        recipe = dataclasses.replace(demo_recipe(seed=seed), corpus=corpus.name)
        with tempfile.TemporaryDirectory() as folder:
            roots.append(train(recipe, folder, corpus=corpus).scores()["test_root"])
    return {
        "model": "BiConTree",
        "test_root": statistics.fmean(roots),
        "test_root_deviation": statistics.stdev(roots) if len(roots) > 1 else 0.0,
        "per_seed": roots,
    }


if __name__ == "__main__":
    main()
