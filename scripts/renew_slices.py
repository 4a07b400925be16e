"""Compute the slices of the error analysis anew from the recorded answers of its runs, without their models.

    python scripts/renew_slices.py --data data

Only the accuracies and tests of the slices are renewed; the accuracies must be those of the record.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.evaluation.answers import SystemAnswers, answers_from_text
from lexitree.learning.provenance import ANSWERS, GOLD
from lexitree_paper.analyses.error_analysis import compare_slices
from lexitree_paper.experiments import find_experiment
from lexitree_paper.run_records import read_record
from result_records import PAPER_RESULTS, describe_run, write_record

NAME = "error-analysis"


def recorded_answers(name: str, run: str, corpus: Corpus) -> SystemAnswers:
    """The answers of a run, as if they had been certain: probabilities are not recorded."""
    record = read_record(PAPER_RESULTS, run)
    if record is None:
        raise ValueError(f"no record of {run}")
    labels = np.eye(len(corpus.labels))
    probabilities = np.stack([labels[answers_from_text(each[ANSWERS])] for each in record["runs"].values()])
    gold = answers_from_text(record[GOLD])
    sentences = tuple(tree.words for tree in corpus.test)
    return SystemAnswers(name, corpus.label_set, sentences, gold, probabilities)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the corpora; default: LEXITREE_DATA")
    options = parser.parse_args()
    corpus = load_corpus("sst-fine", data=options.data)
    record: dict[str, Any] | None = read_record(PAPER_RESULTS, NAME)
    assert record is not None
    systems = [
        recorded_answers(system, tasks["fine"].name, corpus)
        for system, tasks in find_experiment(NAME).rows.items()
    ]
    baseline, system = systems
    slices = json.loads(json.dumps(compare_slices(system, baseline)))
    for before, after in zip(record["figures"]["slices"], slices, strict=True):
        if before["accuracies"] != after["accuracies"]:
            raise ValueError(f"{before['title']}: the answers are not those of the record")
    record["figures"]["slices"] = slices
    origin = describe_run({})
    record["slices_from"] = {name: origin[name] for name in ("command", "commit", "source", "date")}
    print(write_record(NAME, record).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
