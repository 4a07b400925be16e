"""Measure labelling raw text on a GPU: a stream, whole commands, single sentences, and whether the answers agree.

    python benchmarks/text_on_gpu.py --texts sentences.txt --output results/text-on-gpu.json     # three minutes
    python benchmarks/text_on_gpu.py --device cpu --sentences 600 --answers 200 --warm 20        # without a GPU

The texts are one sentence per line; `--write-texts FILE` writes those of SST, and without a file the embedded reviews
are taken. They are repeated where more are asked for. Answers are those of this version in batches of arrays against
its own path by sentence, on the same device. Parts that would begin after `--seconds` are left out, and the record
is written after each part.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import lexitree
from environment import describe_run
from lexitree.corpora.mini import load_mini
from lexitree.text import detokenize, split_sentences
from text_in_turns import compare_answers, sentences
from text_worker import WARM_WORDS, measure_stages

ROOT = Path(__file__).resolve().parent.parent
Row = dict[str, Any]


def main() -> None:
    options = parse_options()
    if options.write_texts:
        lines = sentences(Path(os.environ["LEXITREE_DATA"]) / "sst")
        options.write_texts.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "texts.txt")
        source.write_text("".join(f"{line}\n" for line in read_texts(options)), encoding="utf-8")
        record: Row = {
            **describe_run({"texts": options.texts}),
            "what": "raw text on a GPU",
            "seeds": [1],
            "device": torch.cuda.get_device_name() if options.device == "cuda" else options.device,
        }
        run = GpuRun(options, source)
        parts: dict[str, Callable[[], object]] = {
            "warm_up": run.warm_up,
            "stream": run.measure_streams,
            "warm_sentence": run.measure_warm,
            "single_trees": run.measure_single_trees,
            "commands": run.measure_commands,
            "answers": lambda: compare_answers(source, options.answers, options.device),
            "busy": run.measure_busy,
            # Last, since functions are wrapped to count their time.
            "stages": run.measure_stages,
        }
        for name, measure in parts.items():
            if time.monotonic() - began > options.seconds:
                record.setdefault("left_out", []).append(name)
            else:
                record[name] = measure()
                print(name, json.dumps(record[name]), flush=True)
            if options.output:
                options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--texts", type=Path, help="a file with one sentence per line")
    parser.add_argument("--write-texts", type=Path, help="write the sentences of SST to a file, and end")
    parser.add_argument("--sentences", type=int, default=50_000)
    parser.add_argument("--batch-sizes", type=int, nargs="*", default=[512, 2048], help="besides the default")
    parser.add_argument("--answers", type=int, default=20_000, help="sentences whose answers are compared")
    parser.add_argument("--warm", type=int, default=200, help="single sentences and trees")
    parser.add_argument("--seconds", type=float, default=200, help="when to leave out what is left")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def read_texts(options: argparse.Namespace) -> list[str]:
    if options.texts:
        lines = options.texts.read_text(encoding="utf-8").splitlines()
    else:
        splits = load_mini("reviews").splits
        lines = [detokenize(tree.words) for trees in splits.values() for tree in trees]
    return list(itertools.islice(itertools.cycle(lines), options.sentences))


class GpuRun:
    """A pipeline on the device, and the texts."""

    def __init__(self, options: argparse.Namespace, source: Path) -> None:
        self.options = options
        self.source = source
        self.texts = source.read_text(encoding="utf-8").splitlines()
        self.pipe: Any = lexitree.load("sentiment", device=options.device)

    def _first(self, number: int) -> Iterator[str]:
        return itertools.islice(self.texts, number)

    def warm_up(self) -> Row:
        """Kernels are compiled and chosen for batches of all sizes."""
        began = time.perf_counter()
        for number, size in ((1, None), (300, 64), (5_000, None)):
            for document in self.pipe.stream(self._first(number), batch_size=size):
                document.to_json()
        model = self.pipe.predictor.model
        return {"seconds": time.perf_counter() - began, "what_runs": model.what_runs}

    def measure_streams(self) -> list[Row]:
        rows = [self._stream("default", None, "all"), self._stream("default", None, "root")]
        sizes = [self._stream(str(size), size, "all") for size in self.options.batch_sizes]
        return [*rows, *sizes, self._stream_json()]

    def _stream(self, name: str, batch_size: int | None, nodes: str) -> Row:
        began, cpu = time.perf_counter(), time.process_time()
        stream = self.pipe.stream(self.texts, batch_size=batch_size, nodes=nodes)
        number = sum(len(document) for document in stream)
        return self._rate({"batch_size": name, "nodes": nodes}, number, began, cpu)

    def _stream_json(self) -> Row:
        began, cpu = time.perf_counter(), time.process_time()
        number = 0
        for document in self.pipe.stream(self.texts):
            document.to_json()
            number += len(document)
        return self._rate({"batch_size": "default", "nodes": "all, as JSON"}, number, began, cpu)

    def _rate(self, row: Row, number: int, began: float, cpu: float) -> Row:
        seconds = time.perf_counter() - began
        return {
            **row,
            "sentences": number,
            "seconds": seconds,
            "host_cpu_seconds": time.process_time() - cpu,
            "per_second": number / seconds,
        }

    def measure_warm(self) -> Row:
        """From a text of about 20 words to its JSON, one at a time."""
        texts = [text for text in self.texts if len(split_sentences(text, "one")[0].tokens) in WARM_WORDS]
        times: list[float] = []
        for text in [*texts[:30], *texts[: self.options.warm]]:
            began = time.perf_counter()
            self.pipe(text).to_json()
            times.append(1e3 * (time.perf_counter() - began))
        return {
            "sentences": len(times) - 30,
            "least_ms": min(times[30:]),
            "median_ms": statistics.median(times[30:]),
        }

    def measure_single_trees(self) -> Row:
        """The model alone on one tree at a time, labels of all nodes and heads."""
        documents = self.pipe.stream(self._first(self.options.warm))
        trees = [sentence.source for document in documents for sentence in document.sentences]
        times: list[float] = []
        for tree in trees * 2:
            began = time.perf_counter()
            self.pipe.predictor.predict(tree)
            times.append(1e3 * (time.perf_counter() - began))
        times = times[len(trees) :]
        return {"trees": len(times), "least_ms": min(times), "median_ms": statistics.median(times)}

    def measure_commands(self) -> list[Row]:
        """`lexitree predict` as a process of its own, and what is left of its time without that of one text."""
        output = str(self.source.with_name("out"))
        rows: list[Row] = []
        short = self.source.with_name("short.txt")
        short.write_text(self.texts[0] + "\n", encoding="utf-8")
        start = min(self._command(short, "-o", f"{output}.jsonl") for _ in range(2))
        for what, arguments in (
            ("-o out.jsonl", ("-o", f"{output}.jsonl")),
            ("--nodes root --format table", ("--nodes", "root", "--format", "table", "-o", f"{output}.tsv")),
        ):
            seconds = self._command(self.source, *arguments)
            number = len(self.texts)
            rows.append(
                {
                    "command": f"lexitree predict FILE {what}",
                    "texts": number,
                    "seconds": seconds,
                    "start_seconds": start,
                    "per_second": number / seconds,
                    "per_second_after_start": number / max(seconds - start, 1e-9),
                }
            )
        return rows

    def _command(self, source: Path, *arguments: str) -> float:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "lexitree", "predict", str(source), "--device", self.options.device]
        began = time.perf_counter()
        subprocess.run([*command, "--input", "text", *arguments], env=environment, check=True)
        return time.perf_counter() - began

    def measure_busy(self) -> Row:
        """For how much of a stream the GPU has a kernel to run."""
        if self.options.device != "cuda":
            return {}
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as recorded:
            began = time.perf_counter()
            number = sum(1 for _ in self.pipe.stream(self._first(6_000)))
            torch.cuda.synchronize()
            seconds = time.perf_counter() - began
        busy = sum(event.device_time_total for event in recorded.key_averages()) / 1e6
        return {"texts": number, "seconds": seconds, "busy_seconds": busy, "busy_share": busy / seconds}

    def measure_stages(self) -> Row:
        """Microseconds of the host per sentence, waiting included."""
        return measure_stages(self.pipe, self._first(10_000))


if __name__ == "__main__":
    main()
