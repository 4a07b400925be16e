"""Score the shipped sentiment model on texts other than film reviews.

    python paper/benchmarks/other_texts.py --output results/other-texts.json

other_texts.tsv has a kind, the polarity that its writers meant and a text in each line. It was written before any
model had read it, and nothing was chosen or changed by the answers. review_polarity.tsv has numbers of sentences of
the product reviews in treebanks/mctb.review.txt under LEXITREE_DATA, with the polarity that one of us reads in them;
these served as development data when the model was made.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lexitree
import root_path  # noqa: F401
from environment import describe_run
from lexitree import TextPipeline, detokenize, read_trees

TEXTS = Path(__file__).with_name("other_texts.tsv")
POLARITY = Path(__file__).with_name("review_polarity.tsv")
REVIEWS = "treebanks/mctb.review.txt"
Text = tuple[str, str, str]
"""Its kind, what is meant by it, and itself."""

MODEL = "sentiment"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    pipe = lexitree.load(MODEL)
    assert isinstance(pipe, TextPipeline)
    rows = list(label_texts(pipe, written_texts()))
    reviews = Path(os.environ["LEXITREE_DATA"]) / REVIEWS
    others = list(label_texts(pipe, review_sentences(reviews)))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    summary = [sum_up(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds]
    summary += [sum_up("all of these", rows), sum_up("product reviews (development)", others)]
    for row in [*rows, *summary]:
        print(json.dumps(row, ensure_ascii=False))
    if options.output:
        record = {
            **describe_run({TEXTS.name: TEXTS, POLARITY.name: POLARITY, REVIEWS: reviews}),
            "seeds": [],
            "rows": rows,
            "summary": summary,
        }
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def written_texts() -> list[Text]:
    """Those of our own, by kind."""
    return [(kind, meant, text) for kind, meant, text in read_rows(TEXTS)]


def review_sentences(path: Path) -> list[Text]:
    """Sentences of real product reviews, as their writers wrote them."""
    trees = list(read_trees(path))
    return [
        ("product reviews", meant, detokenize(trees[int(number) - 1].words))
        for number, meant in read_rows(POLARITY)
    ]


def read_rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def label_texts(pipe: TextPipeline, texts: Sequence[Text]) -> Iterator[dict[str, Any]]:
    documents = pipe.stream(text for _, _, text in texts)
    for (kind, meant, text), document in zip(texts, documents, strict=True):
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
        "two_way_accuracy": share_right(sided),
        "negative_texts_accuracy": share_right([row for row in sided if row["meant"] == "negative"]),
        "positive_texts_accuracy": share_right([row for row in sided if row["meant"] == "positive"]),
    }


def share_right(rows: Sequence[Mapping[str, Any]]) -> float:
    return sum(row["leaning"] == row["meant"] for row in rows) / len(rows)


if __name__ == "__main__":
    main()
