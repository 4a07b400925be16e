"""Score what a model says about spans: things that are reviewed (MAMS), and words that judge them (OpeNER).

    python paper/benchmarks/spans.py sentiment --output results/spans.json
    python paper/benchmarks/spans.py runs/mine/model --part train         # to compare rules

Of MAMS, the sentences that hold both polarities are read, and their polar aspects are scored two-way, by several
rules; `about` is `Document.about`, which was chosen on the training part. Of opener-hotels, the smallest phrase that
covers the words of an opinion is asked. Files are `domains/NAME/PART.spans.jsonl.gz` under LEXITREE_DATA, and every
text is one sentence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import lexitree
import root_path  # noqa: F401
from environment import describe_run
from everyday_text import ASPECTS, OPINIONS, Part, contrasting, of_kind, read_spans, spans_file
from lexitree import Document, Sentence, TextPipeline
from lexitree.arrays import NO_INDEX
from lexitree.results.span_answer import phrases_around
from lexitree.views.evidence import NEGATIVE, NO_SIDE, POSITIVE, label_sides

Masses = npt.NDArray[np.float64]
"""The probabilities of the negative side, of neutral and of the positive side."""
Rule = Callable[[Document, int, int], Masses]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", help="shipped models or folders")
    parser.add_argument("--part", choices=("train", "dev"), default="dev")
    parser.add_argument("--rows", type=int, help="only so many sentences of each set")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    files = {f"{name} {options.part}": spans_file(name, options.part) for name in (ASPECTS, OPINIONS)}
    described = describe_run({**files})
    rows = [row for model in options.models for row in measure(model, options.part, options.rows)]
    for row in rows:
        print(json.dumps(row))
    if options.output:
        record = {**described, "seeds": [], "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure(model: str, part: Part, num_rows: int | None) -> Iterator[dict[str, Any]]:
    pipe = lexitree.load(model, reads="text", parser="builtin")
    aspects = list(label(pipe, contrasting(read_spans(ASPECTS, part)), num_rows))
    for name, rule in RULES.items():
        yield {"model": model, "part": part, "spans": "aspects", "rule": name, **score(aspects, rule)}
    opinions = list(label(pipe, of_kind(read_spans(OPINIONS, part), "opinion"), num_rows))
    yield {
        "model": model,
        "part": part,
        "spans": "opinions",
        "rule": "smallest",
        **score(opinions, RULES["smallest"]),
    }


def label(
    pipe: TextPipeline, rows: Iterator[dict[str, Any]], num_rows: int | None
) -> Iterator[tuple[Document, list[dict[str, Any]]]]:
    chosen = list(rows)[:num_rows]
    documents = pipe.stream([row["text"] for row in chosen], one_sentence=True)
    return zip(documents, (row["spans"] for row in chosen), strict=True)


def score(labelled: Sequence[tuple[Document, list[dict[str, Any]]]], rule: Rule) -> dict[str, Any]:
    """How polar spans are answered: which side has more mass, and how many are called neutral or the opposite."""
    polar = [
        (rule(document, span["start"], span["end"]), span["label"] == "positive")
        for document, spans in labelled
        for span in spans
        if span["label"] != "neutral"
    ]
    masses, is_positive = np.stack([mass for mass, _ in polar]), np.array([gold for _, gold in polar])
    is_right = (masses[:, 2] > masses[:, 0]) == is_positive
    answers = masses.argmax(1)
    is_neutral = answers == 1
    is_opposite = ~is_neutral & ((answers == 2) != is_positive)
    return {
        "polar_spans": len(polar),
        "two_way_accuracy": float(is_right.mean()),
        "negative_recall": float(is_right[~is_positive].mean()),
        "positive_recall": float(is_right[is_positive].mean()),
        "called_neutral": float(is_neutral.mean()),
        "called_opposite": float(is_opposite.mean()),
    }


def side_masses(sentence: Sentence, row: npt.NDArray[np.floating]) -> Masses:
    sides = np.array(label_sides(sentence.label_set))
    return np.array([float(row[sides == side].sum()) for side in (NEGATIVE, NO_SIDE, POSITIVE)])


def about(document: Document, start: int, end: int) -> Masses:
    answer = document.about(start, end)
    return side_masses(document.sentences[0], np.array(list(answer.probabilities.values())))


def at_node(choose: Callable[[Sentence, list[int]], int]) -> Rule:
    """A rule that asks one phrase, chosen among those from the smallest to the clause."""

    def rule(document: Document, start: int, end: int) -> Masses:
        sentence, nodes = around(document, start, end)
        return side_masses(sentence, sentence.node_probabilities[choose(sentence, nodes)])

    return rule


def around(document: Document, start: int, end: int) -> tuple[Sentence, list[int]]:
    (sentence,) = document.sentences
    places = [k for k, token in enumerate(sentence.tokens) if token.start < end and start < token.end]
    return sentence, phrases_around(sentence, range(places[0], places[-1] + 1))


def mean_around(document: Document, start: int, end: int) -> Masses:
    sentence, nodes = around(document, start, end)
    return side_masses(sentence, sentence.node_probabilities[nodes].mean(0))


def first_polar(sentence: Sentence, nodes: list[int]) -> int:
    """The smallest phrase around, in the whole sentence, that is not neutral."""
    node = nodes[0]
    while node != NO_INDEX:
        if side_masses(sentence, sentence.node_probabilities[node]).argmax() != 1:
            return node
        node = int(sentence.source.parents[node])
    return nodes[0]


RULES: dict[str, Rule] = {
    "about": about,
    "smallest": at_node(lambda sentence, nodes: nodes[0]),
    "first polar": at_node(first_polar),
    "clause": at_node(lambda sentence, nodes: nodes[-1]),
    "mean to the clause": mean_around,
    "sentence": at_node(lambda sentence, nodes: 0),
}


if __name__ == "__main__":
    main()
