"""The sentences and trees that both checkouts answer for; they come from the data folder and are never committed."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from yardstick_adapter import YardstickAdapter

SIZES = {"sst": 8_000, "domains": 8_000, "questions": 4_000}
"""How many texts of each kind are labelled."""
MODEL_OF = {"sst": "sentiment", "domains": "sentiment", "questions": "questions"}
"""The model that labels each kind of texts; its trees are those of SST's and TREC's development and test parts."""
NUM_K_BEST = 300
NUM_TRAINED = 500
"""How many trees an epoch has that is timed."""

Inputs = dict[str, Any]


def make_inputs(adapter: YardstickAdapter, data: Path) -> Inputs:
    """All texts and trees, evenly chosen from those of the data folder."""
    trees = {split: _lines(data / "sst" / f"{split}.txt") for split in ("train", "dev", "test")}
    texts = {
        "sst": [adapter.detokenize(line) for part in trees.values() for line in _even(part, 4_689)],
        "domains": list(_domain_texts(data / "domains")),
        "questions": list(_questions(data / "trec")),
    }
    chosen = {kind: _even(found, SIZES[kind]) for kind, found in texts.items()}
    banks = {
        path.stem: [line.rpartition("\t")[2] for line in _lines(path)]
        for path in sorted((data / "treebanks").glob("*.txt"))
    }
    return {
        "texts": chosen,
        "trees": {
            "sentiment": {"sst.dev": trees["dev"], "sst.test": trees["test"]},
            "questions": {"trec.test": adapter.question_trees(data)},
        },
        "treebanks": banks,
        "k_best": [line.split() for line in _even(chosen["sst"] + chosen["questions"], NUM_K_BEST)],
        "trained": _even(trees["train"], NUM_TRAINED),
    }


def part_of(inputs: Inputs, number: int) -> Inputs:
    """Fewer inputs, for a quick look: so many of each list."""
    return {
        **{
            name: {kind: _even(found, number) for kind, found in inputs[name].items()}
            for name in ("texts", "treebanks")
        },
        "trees": {
            model: {bank: _even(found, number) for bank, found in banks.items()}
            for model, banks in inputs["trees"].items()
        },
        **{name: _even(inputs[name], number) for name in ("k_best", "trained")},
    }


def checksum(inputs: Inputs) -> str:
    """A checksum of everything that is asked."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _even(items: list[Any], number: int) -> list[Any]:
    """So many of the items, evenly spread over the list; all of them if there are no more."""
    if len(items) <= number:
        return items
    return [items[place * len(items) // number] for place in range(number)]


def _domain_texts(folder: Path) -> Iterator[str]:
    """Every text of every domain, with the label column cut off."""
    for path in sorted(folder.glob("*/*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            yield from (line.rstrip("\n").split("\t", 1)[1] for line in stream if "\t" in line)


def _questions(folder: Path) -> Iterator[str]:
    for name in ("train_5500.label", "TREC_10.label"):
        for line in (folder / name).read_text(encoding="latin-1").splitlines():
            yield line.split(" ", 1)[1]
