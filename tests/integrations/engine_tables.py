"""Tables that engines label, and how their output is compared with that of one process."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from lexitree.corpora.named import load_corpus
from lexitree.text import detokenize

TEXTS_FILE = "domains/goemotions/train.tsv.gz"
"""Comments of Reddit, in the folder of the real data."""
MAX_DIFFERENCE = 1e-5
"""How far numbers of an engine and of one process may be apart."""
MAX_NEAR_TIES = 0.001
"""The share of rows whose phrases may be others."""


def texts_file() -> Path | None:
    """The file of the texts, or None if there is none here."""
    folder = os.environ.get("LEXITREE_DATA")
    path = Path(folder, TEXTS_FILE) if folder else None
    return path if path and path.is_file() else None


def some_texts(number: int) -> list[str]:
    """So many texts, from real data if there is any here, and else from the embedded corpus."""
    path = texts_file()
    if path:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts = [line.rstrip("\n").partition("\t")[2] for line in lines]
    else:
        texts = [detokenize(tree.words) for tree in load_corpus("mini-reviews").train]
    return list(islice(cycle(texts), number))


def write_table(path: Path, texts: list[str], group_rows: int) -> Path:
    """A Parquet file with the columns `id` and `text`."""
    import pyarrow
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table({"id": list(range(len(texts))), "text": texts})
    parquet.write_table(table, path, row_group_size=group_rows)
    return path


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of all parts in a folder, in the order in which they stand there."""
    from pyarrow import dataset

    return dataset.dataset(str(folder), format="parquet").to_table().to_pylist()


def compare_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what differs between labelled rows and those of one process, which are told apart by their `id`.

    If two trees of a sentence are about as good, rounding decides which one the parser takes: rows whose phrases are
    others are near-ties, and are listed; labels, heads, probabilities and scores of all others are compared.
    """
    counts = Counter(row["id"] for row in found)
    by_id = {row["id"]: row for row in found}
    pairs = [(by_id[row["id"]], row) for row in expected if row["id"] in by_id]
    near_ties = [theirs["id"] for ours, theirs in pairs if _spans(ours) != _spans(theirs)]
    known = {row["id"] for row in expected}
    same = [(ours, theirs) for ours, theirs in pairs if theirs["id"] not in set(near_ties)]
    return {
        "rows": len(found),
        "rows missing": sum(row["id"] not in counts for row in expected),
        "rows unknown": sum(row["id"] not in known for row in found),
        "rows twice": sum(number > 1 for number in counts.values()),
        "texts that differ": sum(ours["text"] != theirs["text"] for ours, theirs in pairs),
        "near-ties of the parser": near_ties,
        "labels that differ": sum(
            _values(ours, "label") != _values(theirs, "label") for ours, theirs in same
        ),
        "head words that differ": sum(
            _values(ours, "head") != _values(theirs, "head") for ours, theirs in same
        ),
        "largest difference of a probability": _largest_difference(same, "probability"),
        "largest difference of a score": _largest_difference(same, "score"),
    }


def outcome(found: dict[str, Any], num_deaths: int) -> str:
    """What differs, in words, or "equal".

    Args:
        found: What `compare_rows` has counted, and what was killed.
        num_deaths: How many should have been killed.
    """
    wrong = [
        f"{name}: {found[name]}"
        for name in (
            "rows missing",
            "rows unknown",
            "rows twice",
            "texts that differ",
            "labels that differ",
            "head words that differ",
        )
        if found[name]
    ]
    wrong += [
        f"{name}: {found[name]:.2g}"
        for name in ("largest difference of a probability", "largest difference of a score")
        if found[name] > MAX_DIFFERENCE
    ]
    num_ties = len(found["near-ties of the parser"])
    if num_ties > MAX_NEAR_TIES * found["rows"]:
        wrong.append(f"rows with other phrases, too many for near-ties: {num_ties}")
    if len(found["killed"]) < num_deaths:
        wrong.append(f"killed: {len(found['killed'])} instead of {num_deaths}")
    return ", ".join(wrong) or "equal"


def _largest_difference(pairs: list[tuple[dict[str, Any], dict[str, Any]]], name: str) -> float:
    return max(
        (
            _difference(mine, other)
            for ours, theirs in pairs
            for mine, other in zip(_values(ours, name), _values(theirs, name), strict=True)
        ),
        default=0.0,
    )


def _difference(mine: float | None, other: float | None) -> float:
    if mine is None or other is None:
        # A number that one of them lacks is as far from the other's as can be.
        return 0.0 if mine is other else 1.0
    return abs(mine - other)


def _spans(row: dict[str, Any]) -> list[tuple[int, int]]:
    return [(phrase["start"], phrase["end"]) for phrase in row["phrases"]]


def _values(row: dict[str, Any], name: str) -> list[Any]:
    """A value of the text and of all its phrases."""
    return [row.get(name), *(phrase.get(name) for phrase in row["phrases"])]
