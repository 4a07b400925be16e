"""Score sentiment models on everyday text, beside VADER, TextBlob and AFINN.

    python benchmarks/everyday_text.py sentiment --output results/everyday-text.json
    python benchmarks/everyday_text.py runs/mine/model --quick          # models only, no documents
    python benchmarks/everyday_text.py old=sentiment new=runs/mine/model --cache runs/judged

Development parts of nine sets come through LEXITREE_DATA (`domains/NAME/dev.tsv.gz`; of the two large ones the first
1,500 rows), those of two hard sets that no mean counts (dynasent-1 and -2), opinions and aspects from
`dev.spans.jsonl.gz`, SST's development sentences as plain text. Each text is read as one sentence. Two-way accuracy
leaves neutral texts out, and the side with more probability counts.
`--reviews` names a CSV file of film reviews (columns review and sentiment) for documents: rules that make a
review's score from those of its sentences are compared on some reviews, and the one in use is scored on others.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from environment import describe_run
from lexitree import detokenize
from lexitree.arrays import BoolArray, DoubleArray, IndexArray
from lexitree.corpora.named import load_corpus
from lexitree.corpora.text_files import read_texts
from lexitree.corpora.text_tables import LabelledText
from lexitree.evaluation.calibration import (
    RatedTexts,
    cross_fitted,
    expected_calibration_error,
    fit_temperature,
)
from lexitree.text.sentences import split_sentences
from polarity_systems import (
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    SIDES,
    Judged,
    ModelSystem,
    PolaritySystem,
    SentenceOutputs,
    Span,
    by_side,
    gold_sides,
    word_lists,
)

MAX_ROWS = 1500
DOMAINS = {
    "finegrained": None,
    "goemotions": MAX_ROWS,
    "hutto-nyt": None,
    "hutto-tweets": None,
    "newsmtsc": None,
    "opener-hotels": None,
    "pros-cons": MAX_ROWS,
    "sentfin": None,
    "sentihood": None,
}
"""The sets, and how many rows of them are read."""
HARD = ("dynasent-1", "dynasent-2")
"""Sentences that a model got wrong, or that were written to fool one; no mean counts them."""
NUM_BINS = 10
"""For the calibration of a set: bins with as many texts each."""
TWO_WAY_ONLY = "pros-cons"
POSTS = ("goemotions", "hutto-tweets")
"""Sets of which many texts have several sentences."""
Part = Literal["train", "dev"]
ASPECTS, OPINIONS = "mams", "opener-hotels"
"""The sets with labelled spans: things that are reviewed, and words that judge them."""
Row = dict[str, Any]
Spans = tuple[list[str], list[list[Span]], IndexArray]
"""Texts, the polar spans of each, and the labels of all spans in a row."""
Domain = tuple[IndexArray, Judged]
"""The gold labels of a set, and what a system says of its texts."""
Answers = Callable[[IndexArray, Judged], tuple[IndexArray, BoolArray]]
"""The gold labels that count, and whether they are found."""
NUM_CHOOSING, NUM_SCORED = 1000, 2000
Weighing = Callable[[DoubleArray, IndexArray, DoubleArray], npt.NDArray[Any]]
"""How much each sentence of a text counts, by its probabilities of three sides, its length and its score."""

LEAST = 1e-6


def _position(lengths: IndexArray) -> DoubleArray:
    """0 for the first sentence, 1 for the last."""
    return np.linspace(0, 1, len(lengths)) if len(lengths) > 1 else np.ones(1)


RULES: dict[str, Weighing] = {
    "mean by length": lambda three, lengths, scores: lengths.astype(float),
    "plain mean": lambda three, lengths, scores: np.ones(len(lengths)),
    "by root of length": lambda three, lengths, scores: lengths**0.5,
    "by length, growing to the end": lambda three, lengths, scores: lengths * (1 + _position(lengths)),
    "by length, the last fifth threefold": lambda three, lengths, scores: (
        lengths * np.where(_position(lengths) >= 0.8, 3.0, 1.0)
    ),
    "by length and polar mass": lambda three, lengths, scores: lengths * (1 - three[:, 1]) + LEAST,
    "by polar mass": lambda three, lengths, scores: 1 - three[:, 1] + LEAST,
    "by square of polar mass": lambda three, lengths, scores: (1 - three[:, 1]) ** 2 + LEAST,
    "by polar mass, growing to the end": lambda three, lengths, scores: (
        (1 - three[:, 1]) * (1 + _position(lengths)) + LEAST
    ),
    "by root of length and polar mass": lambda three, lengths, scores: (
        lengths**0.5 * (1 - three[:, 1]) + LEAST
    ),
    "by strength of score": lambda three, lengths, scores: np.abs(scores) + LEAST,
    "by square of score": lambda three, lengths, scores: scores**2 + LEAST,
    "by length and strength of score": lambda three, lengths, scores: lengths * np.abs(scores) + LEAST,
    "by root of length and strength, growing": lambda three, lengths, scores: (
        lengths**0.5 * np.abs(scores) * (1 + _position(lengths)) + LEAST
    ),
    "polar sentences only": lambda three, lengths, scores: (three.argmax(axis=1) != 1) + LEAST,
}
PRODUCT = "product of probabilities"
FORMER = "mean by length"
"""The rule of earlier versions; the one in use is `mean_probabilities`, by polar mass."""
Reviews = tuple[list[str], BoolArray]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL", help="shipped models or folders")
    parser.add_argument("--quick", action="store_true", help="neither word lists nor documents")
    parser.add_argument("--reviews", type=Path, help="CSV file of film reviews for documents")
    parser.add_argument("--cache", type=Path, help="folder that keeps the models' outputs")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    described = describe_run({**data_files(), **({"reviews": options.reviews} if options.reviews else {})})
    models = [ModelSystem(model, options.cache) for model in options.models]
    systems: list[PolaritySystem] = [*models, *([] if options.quick else word_lists())]
    tables = measure_domains(systems)
    tables["opinions"] = [measure_opinions(system) for system in systems]
    tables["aspects"] = [measure_aspects(system) for system in systems]
    tables["sst"] = [measure_sst(system) for system in systems]
    if options.reviews and not options.quick:
        tables |= measure_documents(options.reviews, systems)
    for name, rows in tables.items():
        print(f"\n{name}", *map(show_row, rows), sep="\n")
    if options.output:
        record = {**described, "seeds": [], **tables}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure_domains(systems: Sequence[PolaritySystem]) -> dict[str, list[Row]]:
    """Accuracy by set and system, recall, and calibration."""
    judged, hard = judge_sets(systems, DOMAINS), judge_sets(systems, HARD)
    three_way = [name for name in DOMAINS if name != TWO_WAY_ONLY]
    models = models_of(systems)
    return {
        "two_way": [
            *with_mean(accuracy_rows(judged, DOMAINS, two_way_answers)),
            whole_set_row(TWO_WAY_ONLY, systems),
            *outside_the_mean(accuracy_rows(hard, HARD, two_way_answers)),
        ],
        "three_way": [
            *with_mean(accuracy_rows(judged, three_way, three_way_answers)),
            *outside_the_mean(accuracy_rows(hard, HARD, three_way_answers)),
        ],
        "recall": [recall_row(name, domains) for name, domains in judged.items()],
        "calibration": [calibration_row(model, three_way) for model in models],
        "calibration_by_set": [
            *calibration_by_set(models, {name: [name] for name in three_way}),
            *calibration_by_set(models, {"the eight sets together": three_way}),
            *calibration_by_set(models, {f"{name} (not among the eight)": [name] for name in HARD}),
        ],
        "posts": list(measure_posts(systems)),
    }


def judge_sets(systems: Sequence[PolaritySystem], names: Iterable[str]) -> dict[str, dict[str, Domain]]:
    """The gold labels of each set and what each system says of its texts, by system."""
    judged: dict[str, dict[str, Domain]] = {system.name: {} for system in systems}
    for name in names:
        rows = read_domain(name)
        texts, gold = [row.text for row in rows], gold_sides(rows)
        for system in systems:
            judged[system.name][name] = gold, system.judge(texts, one_sentence=True)
    return judged


def accuracy_rows(
    judged: Mapping[str, Mapping[str, Domain]], names: Iterable[str], answers: Answers
) -> list[Row]:
    """A row for each set."""
    return [
        {
            "set": name,
            **{
                f"{system}_accuracy": share_right(answers, domains[name])
                for system, domains in judged.items()
            },
        }
        for name in names
    ]


def with_mean(rows: list[Row]) -> list[Row]:
    means = {column: float(np.mean([row[column] for row in rows])) for column in rows[0] if column != "set"}
    return [*rows, {"set": "mean", **means}]


def outside_the_mean(rows: Iterable[Row]) -> list[Row]:
    return [{**row, "set": f"{row['set']} (not in the mean)"} for row in rows]


def models_of(systems: Iterable[PolaritySystem]) -> list[ModelSystem]:
    return [system for system in systems if isinstance(system, ModelSystem)]


def measure_posts(systems: Sequence[PolaritySystem]) -> Iterator[Row]:
    """Short texts of several sentences; models by the rule of the library and by the former one."""
    for name in POSTS:
        rows = [row for row in read_domain(name) if len(split_sentences(row.text)) > 1]
        texts, gold = [row.text for row in rows], gold_sides(rows)
        found = {system.name: system.judge(texts, one_sentence=False) for system in systems}
        for model in models_of(systems):
            outputs = model.sentences(texts, one_sentence=False)
            means = [np.average(table, axis=0, weights=lengths) for table, lengths in outputs.by_text()]
            found[f"{model.name}, {FORMER}"] = model.judged(np.array(means))
        for system, judged in found.items():
            yield {
                "set": name,
                "texts": len(texts),
                "system": system,
                "two_way_accuracy": share_right(two_way_answers, (gold, judged)),
                "three_way_accuracy": share_right(three_way_answers, (gold, judged)),
            }


def whole_set_row(name: str, systems: Sequence[PolaritySystem]) -> Row:
    """All rows of a set: the first rows of pros-cons are all positive."""
    rows = read_texts(folder_of(name) / "dev.tsv.gz").rows
    texts, gold = [row.text for row in rows], gold_sides(rows)
    judged = {system.name: (gold, system.judge(texts, one_sentence=True)) for system in systems}
    return {
        "set": f"all {len(rows):,} rows of {name} (not in the mean)",
        **{f"{system}_accuracy": share_right(two_way_answers, domain) for system, domain in judged.items()},
    }


def share_right(answers: Answers, domain: Domain) -> float:
    return share_of(answers(*domain)[1])


def share_of(is_right: BoolArray) -> float:
    return float(is_right.mean())


def two_way_answers(gold: IndexArray, judged: Judged) -> tuple[IndexArray, BoolArray]:
    """The gold labels that are not neutral, and whether the side with more mass is theirs."""
    polar = np.flatnonzero(gold != NEUTRAL)
    return gold[polar], judged.rows(polar).is_right_side(gold[polar])


def three_way_answers(gold: IndexArray, judged: Judged) -> tuple[IndexArray, BoolArray]:
    return gold, judged.labels == gold


def recall_row(system: str, domains: Mapping[str, Domain]) -> Row:
    """Means over the sets that have texts of both sides of how many of each side are found, of two and of three."""
    two_sided = [domain for domain in domains.values() if {NEGATIVE, POSITIVE} <= set(domain[0].tolist())]
    row: Row = {"system": system}
    for ways, answers in (("two_way", two_way_answers), ("three_way", three_way_answers)):
        recalls = [
            [is_right[gold == side].mean() for side in (NEGATIVE, POSITIVE)]
            for gold, is_right in (answers(*domain) for domain in two_sided)
        ]
        negative, positive = (float(mean) for mean in np.mean(recalls, axis=0))
        row |= {
            f"{ways}_negative_recall": negative,
            f"{ways}_positive_recall": positive,
            f"{ways}_gap_points": 100 * abs(negative - positive),
        }
    return row


def calibration_row(model: ModelSystem, names: Sequence[str]) -> Row:
    """Expected calibration error as the probabilities are, and with a temperature fitted on the other half."""
    texts = rated_texts(model, names)
    return {
        "system": model.name,
        "texts": len(texts),
        "as_it_is_error_points": 100 * expected_calibration_error(texts.probabilities(), texts.gold),
        "rescaled_error_points": 100 * expected_calibration_error(cross_fitted(texts), texts.gold),
        "temperature": fit_temperature(texts),
    }


def calibration_by_set(models: Sequence[ModelSystem], sets: Mapping[str, Sequence[str]]) -> list[Row]:
    """The calibration error of each model in bins of equal mass; a row for each name of one set or more."""
    rows: list[Row] = []
    for title, names in sets.items():
        rated = {model.name: rated_texts(model, names) for model in models}
        errors = {
            f"{name}_error_points": 100 * equal_mass_calibration_error(texts.probabilities(), texts.gold)
            for name, texts in rated.items()
        }
        rows.append({"set": title, "texts": max(map(len, rated.values()), default=0), **errors})
    return rows


def equal_mass_calibration_error(
    probabilities: DoubleArray, gold: IndexArray, num_bins: int = NUM_BINS
) -> float:
    """As `expected_calibration_error`, but the answers are sorted by their probability and cut into equal bins.

    Bins of equal width are nearly empty where a model is seldom that unsure, so that a small set tells little.
    """
    sure, is_right = probabilities.max(1), probabilities.argmax(1) == gold
    bins = np.array_split(np.argsort(sure, kind="stable"), num_bins)
    return float(sum(abs((sure[each] - is_right[each]).sum()) for each in bins) / len(gold))


def rated_texts(model: ModelSystem, names: Sequence[str]) -> RatedTexts:
    """The texts of some sets, with the labels that a model gives them, of three classes."""
    rows = [row for name in names for row in read_domain(name)]
    outputs = model.sentences([row.text for row in rows], one_sentence=True)
    # A text without words has no probabilities.
    gold = gold_sides(rows)[outputs.counts > 0]
    scores = model.label_scores
    groups = [np.flatnonzero(side).tolist() for side in (scores < 0, scores == 0, scores > 0)]
    return RatedTexts(
        outputs.probabilities, np.arange(len(gold)), outputs.lengths, model.label_set, groups, gold
    )


def measure_opinions(system: PolaritySystem) -> Row:
    """What becomes of the polar opinions of the hotel reviews, by the smallest phrases that cover them."""
    texts, spans, gold = read_opinions()
    judged = system.judge_spans(texts, spans)
    return {
        "system": system.name,
        "opinions": len(gold),
        "right_share": share_of(judged.labels == gold),
        "called_neutral_share": share_of(judged.labels == NEUTRAL),
        "called_opposite_share": share_of(judged.labels == POSITIVE + NEGATIVE - gold),
    }


def measure_aspects(system: PolaritySystem) -> Row:
    """Two-way accuracy on the polar aspects of restaurant sentences that hold both polarities."""
    texts, spans, gold = read_aspects()
    whole = system.judge(texts, one_sentence=True)
    by_sentence = whole.rows(np.repeat(np.arange(len(texts)), [len(each) for each in spans]))
    row: Row = {
        "system": system.name,
        "aspects": len(gold),
        "whole_sentence_accuracy": share_of(by_sentence.is_right_side(gold)),
        "smallest_phrase_accuracy": share_of(system.judge_spans(texts, spans).is_right_side(gold)),
    }
    if isinstance(system, ModelSystem):
        row["about_accuracy"] = share_of(system.judge_about(texts, spans).is_right_side(gold))
    return row


def measure_sst(system: PolaritySystem) -> Row:
    """Accuracy on the development sentences of SST, as plain text: two sides, and five labels for a model of five."""
    trees = load_corpus("sst-fine").splits["dev"]
    texts = [detokenize(tree.words) for tree in trees]
    fine = np.array([int(tree.label) for tree in trees])
    judged = system.judge(texts, one_sentence=True)
    gold = np.where(fine > 2, POSITIVE, np.where(fine < 2, NEGATIVE, NEUTRAL))
    row: Row = {
        "system": system.name,
        "two_way_accuracy": share_right(two_way_answers, (gold, judged)),
        "three_way_accuracy": share_right(three_way_answers, (gold, judged)),
    }
    if isinstance(system, ModelSystem) and len(system.label_scores) == fine.max() + 1:
        best = system.sentences(texts, one_sentence=True).probabilities.argmax(axis=1)
        row["five_way_accuracy"] = share_of(best == fine)
    return row


def read_opinions() -> Spans:
    return polar_spans(of_kind(read_spans(OPINIONS, "dev"), "opinion"))


def read_aspects() -> Spans:
    """Of sentences that hold both polarities."""
    return polar_spans(contrasting(read_spans(ASPECTS, "dev")))


def polar_spans(lines: Iterable[Mapping[str, Any]]) -> Spans:
    texts: list[str] = []
    spans: list[list[Span]] = []
    gold: list[int] = []
    for line in lines:
        polar = [span for span in line["spans"] if span["label"] != SIDES[NEUTRAL]]
        texts.append(line["text"])
        spans.append([(span["start"], span["end"]) for span in polar])
        gold += [SIDES.index(span["label"]) for span in polar]
    return texts, spans, np.array(gold)


def spans_file(name: str, part: Part) -> Path:
    return folder_of(name) / f"{part}.spans.jsonl.gz"


def read_spans(name: str, part: Part) -> Iterator[dict[str, Any]]:
    with gzip.open(spans_file(name, part), "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def contrasting(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Sentences that praise one thing and blame another."""
    return (row for row in rows if {"negative", "positive"} <= {span["label"] for span in row["spans"]})


def of_kind(rows: Iterator[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        if spans := [span for span in row["spans"] if span["kind"] == kind]:
            yield {**row, "spans": spans}


def read_domain(name: str) -> Sequence[LabelledText]:
    return read_texts(folder_of(name) / "dev.tsv.gz").rows[: DOMAINS.get(name)]


def folder_of(name: str) -> Path:
    return Path(os.environ["LEXITREE_DATA"]) / "domains" / name


def data_files() -> dict[str, Path | None]:
    """Every file that is read here, for the record."""
    files = [folder_of(name) / "dev.tsv.gz" for name in (*DOMAINS, *HARD)]
    files += [spans_file(name, "dev") for name in (OPINIONS, ASPECTS)]
    return {
        **{f"domains/{file.parent.name}/{file.name}": file for file in files},
        "sst/dev.txt": Path(os.environ["LEXITREE_DATA"]) / "sst" / "dev.txt",
    }


def measure_documents(path: Path, systems: Sequence[PolaritySystem]) -> dict[str, list[dict[str, Any]]]:
    """Rules on the first reviews of the file's first half; the library's rule and word lists on its second half."""
    choosing, scored = read_reviews(path)
    rules = [
        row
        for system in systems
        if isinstance(system, ModelSystem)
        for row in compare_rules(system, *choosing)
    ]
    texts, is_positive = scored
    measured: list[dict[str, Any]] = []
    for system in systems:
        scores = {system.name: system.judge(texts, one_sentence=False).scores}
        if isinstance(system, ModelSystem):
            outputs = system.sentences(texts, one_sentence=False)
            scores[f"{system.name}, {FORMER}"] = document_scores(outputs, system.label_scores, FORMER)
        measured += [
            {"system": name, "reviews": len(texts), **two_scores(found, is_positive)}
            for name, found in scores.items()
        ]
    return {"document_rules": rules, "documents": measured}


def compare_rules(system: ModelSystem, texts: Sequence[str], is_positive: BoolArray) -> list[dict[str, Any]]:
    outputs = system.sentences(texts, one_sentence=False)
    return [
        {
            "system": system.name,
            "rule": rule,
            "reviews": len(texts),
            **two_scores(document_scores(outputs, system.label_scores, rule), is_positive),
        }
        for rule in [*RULES, PRODUCT]
    ]


def document_scores(outputs: SentenceOutputs, label_scores: DoubleArray, rule: str) -> DoubleArray:
    """The score of each text by a rule."""
    found: list[float] = []
    for probabilities, lengths in outputs.by_text():
        three = by_side(probabilities, label_scores)
        scores = probabilities @ label_scores
        if rule == PRODUCT:
            found.append(float(np.log((three[:, 2] + LEAST) / (three[:, 0] + LEAST)).sum()))
        else:
            found.append(float(np.average(scores, weights=RULES[rule](three, lengths, scores))))
    return np.array(found)


def two_scores(scores: DoubleArray, is_positive: BoolArray) -> dict[str, float]:
    """Accuracy of the sign, recall of both sides, and how well the scores are in order, wherever 0 may be."""
    return {
        "accuracy": float(((scores > 0) == is_positive).mean()),
        "negative_recall": float((scores[~is_positive] <= 0).mean()),
        "positive_recall": float((scores[is_positive] > 0).mean()),
        "ranking_accuracy": ranking_accuracy(scores, is_positive),
    }


def ranking_accuracy(scores: DoubleArray, is_positive: BoolArray) -> float:
    """How often a positive review scores higher than a negative one (the area under the ROC curve)."""
    positive, negative = scores[is_positive][:, None], scores[~is_positive][None, :]
    return float((positive > negative).mean() + (positive == negative).mean() / 2)


def read_reviews(path: Path) -> tuple[Reviews, Reviews]:
    """Reviews to choose a rule by, from the first half of the file, and others to score it on, from the second."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    half = len(rows) // 2
    parts = rows[:half][:NUM_CHOOSING], rows[half:][:NUM_SCORED]
    choosing, scored = (
        (
            [row["review"].replace("<br />", "\n") for row in part],
            np.array([row["sentiment"] == "positive" for row in part]),
        )
        for part in parts
    )
    return choosing, scored


def show_row(row: Row) -> str:
    return "  ".join(
        f"{name} {100 * value:.1f}" if isinstance(value, float) and abs(value) <= 1 else f"{name} {value}"
        for name, value in row.items()
    )


if __name__ == "__main__":
    main()
