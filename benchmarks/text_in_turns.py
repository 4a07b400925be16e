"""Compare labelling raw text on one core with an earlier version of the library and with other tools, in turns.

    git archive COMMIT | tar x -C BEFORE
    python benchmarks/text_in_turns.py --before BEFORE --output results/text-in-turns.json
    python benchmarks/text_in_turns.py --before BEFORE --spacy EN_CORE_WEB_MD --other-python PYTHON ...

The sentences are those of SST's trees, put together as people would write them. Versions alternate, each run in a
process of its own on one thread, so that a busy minute falls on all of them; of several rounds, the fastest counts.
Processor times stand beside those of the clock: they bear a busy machine better.

Answers are compared with those for the parser's trees by sentence. A parse that differs is a tie: two trees whose
scores differ by rounding, or the labels and heads would differ too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lexitree
from environment import describe_run
from lexitree.errors import LimitError
from lexitree.limits import Limits
from lexitree.text import detokenize
from lexitree.trees.brackets import read_trees
from text_worker import Answer, answers_of, run_worker

ROOT = Path(__file__).resolve().parent.parent
SPLITS = ("train", "dev", "test")
MOST_LISTED = 20
Row = dict[str, Any]

SPACY = """
import spacy, sys, time
texts = open(sys.argv[2], encoding="utf-8").read().splitlines()[: int(sys.argv[3])]
nlp = spacy.load(sys.argv[1], exclude=["ner", "lemmatizer", "attribute_ruler"])
list(nlp.pipe(texts[:200]))
wall, cpu = time.perf_counter(), time.process_time()
number = sum(1 for _ in nlp.pipe(texts, batch_size=256))
print(number, time.perf_counter() - wall, time.process_time() - cpu)
"""
VADER = """
import sys, time
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
texts = open(sys.argv[1], encoding="utf-8").read().splitlines()[: int(sys.argv[2])]
score = SentimentIntensityAnalyzer().polarity_scores
wall, cpu = time.perf_counter(), time.process_time()
number = sum(1 for text in texts if score(text))
print(number, time.perf_counter() - wall, time.process_time() - cpu)
"""


def main() -> None:
    options = parse_options()
    folder = Path(os.environ["LEXITREE_DATA"]) / "sst"
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        texts = Path(place, "sentences.txt")
        texts.write_text("".join(f"{text}\n" for text in sentences(folder)), encoding="utf-8")
        record: Row = {
            **describe_run({f"sst/{split}.txt": folder / f"{split}.txt" for split in SPLITS}),
            "what": "raw text on one core: this version, the one before, and other tools in turns",
            "seeds": [1],
            "note": f"When it began, the machine had a load of {load:.1f} already.",
        }
        parts = {
            "throughput": lambda: compare_versions(options, texts),
            "warm": lambda: compare_warm(options, texts),
            "stages": lambda: compare_stages(options, texts),
            "others": lambda: measure_others(options, texts),
            "jobs": lambda: measure_jobs(options, texts),
            "answers": lambda: [compare_answers(texts, options.answers)],
            "memory": lambda: measure_memory(options, texts),
            "odd_texts": lambda: label_odd_texts(options.odd_words),
        }
        for name, measure in parts.items():
            if name in options.skip:
                continue
            record[name] = list(measure())
            for row in record[name]:
                print(name, json.dumps(row), flush=True)
            if options.output:
                options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--before", type=Path, required=True, help="the folder of the earlier version, with src in it"
    )
    parser.add_argument("--sentences", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--answers", type=int, default=20_000, help="sentences whose answers are compared")
    parser.add_argument(
        "--memory", type=int, nargs="*", default=[10_000, 100_000], help="numbers of short sentences"
    )
    parser.add_argument("--odd-words", type=int, default=100_000, help="words of a text without punctuation")
    parser.add_argument("--job-sentences", type=int, default=8_000)
    parser.add_argument("--spacy", help="spaCy's model: a name or a folder")
    parser.add_argument("--other-python", default=sys.executable, help="the Python that has spaCy and VADER")
    parser.add_argument("--skip", nargs="*", default=[], help="parts to leave out")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def sentences(folder: Path) -> list[str]:
    texts = [detokenize(tree.words) for split in SPLITS for tree in read_trees(folder / f"{split}.txt")]
    random.Random(1).shuffle(texts)
    return [" ".join(text.split()) for text in texts]


def versions(options: argparse.Namespace) -> dict[str, Path]:
    return {"before": options.before.resolve(), "after": ROOT}


def rate(system: str, runs: Sequence[Row]) -> Row:
    best = min(runs, key=lambda run: run["cpu_seconds"])
    return {
        "system": system,
        "sentences": best["sentences"],
        "runs": len(runs),
        "per_second": best["sentences"] / min(run["seconds"] for run in runs),
        "per_cpu_second": best["sentences"] / best["cpu_seconds"],
    }


def compare_versions(options: argparse.Namespace, texts: Path) -> Iterator[Row]:
    for task in ("stream", "json"):
        runs: dict[str, list[Row]] = {name: [] for name in versions(options)}
        for _ in range(options.rounds):
            for name, code in versions(options).items():
                runs[name].append(run_worker([sys.executable], code, task, texts, number=options.sentences))
        rows = {name: rate(f"{task}, {name}", each) for name, each in runs.items()}
        yield from rows.values()
        yield {
            "system": f"{task}, ratio",
            **{key: rows["after"][key] / rows["before"][key] for key in ("per_second", "per_cpu_second")},
        }


def compare_warm(options: argparse.Namespace, texts: Path) -> Iterator[Row]:
    for name, code in versions(options).items():
        yield {"version": name, **run_worker([sys.executable], code, "warm", texts, number=options.sentences)}


def compare_stages(options: argparse.Namespace, texts: Path) -> Iterator[Row]:
    for name, code in versions(options).items():
        row = run_worker([sys.executable], code, "stages", texts, number=options.sentences)
        yield {"version": name, "sentences": row["sentences"], **row["us"]}


def measure_others(options: argparse.Namespace, texts: Path) -> Iterator[Row]:
    """Other tools on the same sentences, where they can be had."""
    number = str(options.sentences)
    scripts = {"VADER, the label of the text only": ["-c", VADER, str(texts), number]}
    if options.spacy:
        scripts["spaCy, dependency parse"] = ["-c", SPACY, options.spacy, str(texts), number]
    for system, arguments in scripts.items():
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONPATH", None)
        runs: list[Row] = []
        for _ in range(options.rounds):
            command = [options.other_python, *arguments]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{system} is left out: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                break
            labelled, wall, cpu = done.stdout.split()
            runs.append({"sentences": int(labelled), "seconds": float(wall), "cpu_seconds": float(cpu)})
        if runs:
            yield rate(system, runs)


def measure_jobs(options: argparse.Namespace, texts: Path) -> Iterator[Row]:
    """The command with one process and with two, the start included; they alternate."""
    source = texts.with_name("jobs.txt")
    lines = texts.read_text(encoding="utf-8").splitlines()
    lines = (lines * (options.job_sentences // len(lines) + 1))[: options.job_sentences]
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.rounds):
        for jobs, seconds in times.items():
            command = [sys.executable, "-m", "lexitree", "predict", str(source), "--device", "cpu"]
            began = time.perf_counter()
            output = str(texts.with_name("out.jsonl"))
            subprocess.run([*command, "--jobs", str(jobs), "-o", output], env=environment, check=True)
            seconds.append(time.perf_counter() - began)
    for jobs, seconds in times.items():
        yield {"jobs": jobs, "sentences": len(lines), "per_second": len(lines) / min(seconds)}
    yield {"jobs": "ratio", "per_second": min(times[1]) / min(times[2])}


class SentenceBySentence:
    """The built-in parser, of which a pipeline knows nothing but its trees."""

    def __init__(self, parser: Any) -> None:
        self.parser = parser

    def parse_all(self, sentences: Any) -> Any:
        return self.parser.parse_all(sentences)


def compare_answers(texts: Path, number: int, device: str = "cpu") -> Row:
    """This version against its parser's trees, packed sentence by sentence."""
    torch.set_num_threads(1)
    lines = texts.read_text(encoding="utf-8").splitlines()
    lines = (lines * (number // len(lines) + 1))[:number]
    flat: Any = lexitree.load("sentiment", device=device)
    plain = lexitree.TextPipeline(flat.predictor, SentenceBySentence(flat.parser))
    return compare_texts(map(answers_of, flat.stream(lines)), map(answers_of, plain.stream(lines)))


def compare_texts(ours: Iterable[list[Answer]], theirs: Iterable[list[Answer]]) -> Row:
    """The answers of two systems for the same texts; where parses differ, both are listed and nothing else counts."""
    row: Row = {
        "sentences": 0,
        "other_parses": 0,
        "other_labels": 0,
        "other_heads": 0,
        "largest_difference": 0.0,
    }
    ties: list[Row] = []
    for ours_of_text, theirs_of_text in zip(ours, theirs, strict=True):
        for one, other in zip(ours_of_text, theirs_of_text, strict=True):
            row["sentences"] += 1
            if one.parse != other.parse:
                row["other_parses"] += 1
                ties.append({"text": one.text, "ours": one.parse, "theirs": other.parse})
                continue
            row["other_labels"] += one.labels != other.labels
            row["other_heads"] += not np.array_equal(one.head_index, other.head_index)
            difference = float(np.abs(one.probabilities - other.probabilities).max())
            row["largest_difference"] = max(row["largest_difference"], difference)
    return {**row, "listed": ties[:MOST_LISTED]}


def measure_memory(options: argparse.Namespace, texts: Path) -> Iterator[Row]:
    for number in options.memory:
        yield run_worker([sys.executable], ROOT, "memory", texts, number=number)


def label_odd_texts(num_words: int) -> Iterator[Row]:
    """A very long text without punctuation, as it is, cut, and refused; a word; nothing."""
    pipe: Any = lexitree.load("sentiment", device="cpu")
    long = " ".join(["the plot of this film is not as good as it might have been"] * (num_words // 13))
    cases = {
        "long, without limits": (long, Limits.none()),
        "long, cut": (long, Limits(beyond="cut")),
        "long, refused": (long, Limits()),
        "a word": ("Great", Limits()),
        "nothing": ("", Limits()),
    }
    for name, (text, limits) in cases.items():
        began = time.process_time()
        try:
            document = pipe(text, limits=limits)
            told = {
                "sentences": len(document),
                "words": len(document.tokens),
                "json_mb": len(document.to_json()) / 1e6,
            }
        except LimitError as error:
            told = {"refused": str(error)[:60]}
        yield {"text": name, "cpu_seconds": time.process_time() - began, **told}


if __name__ == "__main__":
    main()
