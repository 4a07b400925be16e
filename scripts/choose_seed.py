"""Choose the seed of several runs that labels raw development text best.

    python scripts/choose_seed.py runs/sentiment --corpus sst-fine
    python scripts/choose_seed.py runs/everyday

A model of the package is for raw text, so its seed is chosen by that: development sentences, parsed by the package's
parser. Where a corpus has a task with fewer labels for the same model (sst-fine read as sst-polarity), both count.
Without a corpus, the mean over the development parts of all corpora that the runs learned from decides, as recorded.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.parsers.adapters import open_parser
from lexitree.pipeline.predictor import Predictor
from lexitree.saving.packing import with_answers_of
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.parsed_corpus import with_parses

COARSER = {"sst-fine": "sst-polarity"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the directory of the run, with one of each seed in it")
    parser.add_argument("--corpus", help="what the model was trained on")
    options = parser.parse_args()
    runs = sorted(options.folder.glob("seed-*"))
    scores = score_anew(runs, options.corpus) if options.corpus else recorded_means(runs)
    # Of equals the first: max keeps it.
    print(max(scores, key=scores.__getitem__))


def recorded_means(runs: list[Path]) -> dict[str, float]:
    results = {run.name: json.loads((run / "result.json").read_text(encoding="utf-8")) for run in runs}
    for name, result in results.items():
        print(json.dumps({"run": name, "dev_mean": result["dev_mean"]}))
    return {name: result["dev_mean"] for name, result in results.items()}


def score_anew(runs: list[Path], corpus: str) -> dict[str, float]:
    names = [corpus, *filter(None, [COARSER.get(corpus)])]
    corpora = [parsed_development(load_corpus(name)) for name in names]
    scores: dict[str, float] = {}
    for run in runs:
        accuracies = [score(run / "model", each) for each in corpora]
        scores[run.name] = sum(accuracies) / len(accuracies)
        print(json.dumps({"run": run.name, **dict(zip(names, accuracies, strict=True))}))
    return scores


def parsed_development(corpus: Corpus) -> Corpus:
    only_dev = dataclasses.replace(corpus, splits={"train": (), "dev": corpus.dev})
    return with_parses(only_dev, open_parser("builtin"), parses="replace")


def score(folder: Path, corpus: Corpus) -> float:
    model = from_pretrained(folder)
    if corpus.label_set.finer:
        with_answers_of(model, corpus)
    return Predictor(model).evaluate(corpus.dev, supervision="root").root.accuracy


if __name__ == "__main__":
    main()
