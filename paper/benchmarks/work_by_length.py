"""Measure the time and the memory that one text takes by its length, and a file of reviews by its size.

    python paper/benchmarks/work_by_length.py --output results/work-by-length.json
    python paper/benchmarks/work_by_length.py --sizes 10 100 1000 --reviews-mb 1 2

Each text is labelled and written as JSON in a process of its own, on one thread and without limits. Times are those
of the processor; the peak memory is that of the process, with the model in it. Ordinary words are those of
SST's training sentences, with their punctuation as running text, or without it as one sentence. A single token has as
many characters as so many words.

The reviews are SST's training sentences, shuffled and put together by four, one review per line, labelled by
`lexitree predict`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import lexitree
import root_path  # noqa: F401
from environment import describe_run
from lexitree.errors import LimitError
from lexitree.limits import Limits
from lexitree.text import detokenize

MODEL = "sentiment"
SIZES = (10, 100, 1_000, 10_000, 100_000)
CHARACTERS_PER_WORD = 5
SENTENCES_PER_REVIEW = 4
MB = 1_000_000
Row = dict[str, Any]


def main() -> None:
    options = parse_options()
    if options.measure:
        kind, size = options.measure
        print(json.dumps(measure(kind, int(size))))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    lengths = [run_alone(kind, size) for kind in TEXTS for size in options.sizes]
    reviews = [label_reviews(megabytes) for megabytes in options.reviews_mb]
    if options.output:
        record = {
            **describe_run({"sst/train.txt": train_file()}),
            "what": "the work for one text by its length, and for a file of reviews by its size",
            "seeds": [1],
            "model": MODEL,
            "note": "Seconds are those of the processor, on one thread.",
            "limits": {"library": Limits().as_dict(), "service": Limits.for_service().as_dict()},
            "lengths": lengths,
            "reviews": reviews,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="words per text")
    parser.add_argument(
        "--reviews-mb", type=float, nargs="*", default=[3, 30], help="sizes of files of reviews"
    )
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    parser.add_argument(
        "--measure", nargs=2, metavar=("KIND", "WORDS"), help="measure one text in this process"
    )
    return parser.parse_args()


def train_file() -> Path:
    return Path(os.environ["LEXITREE_DATA"]) / "sst" / "train.txt"


def sentences() -> list[list[str]]:
    """The words of SST's training sentences, shuffled."""
    found = [list(tree.words) for tree in lexitree.read_trees(train_file())]
    random.Random(1).shuffle(found)
    return found


def running_text(num_words: int) -> str:
    parts: list[str] = []
    for words in cycle(sentences()):
        if num_words <= 0:
            return " ".join(parts)
        parts.append(detokenize(words[:num_words]))
        num_words -= len(words)
    raise AssertionError


def one_sentence(num_words: int) -> str:
    words = (word for each in cycle(sentences()) for word in each if word.isalpha())
    return " ".join(islice(words, num_words))


TEXTS: dict[str, Callable[[int], str]] = {
    "sentences": running_text,
    "words without punctuation": one_sentence,
    "exclamation marks": lambda size: "!" * size,
    "one token": lambda size: "x" * (size * CHARACTERS_PER_WORD),
}


def run_alone(kind: str, size: int) -> Row:
    command = [sys.executable, __file__, "--measure", kind, str(size)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(found.stdout, end="", flush=True)
    row: Row = json.loads(found.stdout)
    return row


def measure(kind: str, size: int) -> Row:
    text = TEXTS[kind](size)
    pipe = lexitree.load(MODEL, limits=Limits.none())
    pipe("The first sentence takes longer than others.").to_json()
    start = time.process_time()
    document = pipe(text)
    labelled = time.process_time()
    written = document.to_json()
    end = time.process_time()
    return {
        "text": kind,
        "size": size,
        "words": len(document.tokens),
        "characters": len(text),
        "labelling_seconds": labelled - start,
        "JSON_seconds": end - labelled,
        "JSON_MB": len(written.encode()) / MB,
        "peak_MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB,
        "accepted_by": accepted_by(text),
    }


def accepted_by(text: str) -> str:
    """The tightest limits within which a text is: those of a service, those of the library, or none."""
    from lexitree.text.bounded_text import split_within
    from lexitree.text.sentences import split_tokens

    for name, limits in (("service", Limits.for_service()), ("library", Limits())):
        try:
            split_within(text, split_tokens, limits)
        except LimitError:
            continue
        return name
    return "neither"


def label_reviews(megabytes: float) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "reviews.txt"), Path(folder, "labelled.tsv")
        num_reviews = write_reviews(source, int(megabytes * MB))
        command = [sys.executable, "-m", "lexitree", "predict", "--model", MODEL, str(source)]
        process = subprocess.Popen([*command, "--device", "cpu", "--format", "table", "-o", str(output)])
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or sum(1 for _ in output.open(encoding="utf-8")) != num_reviews + 1:
            sys.exit(f"labelling {megabytes} MB of reviews failed ({process.returncode})")
    row = {
        "file_MB": float(megabytes),
        "reviews": num_reviews,
        "seconds": used.ru_utime + used.ru_stime,
        "peak_MB": used.ru_maxrss * 1024 / MB,
    }
    print(json.dumps(row), flush=True)
    return row


def write_reviews(path: Path, size: int) -> int:
    """Write reviews up to a size in bytes, and return their number."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for number, review in enumerate(reviews(sentences())):
            size -= len(review.encode())
            if size < 0:
                return number
            stream.write(review)
    raise AssertionError


def reviews(found: Sequence[Sequence[str]]) -> Iterator[str]:
    texts = cycle(detokenize(words) for words in found)
    while True:
        yield " ".join(islice(texts, SENTENCES_PER_REVIEW)) + "\n"


if __name__ == "__main__":
    main()
