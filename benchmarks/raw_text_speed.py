"""Measure how long labelling raw text takes: from a cold start, sentence by sentence, and for a whole file.

    python benchmarks/raw_text_speed.py --output results/raw-text-speed.json
    python benchmarks/raw_text_speed.py --model runs/sst/model --parser builtin:runs/parser/model --no-stanford

The sentences are those of SST's trees, put together as people would write them, shuffled, and repeated where more are
asked for. Everything but the warm sentences goes through the command line, each run in a process of its own. A busy
machine makes all of it slower, so the least time of several runs stands beside the median.

The Stanford parser, which gives trees and no labels, parses some of the same sentences, cut into the same tokens. It
is installed with pip into a cache folder on first use, and left out with a message where that fails.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

import lexitree
from environment import describe_run
from lexitree.parsers.adapters import StanfordParser, open_parser
from lexitree.parsers.protocol import Parser
from lexitree.text import detokenize, split_sentences
from lexitree.trees.brackets import read_trees
from peers.environments import AbsentPeerError, default_cache
from peers.stanford import VERSION, prepare_stanford

COLD_SENTENCE = "The film is not as bad as I had feared, but it never quite finds the heart of its story."
WARM_WORDS = range(18, 23)
SPLITS = ("train", "dev", "test")
WARM_UP = 20
SECONDS_BETWEEN_LOOKS = 0.05
Row = dict[str, Any]


def main() -> None:
    options = parse_options()
    load = os.getloadavg()[0]
    folder = Path(os.environ["LEXITREE_DATA"]) / "sst"
    texts = read_texts(folder, max(options.sentences))
    latency = [*measure_cold(options), measure_warm(options, texts)]
    throughput = [*measure_files(options, texts), *measure_parsers(options, texts)]
    for row in (*latency, *throughput):
        print(json.dumps(row), flush=True)
    if options.output:
        record = {
            **describe_run({f"sst/{split}.txt": folder / f"{split}.txt" for split in SPLITS}),
            "what": "raw text labelled by a parser and a tree LSTM",
            "seeds": [1],
            "model": options.model,
            "parser": options.parser,
            "note": f"When it began, the machine had a load of {load:.1f} already.",
            "latency": latency,
            "throughput": throughput,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="sentiment", help="a saved model, or one that comes with lexitree")
    parser.add_argument("--parser", default="builtin", help="as for lexitree predict")
    parser.add_argument("--sentences", type=int, nargs="+", default=[2_000, 10_000], help="sizes of files")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2], help="numbers of processes")
    parser.add_argument("--rounds", type=int, default=3, help="how often each file is labelled or parsed")
    parser.add_argument("--cold-starts", type=int, default=10)
    parser.add_argument("--warm-sentences", type=int, default=200)
    parser.add_argument("--parsed-sentences", type=int, default=500, help="for the parsers alone")
    parser.add_argument("--no-stanford", action="store_true", help="leave the Stanford parser out")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where it is kept")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def read_texts(folder: Path, number: int) -> list[str]:
    """One sentence each."""
    texts = [detokenize(tree.words) for split in SPLITS for tree in read_trees(folder / f"{split}.txt")]
    random.Random(1).shuffle(texts)
    return list(itertools.islice(itertools.cycle(texts), number))


def predict_command(options: argparse.Namespace, *arguments: object) -> list[str]:
    command = [sys.executable, "-m", "lexitree", "predict", "--model", options.model]
    return [*command, "--parser", options.parser, "--device", "cpu", *map(str, arguments)]


def measure_cold(options: argparse.Namespace) -> Iterator[Row]:
    """One sentence, the whole process; and how much of it is the import of torch."""
    commands = {
        "cold start": predict_command(options, COLD_SENTENCE),
        "import torch": [sys.executable, "-c", "import torch"],
    }
    runs: dict[str, list[tuple[float, float]]] = {what: [] for what in commands}
    # By turns, so that a busy minute falls on both.
    for what in [*commands] * options.cold_starts:
        runs[what].append(time_process(commands[what]))
    for what, times in runs.items():
        wall, cpu = zip(*times, strict=True)
        yield {**spread(what, "s", wall), "least_cpu": min(cpu)}


def time_process(command: Sequence[str]) -> tuple[float, float]:
    """The seconds that a process takes, and those that it computes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[2:5]} ended with {process.returncode}")
    return wall, used.ru_utime + used.ru_stime


def spread(what: str, unit: str, times: Sequence[float]) -> Row:
    return {
        "what": what,
        "runs": len(times),
        "unit": unit,
        "least": min(times),
        "median": statistics.median(times),
    }


def measure_warm(options: argparse.Namespace, texts: Sequence[str]) -> Row:
    """From a text to its JSON, one sentence at a time on one thread, in a process that has begun long ago."""
    torch.set_num_threads(1)
    pipe = lexitree.load(options.model, reads="text", parser=options.parser)
    chosen = [text for text in texts if len(words_of(text)) in WARM_WORDS][: options.warm_sentences]
    for text in chosen[:WARM_UP]:
        pipe(text).to_json()
    wall, cpu = zip(*(time_call(lambda text=text: pipe(text).to_json()) for text in chosen), strict=True)
    what = f"warm sentence of {WARM_WORDS[0]} to {WARM_WORDS[-1]} words"
    return {**spread(what, "ms", wall), "least_cpu": min(cpu)}


def words_of(text: str) -> list[str]:
    return split_sentences(text, "one")[0].forms


def time_call(call: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds by the clock, and of computing."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def measure_files(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[Row]:
    """Files of several sizes, by one process and by several; the start counts."""
    with tempfile.TemporaryDirectory() as folder:
        for jobs, number in itertools.product(options.jobs, options.sentences):
            source = Path(folder, f"{number}.txt")
            source.write_text("".join(f"{text}\n" for text in texts[:number]), encoding="utf-8")
            arguments = (source, "--one-sentence", "--jobs", jobs, "-o", Path(folder, "out.jsonl"))
            runs = [time_file(predict_command(options, *arguments)) for _ in range(options.rounds)]
            seconds = [run[0] for run in runs]
            yield {
                "system": f"lexitree predict --jobs {jobs}",
                **rates(number, seconds),
                "peak_memory_mib": max(run[1] for run in runs),
            }


def rates(number: int, seconds: Sequence[float]) -> Row:
    return {
        "sentences": number,
        "runs": len(seconds),
        "sentences_per_second": number / min(seconds),
        "median": number / statistics.median(seconds),
    }


def time_file(command: Sequence[str]) -> tuple[float, float]:
    """The seconds of a command, and the most memory (MiB) that it and its processes held at a time."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    peak = 0.0
    watched = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not watched.wait(SECONDS_BETWEEN_LOOKS):
            peak = max(peak, sum(map(resident_mib, family(process.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    seconds = time.perf_counter() - start
    watched.set()
    watcher.join()
    if process.returncode:
        sys.exit(f"lexitree predict ended with {process.returncode}")
    return seconds, peak


def family(pid: int) -> list[int]:
    """A process and its children."""
    try:
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())]
    except OSError:
        return []


def resident_mib(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        # It has ended since.
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_parsers(options: argparse.Namespace, texts: Sequence[str]) -> list[Row]:
    """Trees alone: our parser and Stanford's by turns, on the same tokens, after a few sentences to warm up."""
    sentences = [words_of(text) for text in texts[: options.parsed_sentences]]
    with ExitStack() as resources:
        parsers: dict[str, Parser] = {"our parser alone, one thread": open_parser(options.parser)}
        if not options.no_stanford:
            parsers |= open_stanford(options.cache, resources)
        for parser in parsers.values():
            list(parser.parse_all(sentences[:WARM_UP]))
        seconds: dict[str, list[float]] = {system: [] for system in parsers}
        for system in [*parsers] * options.rounds:
            start = time.perf_counter()
            assert sum(1 for _ in parsers[system].parse_all(sentences)) == len(sentences)
            seconds[system].append(time.perf_counter() - start)
    return [{"system": system, **rates(len(sentences), times)} for system, times in seconds.items()]


def open_stanford(cache: Path, resources: ExitStack) -> dict[str, Parser]:
    """The Stanford parser under its name, where it can be had."""
    try:
        folder, java = prepare_stanford(cache)
    except AbsentPeerError as reason:
        print(f"the Stanford parser is left out: {reason}", file=sys.stderr)
        return {}
    parser = resources.enter_context(StanfordParser(folder, java=java, on_refused="flat"))
    return {f"Stanford parser {VERSION} alone": parser}


if __name__ == "__main__":
    main()
