"""Measure what labelling a very large corpus is made of: the costs of a worker and of a sentence.

    python paper/benchmarks/scale_costs.py --output results/scale-costs.json
    python paper/benchmarks/scale_costs.py --device cuda --only rates starts --output results/scale-costs-gpu.json

The sentences are those of SST, put together as people would write them. On a CPU, everything runs on one thread, and
seconds are those of the processor, which a busy machine changes less than those of the clock. scripts/scale_tables.py
extrapolates from the record.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import lexitree
import root_path  # noqa: F401
from environment import describe_run
from lexitree.text import split_sentences
from serve_load import SPLITS, read_texts

Row = dict[str, Any]

FEW = 64
"""Sentences that a worker labels before its start counts as over, or a measurement begins."""
LENGTHS = (5, 10, 20, 40, 1_000)
"""The most words of a sentence of each group of lengths."""
ORDERS = {"as they come": 1, "sorted by length, 1,024 at a time": 1_024, "sorted by length, all": 1 << 30}


def main() -> None:
    options = parse_options()
    load = os.getloadavg()[0]
    folder = Path(os.environ["LEXITREE_DATA"]) / "sst"
    texts = read_texts(folder, options.sentences)
    record: Row = {
        **describe_run({f"sst/{split}.txt": folder / f"{split}.txt" for split in SPLITS}),
        "what": f"the costs of labelling text with {options.model} on {options.device}",
        "seeds": [1],
        "note": f"When it began, the machine had a load of {load:.1f} already.",
    }
    for name in options.only or MEASUREMENTS:
        record[name] = list(MEASUREMENTS[name](options, texts))
        for row in record[name]:
            print(name, json.dumps(row), flush=True)
    if options.output:
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="sentiment", help="a saved model, or one that comes with lexitree")
    parser.add_argument("--device", default="cpu", help="cpu (one thread) or cuda")
    parser.add_argument("--sentences", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each measurement is repeated")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, help="measure only these")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def open_labeller(
    options: argparse.Namespace, *, phrases: bool = False, **settings: Any
) -> lexitree.Labeller:
    """A labeller whose model is open."""
    labeller = lexitree.Labeller(options.model, phrases=phrases, device=options.device, **settings)
    labeller({"text": ["A warm and funny film."] * FEW})
    return labeller


def seconds_of(call: Callable[[], object], device: str = "cpu") -> float:
    """Seconds of the processor; by the clock on a GPU."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    start = clock()
    call()
    return clock() - start


def measure_rates(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[Row]:
    """Sentences per second of one worker, for labels alone and with all phrases."""
    batch = {"text": texts}
    labellers = {phrases: open_labeller(options, phrases=phrases) for phrases in (False, True)}
    seconds: dict[bool, list[float]] = {phrases: [] for phrases in labellers}
    # By turns, so that a busy minute falls on both.
    for phrases in [*labellers] * options.rounds:
        seconds[phrases].append(seconds_of(lambda each=phrases: labellers[each](batch), options.device))
    for phrases, times in seconds.items():
        yield {
            "output": "labels and phrases" if phrases else "labels",
            "sentences": len(texts),
            "runs": options.rounds,
            "sentences_per_second": len(texts) / min(times),
            "median": len(texts) / statistics.median(times),
        }


def measure_starts(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[Row]:
    """What a worker costs before its first label, and the memory that it holds."""
    runs = [_start_worker(options, texts[:1_000]) for _ in range(options.rounds)]
    yield {
        "runs": len(runs),
        "seconds_by_the_clock": min(run["wall"] for run in runs),
        "processor_seconds": min(run["cpu"] for run in runs),
        "memory_mib": max(run["start_mib"] for run in runs),
        "peak_memory_mib": max(run["peak_mib"] for run in runs),
    }


def _start_worker(options: argparse.Namespace, texts: Sequence[str]) -> Row:
    start = time.time()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        row = pool.submit(_run_worker, options, texts).result()
    return {**row, "wall": row["ready"] - start}


def _run_worker(options: argparse.Namespace, texts: Sequence[str]) -> Row:
    labeller = open_labeller(options, phrases=True)
    row = {"ready": time.time(), "cpu": time.process_time(), "start_mib": _peak_mib()}
    labeller({"text": texts})
    return {**row, "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    """The most memory that this process has held; getrusage counts that of the process it was forked from, too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 2**10


def measure_tables(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[Row]:
    """Bytes per sentence of input and output, and how long reading, writing and sending them takes."""
    import pyarrow as pa
    from pyarrow import parquet

    given = pa.table({"id": range(len(texts)), "text": texts})
    tables = {"input": given}
    for phrases in (False, True):
        name = "labels and phrases" if phrases else "labels"
        tables[name] = open_labeller(options, phrases=phrases)(given)

    def store(table: Any) -> bytes:
        stream = io.BytesIO()
        parquet.write_table(table, stream)
        return stream.getvalue()

    def send(table: Any) -> bytes:
        """As engines send it between processes."""
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        return stream.getvalue()

    for name, table in tables.items():
        stored, sent = store(table), send(table)
        steps = {
            "writing": lambda table=table: store(table),
            "reading": lambda stored=stored: parquet.read_table(pa.BufferReader(stored)),
            "sending": lambda table=table: send(table),
            "receiving": lambda sent=sent: pa.ipc.open_stream(sent).read_all(),
            # What an engine does before and after it sends data frames of pandas.
            "pandas": lambda table=table: pa.Table.from_pandas(table.to_pandas(), table.schema),
        }
        yield {
            "table": name,
            "parquet_bytes": len(stored) / len(texts),
            "arrow_bytes": table.nbytes / len(texts),
            **{
                f"{step}_µs": 1e6 * min(seconds_of(call) for _ in range(2 * options.rounds)) / len(texts)
                for step, call in steps.items()
            },
        }


def measure_lengths(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[Row]:
    """The cost of a sentence by its number of words."""
    labeller = open_labeller(options, phrases=True, one_sentence=True)
    groups: dict[int, list[str]] = {longest: [] for longest in LENGTHS}
    for text in texts:
        groups[next(longest for longest in LENGTHS if num_words(text) <= longest)].append(text)
    shortest = 1
    for longest, group in groups.items():
        if group:
            seconds = [_label_seconds(labeller, group, options) for _ in range(options.rounds)]
            yield {
                "words": f"{shortest} to {longest}" if longest != LENGTHS[-1] else f"{shortest} and more",
                "sentences_share": len(group) / len(texts),
                "mean_words": statistics.fmean(num_words(text) for text in group),
                "milliseconds_per_sentence": 1e3 * min(seconds) / len(group),
            }
        shortest = longest + 1


def measure_orders(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[Row]:
    """Whether it pays to put sentences of about the same length into a batch."""
    labeller = open_labeller(options, phrases=True, one_sentence=True)
    ordered = {name: _sort_by_length(texts, size) for name, size in ORDERS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ordered}
    for name in [*ordered] * options.rounds:
        seconds[name].append(_label_seconds(labeller, ordered[name], options))
    first = min(next(iter(seconds.values())))
    for name, times in seconds.items():
        yield {
            "order": name,
            "runs": options.rounds,
            "sentences_per_second": len(texts) / min(times),
            "gain": first / min(times),
        }


def _sort_by_length(texts: Sequence[str], size: int) -> list[str]:
    """So many texts at a time; the groups come in another order, so that no run ends with the long ones."""
    groups = [sorted(texts[k : k + size], key=len) for k in range(0, len(texts), size)]
    random.Random(1).shuffle(groups)
    return [text for group in groups for text in group]


def _label_seconds(labeller: lexitree.Labeller, texts: Sequence[str], options: argparse.Namespace) -> float:
    return seconds_of(lambda: labeller({"text": texts}), options.device)


MEASUREMENTS: dict[str, Callable[[argparse.Namespace, Sequence[str]], Iterator[Row]]] = {
    "rates": measure_rates,
    "starts": measure_starts,
    "tables": measure_tables,
    "lengths": measure_lengths,
    "orders": measure_orders,
}


def num_words(text: str) -> int:
    return len(split_sentences(text, "one")[0].forms)


if __name__ == "__main__":
    main()
