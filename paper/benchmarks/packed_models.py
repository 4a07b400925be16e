"""Measure what a model loses when it is stored with fewer bytes per number and fewer words.

    python paper/benchmarks/packed_models.py runs/unseen-words/model --vectors GLOVE --trees GUM --output RECORD

The model is that of unseen_words.py. First its table is only written in other forms; then it is packed as `lexitree
pack` does, with vectors of words that are not in the corpus and with guesses, for several numbers of words. Words not
met in training come in the order of their counts in the GUM treebank.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch

import root_path  # noqa: F401
from environment import corpus_files, describe_run
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.lexicon.vector_files import read_vectors
from lexitree.lexicon.vocabulary import count_words
from lexitree.models.array_classifier import ArrayClassifier
from lexitree.models.classifier import TreeClassifier
from lexitree.pipeline.loading import load
from lexitree.saving.model_kinds import save_model
from lexitree.saving.packing import pack_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.saving.quantized import TableForm
from lexitree.trees.brackets import read_trees

FORMS: tuple[TableForm, ...] = ("float32", "float16", "int8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--vectors", type=Path, required=True, help="those the model was trained with")
    parser.add_argument("--trees", type=Path, required=True, help="the training part of GUM")
    parser.add_argument("--words", type=int, nargs="+", default=[10_000, 20_000, 30_000, 40_000, 0])
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus = load_corpus("sst-fine")
    rows = [measure(from_pretrained(options.model), corpus, table, "as trained") for table in FORMS]
    vectors, others = read_vectors(options.vectors), count_words(read_trees(options.trees))
    for num_words in options.words:
        model = from_pretrained(options.model)
        pack_model(model, count_words(corpus.train), num_words=num_words, vectors=vectors, others=others)
        rows.append(measure(model, corpus, "int8", "packed"))
    if options.output:
        record = {
            **describe_run(
                {**corpus_files("sst-fine"), "vectors": options.vectors, "GUM train": options.trees}
            ),
            "what": "accuracy on SST and bytes on disk of one model, written in other forms and packed",
            "seeds": [1],
            "training": from_pretrained(options.model).training_record,
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure(model: TreeClassifier, corpus: Corpus, table: TableForm, what: str) -> dict[str, Any]:
    """Save the model, read it back and score it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = save_model(model, Path(scratch) / "model", table=table)
        size = sum(path.stat().st_size for path in folder.iterdir())
        predictor = load(folder, reads="trees")
    assert isinstance(predictor.model, ArrayClassifier)
    row: dict[str, Any] = {
        "what": what,
        "table": table,
        "words": len(predictor.model.lexicon.vocabulary),
        "bytes": size,
    }
    for split in ("dev", "test"):
        scores = predictor.evaluate(corpus.splits[split])
        assert scores.phrase is not None
        row |= {f"{split}_root": scores.root.accuracy, f"{split}_phrase": scores.phrase.accuracy}
    shares = "".join(f"{100 * row[name]:8.2f}" for name in row if name.startswith(("dev", "test")))
    print(f"{what:<12}{table:<9}{row['words']:>7,}{size / 1e6:7.1f} MB{shares}", flush=True)
    return row


if __name__ == "__main__":
    main()
