"""Kills commands at random moments, resumes them until they are done, and compares the output with an undisturbed run."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lexitree.errors import LexitreeError
from tests.command import COMMAND, environment, run_command
from tests.fault_injection.operations import Append, Operation, Parts, Train
from tests.learning.test_kill import train_arguments

NUM_TEXTS = 400
SEED = 2017

Arguments = Callable[[Path], list[str]]
"""The command line that does it in a folder, at first and after a kill."""


@dataclass
class KillReport:
    """The outcome of the kills of one command."""

    num_kills: int = 0
    num_finished: int = 0
    """How many runs came to their end, after several kills each, and were compared."""
    violations: list[str] = field(default_factory=list)


def _write_texts(folder: Path) -> None:
    words, rng = ("a", "dull", "good", "film", "not", "plot", "but", "fine"), random.Random(7)
    texts = (" ".join(rng.choices(words, k=12)) for _ in range(NUM_TEXTS))
    (folder / "texts.csv").write_text("text\n" + "".join(f'"{text}.\nSo ""it"" is."\n' for text in texts))
    (folder / "out.jsonl").write_text("old\n")


def _write_row_groups(folder: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import csv, parquet

    _write_texts(folder)
    options = csv.ParseOptions(newlines_in_values=True)
    table = csv.read_csv(folder / "texts.csv", parse_options=options)
    parquet.write_table(table, folder / "a.parquet", row_group_size=50)
    halves = arrow.concat_tables([table.slice(200), table.slice(0, 10)])
    parquet.write_table(halves, folder / "b.parquet", row_group_size=70)


def _predict(output: str, *options: str) -> Arguments:
    return lambda folder: [
        *("predict", str(folder / "texts.csv"), "--column", "text", "--device", "cpu"),
        *("-o", f"{folder}/{output}", *options),
    ]


def _nothing(_: Path) -> None:
    """There is nothing to do in this process."""


COMMANDS: dict[str, tuple[Operation, Arguments]] = {
    "train --resume": (
        Train("train", "run", _nothing, _nothing),
        lambda folder: [*train_arguments("sentences", folder, folder / "run"), "--resume"],
    ),
    "predict": (Operation("predict", "out.jsonl", _write_texts, _nothing), _predict("out.jsonl")),
    "predict into a folder": (
        Parts("predict", "out", _write_texts, _nothing),
        _predict("out/", "--part-rows", "40"),
    ),
    "predict into a folder (Parquet)": (
        Parts("predict", "out", _write_row_groups, _nothing),
        lambda folder: ["predict", f"{folder}/*.parquet", "--column", "text", "-o", f"{folder}/out/"],
    ),
    "predict --resume": (
        Append("predict", "out.csv", _write_texts, _nothing),
        _predict("out.csv", "--resume"),
    ),
}
"""What is killed: how its output is read and compared, and its command line."""


def kill_at_random(name: str, work: Path, num_kills: int) -> KillReport:
    """Kill a command so many times, at moments spread over the time that it takes."""
    operation, arguments = COMMANDS[name]
    undisturbed, folder = work / "undisturbed", work / "killed"
    _start_anew(operation, undisturbed)
    old = operation.content(undisturbed)
    start = time.monotonic()
    finished = run_command(*arguments(undisturbed))
    seconds = time.monotonic() - start
    assert finished.returncode == 0, finished.stderr
    new = operation.content(undisturbed)
    _start_anew(operation, folder)
    report, rng, code = KillReport(), random.Random(SEED), 1
    while report.num_kills < num_kills or code != 0:
        # What the last kill left is finished as well.
        moment = rng.uniform(0, seconds) if report.num_kills < num_kills else None
        code = _run_until_killed(arguments(folder), moment)
        problem = _find_problem(operation, folder, old, new, is_killed=code != 0)
        if problem or code not in (0, -signal.SIGKILL):
            report.violations.append(f"after kill {report.num_kills}: {problem or f'exit code {code}'}")
        report.num_kills += code == -signal.SIGKILL
        report.num_finished += code == 0
        if problem or code != -signal.SIGKILL:
            _start_anew(operation, folder)
    return report


def _start_anew(operation: Operation, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    operation.prepare(folder)


def _run_until_killed(arguments: list[str], seconds: float | None) -> int:
    """Run a command for so long, or to its end; its exit code, negative if it was killed."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _find_problem(operation: Operation, folder: Path, old: object, new: object, *, is_killed: bool) -> str:
    try:
        found = operation.content(folder)
    except LexitreeError as error:
        return f"the output cannot be read ({error.message})".replace(f"{folder}/", "")
    if not (operation.is_whole(found, old, new) if is_killed else found == new):
        return "the output is not whole" if is_killed else "the finished output is another one"
    litter = operation.litter(folder) if operation.removes_old_litter and not is_killed else ()
    return ", ".join(f"left {path.name}" for path in litter)
