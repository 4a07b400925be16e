"""Texts of other kinds than film reviews in, what the package's sentiment model says of them out, right or wrong.

    python benchmarks/other_texts.py --output results/other-texts.json

other_texts.tsv has a kind, the polarity that its writers meant and a text in each line. It was written before any
model had read it, and nothing was chosen or changed by the answers.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lexitree
from environment import describe_run
from lexitree import TextPipeline

TEXTS = Path(__file__).with_name("other_texts.tsv")
MODEL = "sentiment"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    pipe = lexitree.load(MODEL)
    assert isinstance(pipe, TextPipeline)
    rows = list(label_texts(pipe))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    summary = [sum_up(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds]
    summary.append(sum_up("all", rows))
    for row in [*rows, *summary]:
        print(json.dumps(row, ensure_ascii=False))
    if options.output:
        record = {
            **describe_run({TEXTS.name: TEXTS}),
            "seeds": [],
            "rows": rows,
            "summary": summary,
        }
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def label_texts(pipe: TextPipeline) -> Iterator[dict[str, Any]]:
    with TEXTS.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    documents = pipe.stream(text for _, _, text in lines)
    for (kind, meant, text), document in zip(lines, documents, strict=True):
        yield {
            "kind": kind,
            "text": text,
            "meant": meant,
            "label": document.label,
            "probability": document.probability,
            "is_right": polarity(document.label) == meant,
            "leaning": leaning(document.probabilities),
        }


def polarity(label: str | None) -> str:
    """The label without its strength."""
    return (label or "").removeprefix("very ")


def leaning(probabilities: Mapping[str, float]) -> str:
    """Which side is the likelier, neutral left aside."""
    sides = {
        side: sum(share for label, share in probabilities.items() if polarity(label) == side)
        for side in ("negative", "positive")
    }
    return max(sides, key=sides.__getitem__)


def sum_up(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sided = [row for row in rows if row["meant"] != "neutral"]
    return {
        "kind": kind,
        "texts": len(rows),
        "three_way_accuracy": sum(row["is_right"] for row in rows) / len(rows),
        "texts_with_a_side": len(sided),
        "two_way_accuracy": sum(row["leaning"] == row["meant"] for row in sided) / len(sided),
    }


if __name__ == "__main__":
    main()
