"""Measure the installation without torch: its size, its start, its speed on one core, and its answers beside torch's.

    python benchmarks/without_torch.py --texts sentences.txt --output results/without-torch.json

A wheel with compiled kernels is built and installed into a fresh virtual environment, which needs a C compiler and
pip's index. Whatever is compared runs in turns, each run in a process of its own, so
that a busy minute falls on all. "Without kernels" is what runs where none are compiled, as on macOS and Windows.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from environment import describe_run
from text_in_turns import compare_texts, rate
from text_worker import read_answers, run_worker

ROOT = Path(__file__).resolve().parent.parent
TEXT = "Friendly staff, but the room was dirty and noisy."
NOT_COUNTED = ("pip", "setuptools", "wheel", "_distutils_hack", "distutils-precedence.pth")
"""What a fresh environment has before anything is installed."""
MOST_ENTRIES = 6
WITHOUT_KERNELS = {"LEXITREE_KERNELS": "off"}
SYSTEMS: dict[str, tuple[str, Mapping[str, str]]] = {
    "arrays, kernels": ("arrays", {}),
    "arrays, without kernels": ("arrays", WITHOUT_KERNELS),
    "torch, kernels": ("tensors", {}),
    "torch, without kernels": ("tensors", WITHOUT_KERNELS),
}
"""What is compared on one core: the worker's system, and its variables."""
LAUNCH = """
import json, os, sys, time
began = time.perf_counter()
nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
_, status, used = os.wait4(pid, 0)
seconds = time.perf_counter() - began
if status:
    sys.exit(f"{sys.argv[1:]} failed")
cpu = used.ru_utime + used.ru_stime
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mib": used.ru_maxrss / 1024}))
"""
"""Starts a command and measures it. Linux counts what the starting process holds to the peak of the one it starts, so
that one has to be small: it is not the benchmark itself."""
Row = dict[str, Any]


def main() -> None:
    options = parse_options()
    record: Row = {
        **describe_run({options.texts.name: options.texts}),
        "what": "the installation without torch beside the one with torch",
        "seeds": [],
        "note": f"When it began, the machine had a load of {os.getloadavg()[0]:.1f} already.",
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        parts: dict[str, Callable[[], Iterator[Row]]] = {
            "size": lambda: measure_size(folder),
            "cold": lambda: measure_cold(small_python(folder), options.starts),
            "stream": lambda: measure_stream(options),
            "warm": lambda: measure_warm(options),
            "answers": lambda: compare_answers(options, folder),
        }
        for name, measure in parts.items():
            if name in options.skip:
                continue
            record[name] = list(measure())
            for row in record[name]:
                print(name, json.dumps(row, ensure_ascii=False), flush=True)
            record["compared"] = list(compare(record))
            if options.output:
                options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="a file with one sentence per line")
    parser.add_argument("--starts", type=int, default=15, help="cold starts of each command")
    parser.add_argument("--sentences", type=int, default=10_000, help="sentences of a stream")
    parser.add_argument("--rounds", type=int, default=3, help="streams of each system")
    parser.add_argument("--warm", type=int, default=2_000, help="those of about 20 words are labelled warm")
    parser.add_argument("--answers", type=int, default=20_000, help="sentences whose answers are compared")
    parser.add_argument("--core", type=int, default=0, help="the core that speed is measured on")
    parser.add_argument("--skip", nargs="*", default=[], help="parts to leave out")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def small_python(folder: Path) -> Path:
    """The Python of a fresh environment with the wheel and what it requires; made when first asked for."""
    python = folder / "small" / "bin" / "python"
    if not python.exists():
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run(
            [*build, "-w", str(folder), str(ROOT)], env={**os.environ, "LEXITREE_NATIVE": "1"}, check=True
        )
        (wheel,) = folder.glob("lexitree-*.whl")
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    return python


def measure_size(folder: Path) -> Iterator[Row]:
    """What `pip install` leaves in site-packages, compiled modules included, and torch here for comparison."""
    (packages,) = small_python(folder).parents[1].glob("lib/python*/site-packages")
    sizes = {
        path.name: num_bytes(path)
        for path in packages.iterdir()
        if not path.name.startswith(NOT_COUNTED) and path.name != "__pycache__"
    }
    yield {"what": "all of it", "mb": sum(sizes.values()) / 1e6}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:MOST_ENTRIES]:
        yield {"what": name, "mb": size / 1e6}
    import torch

    yield {
        "what": "torch alone, in the environment beside it",
        "mb": num_bytes(Path(torch.__path__[0])) / 1e6,
    }


def num_bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(each.stat().st_size for each in files if each.is_file())


def measure_cold(small: Path, starts: int) -> Iterator[Row]:
    """`lexitree predict` with one text, from the start of the process to its end; the first is left out."""
    predict = ["-m", "lexitree", "predict", "--text", TEXT, "--device", "cpu"]
    commands = {
        "without torch installed": [str(small), "-I", *predict],
        "in an environment with torch and much else": [sys.executable, *predict],
        "there, --backend levelwise, which runs in torch": [
            sys.executable,
            *predict,
            "--backend",
            "levelwise",
        ],
    }
    runs: dict[str, list[Row]] = {name: [] for name in commands}
    for number in range(starts + 1):
        for name, command in commands.items():
            took = run_alone(command)
            if number:
                runs[name].append(took)
    for name, each in runs.items():
        yield {
            "command": name,
            "runs": len(each),
            **{key: statistics.median(run[key] for run in each) for key in each[0]},
        }


def run_alone(command: Sequence[str]) -> Row:
    """Seconds by the clock and of the processor, and the most memory that the process has held."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    launch = [sys.executable, "-I", "-S", "-c", LAUNCH, *command]
    done = subprocess.run(launch, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def in_turns(options: argparse.Namespace, task: str, number: int, rounds: int) -> dict[str, list[Row]]:
    """The runs of every system on one core, each in a process of its own."""
    runs: dict[str, list[Row]] = {name: [] for name in SYSTEMS}
    for _ in range(rounds):
        for name, (system, variables) in SYSTEMS.items():
            settings = {"system": system, "core": options.core, "number": number}
            python = [sys.executable]
            runs[name].append(run_worker(python, ROOT, task, options.texts, variables=variables, **settings))
    return runs


def measure_stream(options: argparse.Namespace) -> Iterator[Row]:
    runs = in_turns(options, "stream", options.sentences, options.rounds)
    yield from (rate(name, each) for name, each in runs.items())


def measure_warm(options: argparse.Namespace) -> Iterator[Row]:
    """One sentence of about 20 words at a time, from its text to its JSON."""
    for name, (row,) in in_turns(options, "warm", options.warm, 1).items():
        yield {"system": name, **row}


def compare_answers(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Arrays with kernels against torch without: model and parser have nothing in common but their weights."""
    files = {name: folder / f"{number}.pickle" for number, name in enumerate(_MOST_DIFFERENT)}
    for name, path in files.items():
        system, variables = SYSTEMS[name]
        settings = {"system": system, "number": options.answers, "to": path}
        run_worker([sys.executable], ROOT, "answers", options.texts, variables=variables, **settings)
    yield compare_texts(*map(read_answers, files.values()))


def compare(record: Row) -> Iterator[Row]:
    """Arrays beside torch where both have the kernels: which is faster, and so the default on a CPU."""
    found = {table: {row[key]: row for row in record.get(table, ())} for table, key in _KEYS.items()}
    for what, table, column, (arrays, torch), more_is_better in _COMPARED:
        if found[table]:
            ours, theirs = found[table][arrays][column], found[table][torch][column]
            ratio = ours / theirs if more_is_better else theirs / ours
            faster = "arrays" if ratio > 1 else "torch"
            yield {"what": what, "arrays": ours, "torch": theirs, "ratio": ratio, "faster": faster}


_KEYS = {"cold": "command", "stream": "system", "warm": "system"}
_WITH_KERNELS = ("arrays, kernels", "torch, kernels")
_MOST_DIFFERENT = ("arrays, kernels", "torch, without kernels")
_WITHOUT_KERNELS = ("arrays, without kernels", "torch, without kernels")
_COMPARED = (
    (
        "a command, seconds",
        "cold",
        "seconds",
        ("in an environment with torch and much else", "there, --backend levelwise, which runs in torch"),
        False,
    ),
    ("a stream, sentences a second", "stream", "per_second", _WITH_KERNELS, True),
    ("a stream without kernels, sentences a second", "stream", "per_second", _WITHOUT_KERNELS, True),
    ("a warm sentence, ms", "warm", "median_ms", _WITH_KERNELS, False),
    ("a warm sentence without kernels, ms", "warm", "median_ms", _WITHOUT_KERNELS, False),
)
"""What is compared: the table, its column, the rows of arrays and of torch, and whether more is better."""


if __name__ == "__main__":
    main()
