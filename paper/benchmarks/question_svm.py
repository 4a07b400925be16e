"""Measure the accuracy of the question SVM on TREC, with and without WordNet.

    python paper/benchmarks/question_svm.py --wordnet /usr/share/wordnet --output results/trec-svm.json

The questions come through LEXITREE_DATA, with their parses beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from environment import describe_run
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.corpora.trec import find_trec
from lexitree_paper.question_svm import train_svm
from lexitree_paper.wordnet import find_nouns

WORDNET_FILES = ("index.noun", "data.noun", "noun.exc")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, required=True, help="the folder of WordNet's files")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    corpus = load_corpus("trec")
    rows = [measure(corpus, options.wordnet)]
    if find_nouns() is None:
        # A WordNet in a usual place would be found, and the row would say what is not so.
        rows.append(measure(corpus, None))
    for row in rows:
        print(f"{row['features']:<40}{100 * row['test_root']:6.1f}")
    if options.output:
        record = {
            **describe_run(data_files(options.wordnet)),
            "what": "accuracy of the SVM on the TREC questions, six types",
            "seeds": [0],
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(corpus: Corpus, wordnet: Path | None) -> dict[str, Any]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = train_svm(corpus, wordnet=wordnet)
    return {
        "features": "words, head words" + (", hypernyms" if wordnet else ""),
        "C": machine.penalty,
        "test_root": machine.accuracy(corpus.test),
        "seconds": time.perf_counter() - start,
    }


def data_files(wordnet: Path) -> dict[str, Path | None]:
    folder = find_trec(os.environ["LEXITREE_DATA"])
    assert folder is not None
    names = ("train_5500.label", "TREC_10.label", "train.parses", "test.parses")
    return {f"trec/{name}": folder / name for name in names} | {
        f"wordnet/{name}": wordnet / name for name in WORDNET_FILES
    }


if __name__ == "__main__":
    main()
